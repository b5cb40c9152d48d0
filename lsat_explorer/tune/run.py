"""A run: the iterates so far, and what can be done with them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import torch
from torch import Tensor

from ..data.data import Data
from ..data.split import counted
from ..model.piece import Omega, within
from ..model.recipe import Recipe
from .advice import advice
from .branch import branch
from .checkpoint import Checkpoint
from .fitted import FittedModel
from .iterate import Iterate, Status
from .iterates import Iterates
from .last_look import TestResult, look
from .resume import resume
from .stepping import Stepping

if TYPE_CHECKING:
    import pandas

    from ..report import Report

__all__ = ["Run", "TestResult"]


class Run(Stepping):
    """A tuning run of a recipe on data. `steps` pulls it forward; any number of readers may look at it meanwhile.

    `change` and `stop` may be called from any thread; they act between iterations, `stop` between row chunks too.

    Parameters
    ----------
    recipe : Recipe
    data : Data
    omega : dict of str to Tensor, optional
        Hyper-parameters to start from, kept as ``start``; what is left out has the recipe's own start. Arrays and
        numbers do, in the shapes of ``Problem(recipe, data).init()``.
    checkpoint : Checkpoint, str or path, optional
        Where the run keeps itself as it goes on, so that `resume` can go on with it after a crash; see
        `lsat_explorer.Checkpoint`. A folder is one with the usual times.

    Raises
    ------
    ValueError
        For what is no recipe, no data, or no finite real numbers in ``omega``; at the first pull for other names and
        shapes in it.

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

    def __init__(
        self,
        recipe: Recipe,
        data: Data,
        omega: Omega | None = None,
        *,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(recipe, Recipe):
            raise ValueError(f"recipe is {recipe!r}, expected a Recipe such as lsat.Recipe().")
        if not isinstance(data, Data | type(None)):
            raise ValueError(f"data is a {type(data).__name__}, expected Data: use lsat.Data.from_arrays(X, y).")
        super().__init__(recipe, data, omega, Checkpoint.of(checkpoint))
        self._model: tuple[Omega, FittedModel] | None = None

    def __repr__(self) -> str:
        count = counted(max(len(self.iterates) - 1, 0), "iteration")
        if not self.iterates:
            return f"Run({self.status.value}, {count})"
        kept = self.kept
        which = "" if kept.number == self.iterates[-1].number else f" at iteration {kept.number}, which is kept"
        return f"Run({self.status.value}, {count}, loss {kept.loss:.4f}{which})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: two runs would write one history, and a pickle can run what it likes."""
        raise TypeError(
            "A Run cannot be copied or pickled: run.save(folder) and lsat.Run.load(folder, data) bring it elsewhere, "
            "run.branch(number) goes on from one of its iterates beside it."
        )

    def restore(self, iterates: Iterates, omega: Omega, status: Status, looks: int) -> None:
        """Take up the state of a saved run, ``omega`` that of the kept iterate, from which it goes on."""
        self.iterates, self.status, self.looks = iterates, status, looks
        self.iterates[self.kept.number] = replace(self.kept, omega=omega)
        self._omega, self._names_checked = omega, True

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
        other = branch(self, number, self.recipe if recipe is None else recipe)
        other._names_checked = True  # another loss may lack entries that this run has
        return other

    @property
    def omega(self) -> Omega:
        """The hyper-parameters of the `kept` iterate: the last accepted ones, but with early stopping."""
        return self.kept.omega

    @property
    def kept(self) -> Iterate:
        """The iterate whose hyper-parameters count: the last, or with early stopping the best on the test rows.

        Where `change` has brought another loss, only those that it has judged are compared.
        """
        last = self._last()
        return last if self.recipe.early_stopping is None else self.iterates.best_stopping

    @property
    def best(self) -> Iterate:
        """The iterate with the least F, since `change` last brought another loss or other hyper-penalties."""
        self._last()
        return self.iterates.best

    def _last(self) -> Iterate:
        if not self.iterates:
            raise ValueError("The run has not started: pull run.steps(), or call lsat.tune(recipe, data).")
        return self.iterates[-1]

    @property
    def unsaved(self) -> str:
        """Why the last checkpoint could not be written, with what comes of it; empty where nothing is wrong."""
        return "" if self.keeper is None else self.keeper.problem

    @property
    def message(self) -> str:
        """The status as a sentence, with advice where there is some."""
        return self.told if self.told and self.problem is None else advice(self)

    def history(self) -> pandas.DataFrame:
        """Return one row an iterate: number, objective, loss, penalty, step, residual, … and each scalar of ω."""
        import pandas

        return pandas.DataFrame(self.iterates.table())

    def weights(self) -> np.ndarray:
        """Return the weights e^{2ω_i} (k,) of the training rows, ones where the recipe has none."""
        found: np.ndarray = self.row_weights().numpy()
        return found

    def row_weights(self) -> Tensor:
        """Return the weights (k,) as `weights` does, but leave those that lie with their rows on workers there."""
        weights = self.recipe.data_weights
        if weights is None or not self.iterates:
            return torch.ones(len(self.data.train), dtype=torch.float64, device="cpu")
        omega = {name: value.cpu() for name, value in within("data_weights", self.omega).items()}
        return (2 * weights.log_weights(omega, self.data.train.targets)).exp()

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
        """Write recipe.json, iterates.csv, run.json and model.safetensors into a folder, over a run that is there.

        Raises
        ------
        ValueError
            When a file is there under one of these names that is none of a run, and would be lost.
        """
        from .saved import save_run

        save_run(self, Path(folder).expanduser())

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

        return load_run(Path(folder).expanduser(), data)

    @classmethod
    def resume(cls, path: str | os.PathLike[str], data: Data) -> Run:
        """Read the checkpoint of a run that was broken off, and be ready to go on: pull `steps`.

        What comes is what would have come, to the last bit of every number, on the same machine with as many threads.
        The run goes on keeping itself in the same folder.

        Parameters
        ----------
        path : str or path
            The folder that was given as ``checkpoint``, or the file in it.
        data : Data
            The data of the run.

        Raises
        ------
        ValueError
            When there is no checkpoint, it is cut off or damaged, or it is of other data or another format.

        Examples
        --------
        >>> import tempfile
        >>> import lsat_explorer as lsat
        >>> folder, data = tempfile.mkdtemp(), lsat.datasets.digits()
        >>> for iterate in lsat.Run(lsat.Recipe(), data, checkpoint=folder).steps():
        ...     if iterate.number == 3:
        ...         break
        >>> run = Run.resume(folder, data)
        >>> next(run.steps()).number
        4
        """
        return resume(cls, Path(path).expanduser(), data)
