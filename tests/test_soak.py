"""Load: a long run in its open view, many starts and stops, many views, two at once. Nothing grows, nothing mixes.

`LSAT_SOAK=1` (`make soak`) makes each of them long, and they record their figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
import pytest

import machine
import reliability
import soak
from lsat_explorer.widgets import Explorer

LONG = bool(os.environ.get("LSAT_SOAK"))
MEGABYTE = 2**20
MOST_GROWTH = 20 * MEGABYTE
COUNTED = ("threads", "python_threads", "files", "widgets", "traits", "comms")

pytestmark = pytest.mark.slow


def figures(*words: str | int) -> dict[str, Any]:
    """What a process of its own found."""
    path = os.pathsep.join(filter(None, (str(machine.ROOT), os.environ.get("PYTHONPATH"))))
    names = {**machine.environment(), "PYTHONPATH": path, "MPLBACKEND": "Agg"}
    command = [sys.executable, str(Path(soak.__file__)), *map(str, words)]
    done = subprocess.run(command, env=names, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """What there is more of, memory apart."""
    return {name: after[name] - before[name] for name in COUNTED if after[name] > before[name]}


def test_a_long_run_in_its_open_view_holds_no_more_after_a_thousand_iterations() -> None:
    began, iterations = time.monotonic(), 20_000 if LONG else 3_000
    found = figures("long", iterations)
    assert found["iterations"] == iterations
    growth = found["most"] - found["start"]["rss"]
    assert growth < MOST_GROWTH
    assert grown(found["start"], found["stays"]) == {}
    assert found["messages"] > 0
    reliability.record(
        "a long run in its open view, without a page",
        f"{iterations:,} iterations",
        f"memory {growth / MEGABYTE:+.1f} MB after the first 1,000 (at most 20); no trait, comm, thread or file more",
        time.monotonic() - began,
    )


def test_starts_and_stops_leave_no_thread() -> None:
    began, count = time.monotonic(), 50
    found = figures("starts", count)
    assert grown(found["start"], found["end"]) == {}
    assert found["closed"]["python_threads"] == 1
    assert found["closed"]["widgets"] == found["closed"]["comms"] == 0
    assert found["iterations"] >= 2 * count
    reliability.record(
        "starts and stops of one run", f"{count}", "no thread, trait, comm or file more", time.monotonic() - began
    )


def test_views_that_are_closed_leave_nothing() -> None:
    began, count = time.monotonic(), 50 if LONG else 8
    found = figures("views", count)
    growth = found["end"]["rss"] - found["start"]["rss"]
    assert grown(found["start"], found["end"]) == {}
    assert found["end"]["widgets"] == found["end"]["comms"] == 0
    assert found["alive"] == 0
    assert growth < MOST_GROWTH
    reliability.record(
        "Explorers opened, run and closed",
        f"{count}",
        f"memory {growth / MEGABYTE:+.1f} MB; no view, comm, thread or file left",
        time.monotonic() - began,
    )


def test_two_explorers_at_once_do_not_mix() -> None:
    began, iterations = time.monotonic(), 3_000 if LONG else 300
    runs = [soak.light(iterations, seed) for seed in (0, 1)]
    alone = [soak.light(iterations, seed) for seed in (0, 1)]
    for run in alone:
        for _ in run.steps():
            pass
    explorers = [Explorer(run) for run in runs]
    try:
        for explorer in explorers:
            explorer.start()
        assert sum(thread.name == "lsat-tuner" for thread in threading.enumerate()) == 2
        for explorer in explorers:
            explorer.wait(soak.PATIENCE)
        for explorer, run in zip(explorers, alone, strict=True):
            np.testing.assert_array_equal(explorer.run.history()["loss"], run.history()["loss"])
            np.testing.assert_array_equal(explorer.run.weights(), run.weights())
            curve = next(explorer.tuner.plot.select_traces({"name": "validation loss"}))
            assert curve.y[-1] == run.iterates[-1].loss
            assert [kept.run for kept in explorer.runs] == [explorer.run]
        assert explorers[0].run.iterates[-1].loss != explorers[1].run.iterates[-1].loss
    finally:
        for explorer in explorers:
            explorer.close()
    reliability.record(
        "two Explorers at once in one kernel",
        f"{iterations:,} iterations each",
        "each as when it runs alone, bit for bit",
        time.monotonic() - began,
    )


def test_a_layout_that_the_user_gave_outlives_the_view() -> None:
    layout = ipywidgets.Layout(width="50%")
    for _ in range(2):
        view = Explorer(soak.light(1), layout=layout)
        own = view.browser.layout
        view.close()
        assert view.layout is layout
        assert layout.comm is not None
        assert own.comm is None
    layout.close()
