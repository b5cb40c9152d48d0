"""A widget that watches a long run: what it holds and sends does not grow with the iterations."""

from __future__ import annotations

import gc
import tracemalloc

import lsat_explorer as lsat
from fake_run import FakeRun
from lsat_explorer.bench.page import open_page
from lsat_explorer.widgets import LiveTuner

HISTORY = 1_000  # bytes at most that one more iterate costs, its numbers among them


def test_ten_thousand_iterations_leave_memory_flat(digits: lsat.Data) -> None:
    run = FakeRun(data=digits, last=2_000)
    with open_page() as page:
        tuner = LiveTuner(run)
        tuner.start()
        tuner.wait(120)
        run.last = 10_000
        gc.collect()
        tracemalloc.start()
        try:
            tuner.start()
            tuner.wait(120)
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(run.iterates) == 10_001
        assert held < 8_000 * HISTORY
        assert all(len(trace.x) <= 2_000 for trace in tuner.plot.data if trace.x is not None)
        page.size = 0
        tuner.worker.report()
        assert page.size < 500_000
        tuner.close()
