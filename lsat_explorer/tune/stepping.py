"""A run step by step: its method is pulled, what comes is recorded and kept on disk, and it can be broken off."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..data.data import Data
from ..engines.heap import Heap
from ..engines.row_sums import Interrupted
from ..model.piece import Omega
from ..model.recipe import Recipe
from .advice import notes
from .branch import refuse_other_pieces
from .checkpoint import Checkpoint, Keeper, Mark
from .given import given_start, refuse_other_names
from .iterate import Iterate, Memory, Status
from .iterates import Iterates
from .problem import Problem

if TYPE_CHECKING:
    from .checkpoint_file import State

__all__ = ["Stepping"]


@dataclass(eq=False)
class _Turn:
    """The generator that may pull a run, and the thread that last pulled it."""

    thread: threading.Thread


class Stepping:
    """What pulls a run forward, between iterates and in any number of parts; see `lsat_explorer.Run`.

    Attributes
    ----------
    told : str
        The message that a run was saved with, which it has until its problem is prepared again.
    leg : int
        How many iterates there were when the method last set out: at the start, or after another recipe.
    memory : callable or None
        Returns what the method needs to go on after the last iterate; None where it sets out anew.
    wanted : Recipe
        That of the next iteration.
    keeper : Keeper or None
        Writes the checkpoints.
    kept_as : dict
        The files that keepers have last written of this run: what tells them from those of another.
    settled : threading.RLock
        Held while an iterate is recorded, and while the turn to pull is taken; hold it to read what belongs together.
    """

    def __init__(self, recipe: Recipe, data: Data, omega: Omega | None, checkpoint: Checkpoint | None) -> None:
        self.recipe, self.data = recipe, data
        self.problem: Problem | None = None
        self.iterates = Iterates()
        self.status = Status.READY
        self.looks = 0
        self.notes: list[str] = []
        self.told = ""
        self.start = self._omega = given_start(omega)
        self._names_checked = omega is None
        self.limit: int | None = None
        self.leg = 0
        self.memory: Callable[[], Memory] | None = None
        self.wanted = recipe
        self.kept_as: dict[Path, Mark | None] = {}
        self.keeper = Keeper.of(checkpoint, self)
        self.settled = threading.RLock()  # a generator may be collected, and so end, while its thread holds it
        self._stop = threading.Event()
        self._puller, self._pulling = 0, False
        self._turn: _Turn | None = None

    def steps(self) -> Iterator[Iterate]:
        """Yield iterates until one has a final status. Pulled again after the end, it goes on from there.

        The first pull prepares the features. A run that was broken off goes on with the iterate that would have come;
        one that has ended by itself with its last point. After `change` the step rule starts anew from the present ω.

        One generator pulls at a time. Where this thread has left another between two iterates, the new one goes on
        after the last, and the other yields no more.

        Raises
        ------
        ValueError
            At the first pull, when a widget or another thread is pulling the run: `stop` it first. Or when another run
            has come into the folder of the checkpoint since.
        """
        turn = _Turn(threading.current_thread())
        try:
            self._begin(turn)
            yield from self._pull(turn)
        except Interrupted:
            self.interrupt()
            self._pulling = False
            yield from self.iterates[-1:]
        finally:
            self._end(turn)

    def _begin(self, turn: _Turn) -> None:
        """Take the turn to pull, from a generator that was left behind where there is one."""
        if torch.is_inference_mode_enabled():
            raise ValueError(
                "torch.inference_mode() is on, and nothing can be differentiated in it: tune outside of it."
            )
        with self.settled:
            there = self._turn
            if there is not None and self._held_by(there):
                raise ValueError(
                    "The run is being pulled already, by a widget or in another thread, and one can do so at a time: "
                    "stop it first, with run.stop() or the widget's stop button, and wait until it has ended."
                )
            if self.keeper is not None and not self.iterates:  # nothing is lost yet by refusing
                self.keeper.look(self)
            self._turn, self._puller, self._pulling = turn, threading.get_ident(), True
            self._stop.clear()
            self.status = Status.RUNNING

    def _held_by(self, there: _Turn) -> bool:
        """Whether a turn cannot be taken from a generator: it is in the middle of an iteration, or its thread goes on.

        One that this thread has left between two iterates, or that has come to an end or is asked to, will not be
        missed.
        """
        left = there.thread is threading.current_thread() or not there.thread.is_alive()
        return self._pulling or not (left or self.status.final or self._stop.is_set())

    def _goes_on(self, turn: _Turn) -> bool:
        """Pull on; false where another generator has taken the turn meanwhile."""
        with self.settled:
            if self._turn is not turn:
                return False
            turn.thread, self._puller, self._pulling = threading.current_thread(), threading.get_ident(), True
            return True

    def _end(self, turn: _Turn) -> None:
        """Give the turn back; a run that is broken off by its consumer, or by an error, is interrupted."""
        with self.settled:
            if self._turn is not turn:
                return
            self._pulling = True  # nobody takes the turn before the end is written
        try:
            if self.status is Status.RUNNING:
                self.interrupt()
        finally:
            self._turn, self._pulling = None, False

    def _pull(self, turn: _Turn) -> Iterator[Iterate]:
        heap = Heap()
        while True:
            iterates = self._set_out()
            since = time.perf_counter()
            for iterate in iterates:
                came = time.perf_counter()
                last = self._record(iterate, came - since)
                heap.tidy(ended=last.status.final)
                self._pulling = False
                left = time.perf_counter()
                yield last
                since = came + time.perf_counter() - left  # a pause, and what is done with an iterate, take no time
                if not self._goes_on(turn) or last.status.final:
                    return
                if self.wanted != self.recipe:
                    break

    def _set_out(self) -> Iterator[Iterate]:
        """Return the iterates to come: of a leg that was broken off, or of a new one."""
        before, wanted = self.recipe, self.wanted  # read once: another thread may change it at any time
        anew = wanted != before
        problem = self._adopt(wanted)
        with self.settled:
            self.iterates.compare_anew(*_of_another_loss(before, wanted))
        method: Any = self.recipe.method
        memory = {} if self.memory is None else {"memory": self.memory()}
        if anew and memory:
            memory = _taken_up(memory["memory"], before, wanted)
        if not memory:
            if self.iterates and not anew:
                method = method.resumed(self.iterates[-1])
            with self.settled:
                self.leg, self.memory = len(self.iterates), None
        self.limit = None if method.max_iterations is None else self.leg + method.max_iterations
        start = None if self._omega is None else problem.adapted(self._omega)  # a loss may have other entries since
        return method.iterates(problem, start, **memory)

    def _adopt(self, wanted: Recipe) -> Problem:
        """Return the problem of ``wanted``, which is the run's recipe from now on."""
        if self.problem is not None and wanted != self.recipe:
            self.problem = self.problem.with_recipe(wanted, self._omega)
        self.recipe = wanted
        return self._prepared()

    def _prepared(self) -> Problem:
        """Return the problem of the present recipe, prepared where it is not yet."""
        if self.problem is None:
            problem = Problem(self.recipe, self.data, self._check, self._omega)
            if not self._names_checked:
                refuse_other_names(self._omega, problem.init())
            self.problem, self._names_checked = problem, True
        return self.problem

    def _check(self) -> None:
        # Only the thread that pulls is interrupted: another may be fitting `model` meanwhile.
        if self._stop.is_set() and threading.get_ident() == self._puller and self._pulling:
            raise Interrupted

    def _record(self, iterate: Iterate, took: float) -> Iterate:
        memory, ended = iterate.memory, iterate.status.final
        seconds = took + (self.iterates[-1].seconds if self.iterates else 0.0)
        iterate = replace(iterate, number=self.leg + iterate.number, seconds=seconds, memory=None)
        rule = self.recipe.early_stopping
        if not iterate.status.final:
            if self._stop.is_set():
                iterate = replace(iterate, status=Status.STOPPED_BY_USER)
            elif rule is not None and iterate.accepted and self.iterates.worse_for(iterate) >= rule.patience:
                iterate = replace(iterate, status=Status.STOPPED_EARLY)
        elif self.problem is not None and math.isfinite(iterate.objective):
            with suppress(Interrupted):  # what has come to its end stays so, without what there is to say of it
                self.notes = notes(self.problem, iterate)
        with self.settled:
            self._omega = iterate.omega
            self.iterates.append(iterate)
            self.memory = None if ended else memory
            self.status = iterate.status
        if self.keeper is not None:
            self.keeper.after(self, iterate)
        return iterate

    def interrupt(self) -> None:
        """End a run whose iteration was broken off: the last accepted iterate stands."""
        self.status = Status.STOPPED_BY_USER if self.iterates else Status.READY
        if self.iterates:
            self.iterates[-1] = replace(self.iterates[-1], status=Status.STOPPED_BY_USER)
            if self.keeper is not None:
                self.keeper.write(self)

    def take_up(self, state: State) -> None:
        """Take up the state of a run that was broken off; the next iterate is the one that would have come."""
        self.iterates, self.status, self.looks, self.notes = state.iterates, state.status, state.looks, state.notes
        self.leg, self.wanted = state.leg, state.wanted
        memory = state.memory
        self.memory = None if memory is None else lambda: memory
        self._omega, self._names_checked = self.iterates[-1].omega, True
        if not self.status.final:
            self.status = Status.BROKEN_OFF

    def keep_in(self, checkpoint: Checkpoint | None) -> None:
        """Keep the run in another folder from now on, or in none.

        Raises
        ------
        ValueError
            When the folder holds another run.
        """
        self.keeper = Keeper.of(checkpoint, self)

    def change(self, recipe: Recipe) -> None:
        """Go on, from the next iteration, with other hyper-penalties, another method or other numbers of the loss.

        Raises
        ------
        ValueError
            When it is no recipe, or anything else differs: that is another run.
        """
        refuse_other_pieces(self.recipe, recipe, self.data.task, "change()")
        if self.problem is not None:
            self.problem.sharing(recipe)  # refuses it here, and prepares nothing
        self.wanted = recipe

    def stop(self) -> None:
        """Ask the run to end; its last iterate says STOPPED_BY_USER."""
        self._stop.set()


def _taken_up(memory: Memory, before: Recipe, wanted: Recipe) -> dict[str, Memory]:
    """Return what of a memory serves another recipe: nothing where F is another, or its method sets out anew."""
    if wanted.replace(method=before.method, early_stopping=before.early_stopping) != before:
        return {}
    taken = wanted.method.takes_up(before.method, memory)
    return {"memory": taken} if taken else {}


def _of_another_loss(before: Recipe, wanted: Recipe) -> tuple[str, ...]:
    """Return the fields of iterates that cannot be compared with what they were under another recipe."""
    if wanted.loss != before.loss:
        return "objective", "stopping_loss"
    return () if wanted.hyper_penalties == before.hyper_penalties else ("objective",)
