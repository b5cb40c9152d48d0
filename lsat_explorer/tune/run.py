"""A run: the iterates so far, and what can be done with them."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.data import Data
from ..engines.heap import Heap
from ..engines.row_sums import Interrupted
from ..model.piece import Omega, within
from ..model.recipe import Recipe
from .advice import advice, notes
from .branch import branch, refuse_other_pieces
from .fitted import FittedModel
from .iterate import Iterate, Status
from .iterates import Iterates
from .last_look import TestResult, look
from .problem import Problem

if TYPE_CHECKING:
    import pandas

    from ..report import Report

__all__ = ["Run", "TestResult"]


class Run:
    """A tuning run of a recipe on data. `steps` pulls it forward; any number of readers may look at it meanwhile.

    `change` and `stop` may be called from any thread; they act between iterations, `stop` between row chunks too.

    Parameters
    ----------
    recipe : Recipe
    data : Data
    omega : dict of str to Tensor, optional
        Hyper-parameters to start from, kept as ``start``; what is left out has the recipe's own start.

    Attributes
    ----------
    iterates : Iterates
        Every iterate so far, by its number. Most of a long run with a weight per row hold the numbers of their ω alone.
    limit : int or None
        The highest number that an iterate can get, None where the method has no such rule or nothing was pulled.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> run = Run(lsat.Recipe(), lsat.datasets.digits())
    >>> for iterate in run.steps():
    ...     pass
    >>> run.status
    <Status.CONVERGED: 'converged'>
    """

    def __init__(self, recipe: Recipe, data: Data, omega: Omega | None = None) -> None:
        if not isinstance(recipe, Recipe):
            raise ValueError(f"recipe is {recipe!r}, expected a Recipe such as lsat.Recipe().")
        if not isinstance(data, Data | type(None)):
            raise ValueError(f"data is a {type(data).__name__}, expected Data: use lsat.Data.from_arrays(X, y).")
        self.recipe, self.data = recipe, data
        self.problem: Problem | None = None
        self.iterates = Iterates()
        self.status = Status.READY
        self.looks = 0
        self.notes: list[str] = []
        self.start = self._omega = omega
        self.limit: int | None = None
        self._model: tuple[Omega, FittedModel] | None = None
        self._wanted = recipe
        self._stop = threading.Event()
        self._puller, self._pulling = 0, False

    def __repr__(self) -> str:
        last = f", loss {self.iterates[-1].loss:.4f}" if self.iterates else ""
        return f"Run({self.status.value}, {max(len(self.iterates) - 1, 0)} iterations{last})"

    def steps(self) -> Iterator[Iterate]:
        """Yield iterates until one has a final status. Pulled again after the end, it goes on from there.

        The first pull prepares the features. After `change` the step rule starts anew from the present ω.
        """
        self._stop.clear()
        self._puller = threading.get_ident()
        base = self.iterates[-1] if self.iterates else None
        self.status = Status.RUNNING
        try:
            self._pulling = True
            yield from self._pull(base)
        except Interrupted:
            self._pulling = False
            self.interrupt()
            yield from self.iterates[-1:]
        finally:
            self._pulling = False
            if self.status is Status.RUNNING:  # broken off by its consumer, or by an error
                self.interrupt()

    def _pull(self, base: Iterate | None) -> Iterator[Iterate]:
        heap = Heap()
        while True:
            wanted = self._wanted  # read once: another thread may change it at any time
            anew = wanted != self.recipe
            problem = self._adopt(wanted)
            method: Any = self.recipe.method
            if base is not None and not anew:
                method = method.resumed(base)
            done = 0 if base is None else base.number + 1
            self.limit = None if method.max_iterations is None else done + method.max_iterations
            start = None if self._omega is None else problem.adapted(self._omega)  # a loss may have other entries since
            for iterate in method.iterates(problem, start):
                heap.tidy()
                last = self._record(iterate, base)
                self._pulling = False
                yield last
                self._pulling = True
                if last.status.final:
                    return
                if self._wanted != self.recipe:
                    break
            base = self.iterates[-1]

    def _adopt(self, wanted: Recipe) -> Problem:
        """Return the problem of ``wanted``, which is the run's recipe from now on."""
        if self.problem is not None and wanted != self.recipe:
            self.problem = self.problem.with_recipe(wanted, self._omega)
        self.recipe = wanted
        return self._prepared()

    def _prepared(self) -> Problem:
        """Return the problem of the present recipe, prepared where it is not yet."""
        if self.problem is None:
            self.problem = Problem(self.recipe, self.data, self._check, self._omega)
        return self.problem

    def _check(self) -> None:
        # Only the thread that pulls is interrupted: another may be fitting `model` meanwhile.
        if self._stop.is_set() and threading.get_ident() == self._puller and self._pulling:
            raise Interrupted

    def _record(self, iterate: Iterate, base: Iterate | None) -> Iterate:
        if base is not None:
            iterate = replace(iterate, number=base.number + 1 + iterate.number, seconds=base.seconds + iterate.seconds)
        rule = self.recipe.early_stopping
        if not iterate.status.final:
            if self._stop.is_set():
                iterate = replace(iterate, status=Status.STOPPED_BY_USER)
            elif rule is not None and iterate.accepted and self.iterates.worse_for(iterate) >= rule.patience:
                iterate = replace(iterate, status=Status.STOPPED_EARLY)
        elif self.problem is not None and math.isfinite(iterate.objective):
            self.notes = notes(self.problem, iterate)
        self._omega = iterate.omega
        self.iterates.append(iterate)
        self.status = iterate.status
        return iterate

    def interrupt(self) -> None:
        """End a run whose iteration was broken off: the last accepted iterate stands."""
        self.status = Status.STOPPED_BY_USER if self.iterates else Status.READY
        if self.iterates:
            self.iterates[-1] = replace(self.iterates[-1], status=Status.STOPPED_BY_USER)

    def restore(self, iterates: list[Iterate], omega: Omega, status: Status, looks: int) -> None:
        """Take up the state of a saved run, ``omega`` that of the kept iterate, from which it goes on."""
        self.iterates, self.status, self.looks = Iterates(iterates), status, looks
        self.iterates[self.kept.number] = replace(self.kept, omega=omega)
        self._omega = omega

    def change(self, recipe: Recipe) -> None:
        """Go on, from the next iteration, with other hyper-penalties, another method or other numbers of the loss.

        Raises
        ------
        ValueError
            When it is no recipe, or anything else differs: that is another run.
        """
        refuse_other_pieces(self.recipe, recipe, "change()")
        if self.problem is not None:
            self.problem.sharing(recipe)  # refuses it here, and prepares nothing
        self._wanted = recipe

    def branch(self, number: int, recipe: Recipe | None = None) -> Run:
        """Return a new run from the hyper-parameters of one of the iterates; it shares the prepared features.

        Parameters
        ----------
        number : int
            Number of the iterate.
        recipe : Recipe, optional
            With other hyper-penalties or another method; that of this run by default.

        Raises
        ------
        ValueError
            When there is no such iterate, when it holds the numbers of its ω alone (the nearest that holds all is
            ``run.iterates.whole(number)``), or anything else differs in the recipe.
        """
        return branch(self, number, self.recipe if recipe is None else recipe)

    def stop(self) -> None:
        """Ask the run to end; its last iterate says STOPPED_BY_USER."""
        self._stop.set()

    @property
    def omega(self) -> Omega:
        """The hyper-parameters of the `kept` iterate: the last accepted ones, but with early stopping."""
        return self.kept.omega

    @property
    def kept(self) -> Iterate:
        """The iterate whose hyper-parameters count: the last, or with early stopping the best on the test rows."""
        last = self._last()
        return last if self.recipe.early_stopping is None else self.iterates.best_stopping

    @property
    def best(self) -> Iterate:
        """The iterate with the least F."""
        self._last()
        return self.iterates.best

    def _last(self) -> Iterate:
        if not self.iterates:
            raise ValueError("The run has not started: pull run.steps(), or call lsat.tune(recipe, data).")
        return self.iterates[-1]

    @property
    def message(self) -> str:
        """The status as a sentence, with advice where there is some."""
        return advice(self)

    def history(self) -> pandas.DataFrame:
        """Return one row an iterate: number, objective, loss, penalty, step, residual, … and each scalar of ω."""
        import pandas

        return pandas.DataFrame(self.iterates.table())

    def weights(self) -> np.ndarray:
        """Return the weights e^{2ω_i} (k,) of the training rows, ones where the recipe has none."""
        weights = self.recipe.data_weights
        if weights is None or not self.iterates:
            return np.ones(len(self.data.train))
        omega = {name: value.cpu() for name, value in within("data_weights", self.omega).items()}
        return (2 * weights.log_weights(omega, self.data.train.targets)).exp().numpy()

    @property
    def model(self) -> FittedModel:
        """The model fitted at `omega`, θ refined once in float64."""
        omega = self.omega
        if self._model is None or self._model[0] is not omega:
            self._model = (omega, FittedModel.of(self._prepared(), omega))
        return self._model[1]

    def test(self) -> TestResult:
        """Look at the test split: the loss and error of `model` on it. Each look is counted.

        With early stopping the test rows have ended the run: the look is then at the ``final`` split.

        Raises
        ------
        ValueError
            When the data have no test split.
        """
        return look(self)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write recipe.json, iterates.csv, run.json and model.safetensors into a folder."""
        from .saved import save_run

        save_run(self, Path(folder))

    def report(self, path: str | os.PathLike[str] | None = None, *, name: str = "") -> Report:
        """Return the run as one page that stands alone, and write it to ``path`` where one is given.

        A notebook shows its still picture. ``name`` is the heading. See `lsat_explorer.report.report_of`.
        """
        from ..report import report_of

        return report_of(self, path, name=name)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], data: Data | None = None) -> Run:
        """Read a folder that `save` wrote. With ``data`` the run can go on, or fit and test its model.

        Raises
        ------
        ValueError
            When the folder holds no run.
        """
        from .saved import load_run

        return load_run(Path(folder), data)
