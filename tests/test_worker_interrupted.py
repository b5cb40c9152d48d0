"""A cell that waits for a run and is interrupted: the run goes on, and can be waited for again."""

from __future__ import annotations

import signal
import threading

import pytest

from fake_run import FakeRun
from lsat_explorer.widgets.worker import Activity, Worker

SOON = 20.0  # seconds that a loaded machine may take; no test waits so long unless it fails


@pytest.fixture
def interrupted() -> threading.Timer:
    """Return a timer that interrupts the main thread, as the button of the kernel does."""
    main = threading.main_thread().ident
    assert main is not None
    return threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))


def test_an_interrupt_ends_the_wait_and_not_the_run(interrupted: threading.Timer) -> None:
    run = FakeRun()
    worker = Worker(run)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        worker.start()
        interrupted.start()
        with pytest.raises(KeyboardInterrupt):
            worker.wait(SOON)
        assert worker.activity is not Activity.ENDED
        threads = {thread.name: thread for thread in threading.enumerate()}
        assert threads["lsat-tuner"].is_alive()
        with pytest.raises(TimeoutError):
            worker.wait(0.01)
    finally:
        signal.signal(signal.SIGINT, before)
        run.gate.set()
        worker.stop()
        worker.wait(SOON)
    assert worker.activity is Activity.ENDED


def test_the_last_report_has_been_made_when_a_wait_ends() -> None:
    run = FakeRun()
    worker = Worker(run)
    seen: list[Activity] = []
    slow = threading.Event()

    def listener() -> None:
        if worker.activity is Activity.ENDED:
            slow.wait(0.2)
            seen.append(worker.activity)

    worker.listeners.append(listener)
    worker.start()
    run.gate.set()
    worker.stop()
    worker.wait(SOON)
    assert seen == [Activity.ENDED]
