"""A run without mathematics: every iterate is a number, and a test can hold it inside an iteration."""

from __future__ import annotations

import threading
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import torch

from lsat_explorer import Iterate, Recipe, Status
from lsat_explorer.tune.iterates import Iterates


class FakeRun:
    """Iterates one by one with a loss that halves; ``gate`` holds an iteration until a test lets it go."""

    def __init__(self, recipe: Recipe | None = None, data: Any = None, *, last: int = 1_000_000) -> None:
        self.recipe, self.data, self.last = recipe or Recipe(), data, last
        self.problem: Any = None
        self.iterates = Iterates()
        self.limit: int | None = None
        self.status, self.message = Status.READY, "Not started."
        self.gate = threading.Event()
        self.gate.set()
        self.inside = threading.Event()  # set while an iteration is held at the gate
        self.fails_at: int | None = None
        self.begun = 0
        self.threads = 0
        self._stop = threading.Event()
        self._wanted = self.recipe

    @property
    def kept(self) -> Iterate:
        """The last iterate, for nothing ends this run early."""
        return self.iterates[-1]

    def steps(self) -> Generator[Iterate, None, None]:
        """Yield iterates until one is final; broken off by its consumer, the run says that it was stopped."""
        try:
            yield from self._pull()
        finally:
            if self.status is Status.RUNNING and self.iterates:
                self.status = Status.STOPPED_BY_USER
                self.message = self.status.sentence
                self.iterates[-1] = replace(self.iterates[-1], status=self.status)

    def _pull(self) -> Generator[Iterate, None, None]:
        self._stop.clear()
        self.begun += 1
        self.threads = torch.get_num_threads()
        self.problem = self
        while True:
            self.inside.set()
            self.gate.wait()
            self.inside.clear()
            self.recipe = self._wanted
            number = len(self.iterates)
            if number == self.fails_at:
                raise ArithmeticError(f"iteration {number} broke")
            self.status = Status.STOPPED_BY_USER if self._stop.is_set() else Status.RUNNING
            self.status = Status.CONVERGED if number == self.last else self.status
            self.message = self.status.sentence
            loss = 0.5 ** min(number, 500)
            self.iterates.append(
                Iterate(number, loss, loss, 0.0, self.recipe.method.step, {}, status=self.status, residual=0.1)
            )
            yield self.iterates[-1]
            if self.status.final:
                return

    def change(self, recipe: Recipe) -> None:
        """Take another recipe up at the next iteration."""
        self._wanted = recipe

    def stop(self) -> None:
        """End after this iteration."""
        self._stop.set()
