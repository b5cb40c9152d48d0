"""One thread that pulls a run along, and obeys start, pause, step and stop. It knows nothing of widgets."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from enum import Enum
from typing import Any, Protocol

import torch

from lsat_explorer.widgets.threads import begun, closed_at_exit, held_threads, release_team

__all__ = ["Activity", "Pullable", "Worker"]

PERIOD = 0.25  # seconds between two reports: above 4 Hz drawing costs a fast tuner a third of its speed
SHARE = 0.03  # of the time that reports are to take: where they cost more they come less often, to a fourth as often
_GLANCE = 0.05  # seconds until a thread that waits for another looks whether it is to stop


class Pullable(Protocol):
    """What a worker needs of a run."""

    problem: Any
    recipe: Any
    iterates: Any

    def steps(self) -> Generator[Any, None, None]:
        """Pull to advance by an iteration; closed before its end, the run records that it was stopped."""

    def stop(self) -> None:
        """Ask the iteration that is running to end; callable from any thread."""


class Activity(Enum):
    """What a worker is doing; the value is the word that a view shows and tests wait for."""

    READY = "ready"
    PREPARING = "preparing"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"
    FAILED = "failed"

    @property
    def busy(self) -> bool:
        """Whether the thread is computing now."""
        return self in (Activity.PREPARING, Activity.RUNNING, Activity.STOPPING)


def pause(period: float, cost: float) -> float:
    """Return the seconds from a report that took ``cost`` of processor time to the next one."""
    return min(max(period, cost / SHARE), 4 * period)


class Worker:
    """A daemon thread that pulls ``run.steps()`` and reports to its listeners at most four times a second.

    Every method may be called from any thread: it only sets events, which the thread reads between iterations. The
    thread is started by the first `start` or `step`, and again by the next one after it has ended, so a run that was
    stopped goes on from where it was; one that is still stopping goes on once it has.

    Parameters
    ----------
    run : Run
        The run to pull along.
    period : float
        Least number of seconds between two reports while the run goes on.
    after : iterable of threading.Event
        What must have ended before the run is pulled: `over` of other workers.

    Attributes
    ----------
    error : BaseException or None
        What ended the run against its will; `wait` raises it.
    listeners : list of callable
        Called at each report, one after the other.
    closed : bool
        Whether `close` ended it for good.
    over : threading.Event
        Set once what the thread does now has ended.
    resting : bool
        Whether the thread has come to its pause, before which it ends an iteration.
    reporting : threading.RLock
        Held during a report; hold it to touch what listeners touch.

    Examples
    --------
    >>> worker = Worker(lsat.Run(recipe, data))  # doctest: +SKIP
    >>> worker.start()  # doctest: +SKIP
    >>> worker.wait(timeout=60)  # doctest: +SKIP
    """

    def __init__(self, run: Pullable, *, period: float = PERIOD, after: Iterable[threading.Event] = ()) -> None:
        self.run = run
        self.period = period
        self.error: BaseException | None = None
        self.listeners: list[Callable[[], None]] = []
        self._threads = torch.get_num_threads()  # of the caller; a new thread would take every core
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # guards the start of a thread and the count of steps, never an iteration
        self._go = threading.Event()
        self._steps = 0  # iterations asked for one by one and yet to come; 0 while the run goes on freely
        self._stop = threading.Event()
        self._again = False  # start or step was called while the thread was stopping
        self._after = list(after)
        self.over = threading.Event()  # the thread's last report must already read as ended
        self.over.set()
        # Waited for in place of the thread: where `join` is interrupted, CPython 3.11 takes a living thread for ended.
        self._reported = threading.Event()
        self._reported.set()
        self.resting = False
        self.reporting = threading.RLock()  # reports come from the thread and from the buttons
        self.closed = False
        self._failing: set[Callable[[], None]] = set()

    @property
    def alive(self) -> bool:
        """Whether the thread lives: it computes or waits at a pause."""
        return not self.over.is_set()

    @property
    def activity(self) -> Activity:
        """What the worker is doing, read off its events, so that it cannot disagree with them."""
        if not self.alive:
            if self.error is not None:
                return Activity.FAILED
            return Activity.ENDED if self._thread is not None or self.run.iterates else Activity.READY
        if self._stop.is_set():
            return Activity.STOPPING
        if not self._go.is_set():
            return Activity.PAUSED
        return Activity.PREPARING if self.run.problem is None else Activity.RUNNING

    @property
    def seconds(self) -> float:
        """Seconds that the run has computed; it stands still while it is paused."""
        iterates = self.run.iterates
        return float(iterates[-1].seconds) if iterates else 0.0

    def start(self) -> None:
        """Start, go on after a pause, or take up a run that has ended. Starting twice is one run."""
        with self._lock:
            self._steps = 0
            self._go.set()
            self._launch()

    resume = start

    def pause(self) -> None:
        """Hold after the iteration that is running."""
        with self._lock:
            self._steps = 0
            self._go.clear()

    def step(self) -> None:
        """Advance by one iteration, then hold. Steps asked for meanwhile follow, each with its iteration."""
        with self._lock:
            if self.alive and self._go.is_set() and not self._steps and not self._stop.is_set() and self.run.iterates:
                self._go.clear()  # it runs freely: let it finish the iteration under way, and hold
                return
            self._steps += 1
            self._go.set()
            self._launch()

    def stop(self) -> None:
        """End the run; wakes it from a pause, and cuts the iteration short between blocks of rows."""
        with self._lock:
            self._again, self._steps = False, 0
            if self.alive:
                self._stop.set()
                self.run.stop()
                self._go.set()

    def close(self, timeout: float | None = 5.0) -> None:
        """Stop for good, and wait ``timeout`` seconds for the thread."""
        self.closed = True
        self.stop()
        if self._thread is not threading.current_thread():
            self._reported.wait(timeout)

    def wait(self, timeout: float | None = None) -> None:
        """Block until the run has ended.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most; no limit by default.

        Raises
        ------
        TimeoutError
            If the run still goes on.
        BaseException
            The error that ended the run, if one did.
        """
        if not self._reported.wait(timeout):
            state = "is paused" if self.activity is Activity.PAUSED else "still goes on"
            raise TimeoutError(f"The run {state} after {timeout:g} s: wait longer, or call stop() first.")
        if self.error is not None:
            raise self.error

    def report(self) -> None:
        """Tell every listener to look at the run again. A view that fails must not end a long run."""
        with self.reporting:
            for listener in list(self.listeners):
                try:
                    listener()
                except Exception as error:
                    if listener not in self._failing:  # once, not four times a second
                        self._failing.add(listener)
                        warnings.warn(f"A view of the run failed: {error!r}", stacklevel=2)

    def _launch(self) -> None:
        if self.closed:
            raise ValueError("This run's worker was closed: make a new view of the run, or restart it.")
        self._again = self.alive and self._stop.is_set()
        if self.alive:
            return
        self._stop.clear()
        self.over = threading.Event()
        self._reported = threading.Event()
        self.error = None
        closed_at_exit(self)
        release_team()  # of whoever starts the run, most often the main thread
        self._thread = begun(self._work, "lsat-tuner", self._reported)

    def _work(self) -> None:
        while True:
            try:
                with held_threads(self._threads):
                    self._pull()
            except BaseException as error:  # kept for wait(): in a thread it would only reach stderr
                self.error = error
            if not self._goes_on():
                break
        self.report()

    def _goes_on(self) -> bool:
        """End, or take up what was asked for while the run was stopping; a failure is shown before anything else."""
        with self._lock:  # a step asked for until here was of this run; the next one begins a thread
            again, ended = self._again and self.error is None, self.over
            self._again = False
            if again:
                self._stop.clear()
                self.over = threading.Event()
            else:
                self._steps = 0
            ended.set()
        return again

    def _pull(self) -> None:
        with closing(self.run.steps()) as steps:
            self.report()
            self._wait_for_others()
            due = time.monotonic() + self.period
            while self._may_pull():
                iterate = next(steps, None)
                if iterate is None or iterate.status.final:
                    return
                self._count_step()
                if time.monotonic() >= due and not self._stop.is_set():  # the end is reported anyway
                    due = self._report_in_time()

    def _report_in_time(self) -> float:
        """Report, and return when the next one is due."""
        began = time.thread_time()
        self.report()
        return time.monotonic() + pause(self.period, time.thread_time() - began)

    def _wait_for_others(self) -> None:
        while self._after and not self._stop.is_set():
            if self._after[0].wait(_GLANCE):
                self._after.pop(0)

    def _count_step(self) -> None:
        with self._lock:
            if self._steps and not self._stop.is_set():
                self._steps -= 1
                if not self._steps:
                    self._go.clear()

    def _may_pull(self) -> bool:
        """Wait while paused; false once the run is to stop."""
        if not self._go.is_set() and not self._stop.is_set():
            self.resting = True
            self.report()
            self._go.wait()
            self.resting = False
        return not self._stop.is_set()
