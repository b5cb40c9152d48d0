"""What classifier and regressor share: reading rows, the run, the model, and what a notebook shows of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..data.as_numbers import refuse_categories
from ..data.data import Data
from ..data.labels import Task
from ..data.sparse_rows import check_entries, read_sparse
from ..data.tables import check_finite, default_names
from ..model.recipe import Recipe
from ..tune.advice import coarse
from ..tune.iterate import Status
from ..tune.last_fit import refit
from ..tune.run import Run
from .counted import counted, refuse_held_out
from .linear import affine
from .page import below_the_diagram, told
from .reading import explained, explained_weights, readable, refuse_times, seed_of
from .usual import SHARE, divided, relative, usual_recipe, usual_regularizer, variance

__all__ = ["TunedLeastSquares"]

_KINDS: dict[str, Any] = {"accept_sparse": ["csr", "csc", "coo"], "dtype": [np.float64, np.float32]}
_NESTED = "recipe__"


class TunedLeastSquares(BaseEstimator):
    """A least squares fit whose hyper-parameters descend the loss on rows not fitted."""

    def __init__(
        self,
        recipe: Recipe | None = None,
        *,
        validation: float | int | None = None,
        random_state: Any = None,
    ) -> None:
        self.recipe = recipe
        self.validation = validation
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` the recipe's choices too, as ``recipe__loss`` and so on."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.recipe, Recipe):
            params |= {f"{_NESTED}{f.name}": getattr(self.recipe, f.name) for f in fields(Recipe)}
        return params

    def set_params(self, **params: Any) -> TunedLeastSquares:
        """Set parameters; ``recipe__loss=…`` and the like replace one choice of the recipe.

        Raises
        ------
        ValueError
            For a parameter or a choice that there is not, and for a choice without a recipe.
        """
        choices = {name.removeprefix(_NESTED): value for name, value in params.items() if name.startswith(_NESTED)}
        super().set_params(**{name: value for name, value in params.items() if not name.startswith(_NESTED)})
        known = [f.name for f in fields(Recipe)]
        for name in choices:
            if name not in known:
                raise ValueError(f"{_NESTED}{name} names no choice of a recipe, expected one of {', '.join(known)}.")
        if not choices:
            return self
        if not isinstance(self.recipe, Recipe):
            first = next(iter(choices))
            raise ValueError(
                f"{_NESTED}{first} is a choice of a recipe, but recipe is {self.recipe!r}: pass recipe=lsat.Recipe()."
            )
        self.recipe = self.recipe.replace(**choices)
        return self

    def explore(self) -> Any:
        """Return the Explorer of the run that fitted this estimator, to look at it in a notebook and to go on from it.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        ValueError
            For an estimator that was copied or read from a file: it carries no rows.
        ModuleNotFoundError
            Without the packages of ``lsat_explorer[lab]``.
        """
        check_is_fitted(self)
        if not hasattr(self, "run_"):
            raise ValueError("A copied estimator carries no rows and no run: call fit(X, y) again to explore it.")
        from ..widgets import Explorer

        return Explorer(self.run_)

    def _fit(
        self,
        names: np.ndarray,
        y: Any,
        inputs: Any,
        targets: np.ndarray,
        weights: Any,
        classes: Any,
        target_names: tuple[str, ...] = (),
    ) -> None:
        """Tune on rows that are read, have positive weights and are called by these names (N,)."""
        rows = inputs.shape[0]
        task: Task = "regression" if classes is None else "classification"
        total = float(rows if weights is None else weights.sum())
        feature_names = tuple(map(str, getattr(self, "feature_names_in_", default_names(inputs.shape[1], None))))
        check_entries(inputs, "X", names, feature_names)
        check_finite(targets, "y", names, target_names)
        recipe, seed = self._chosen(usual_recipe(task, rows, self.validation, total))
        share = self.validation if self.validation is not None else SHARE
        data, train, validation = divided(
            inputs,
            targets,
            y,
            names,
            classes=classes,
            feature_names=feature_names,
            target_names=target_names,
            share=share if recipe.criterion.held_out else None,
            seed=seed,
        )
        refuse_held_out(recipe.data_weights, rows, len(train))
        self.recipe_ = recipe
        if classes is None:
            recipe = recipe.replace(method=relative(recipe.method, variance(targets, weights)))
        if weights is not None:
            if self.recipe is None:
                recipe = recipe.replace(regularizer=usual_regularizer(inputs[train], weights[train]))
            recipe = counted(recipe, data, weights[train], weights[validation])
        self._run(recipe, data, joins=weights is None)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Leave the estimator as it was where the fit inside does not end; of a first fit the run stays, to look at."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            if "model_" not in before and "run_" in vars(self):
                before["run_"] = self.run_
            self.__dict__ = before
            raise

    def _run(self, recipe: Recipe, data: Data, joins: bool) -> None:
        """Run to the end; ``joins`` tells whether rows held out join the last fit."""
        self.run_ = Run(recipe, data)
        for _ in self.run_.steps():
            pass
        if self.run_.status in (Status.MAX_ITERATIONS, Status.NOT_FINITE):
            warnings.warn(told(self.run_), ConvergenceWarning, stacklevel=4)
        elif found := self._coarse():
            warnings.warn(found, ConvergenceWarning, stacklevel=4)
        self.model_ = refit(self.run_) if recipe.criterion.held_out and joins else self.run_.model
        self.n_iter_ = self.run_.iterates[-1].number

    def _coarse(self) -> str:
        """Return the warning of a run that a coarse tolerance ended, empty for another."""
        problem, given = self.run_.problem, self.recipe_.method.tolerance
        if problem is None or not given:
            return ""
        taken = self.run_.recipe.method.tolerance
        return coarse(problem, self.run_.iterates[-1], None if taken == given else taken / given)

    def _chosen(self, usual: Recipe) -> tuple[Recipe, int]:
        """Return the recipe to run, and the seed of the rows held out."""
        recipe = self.recipe
        if recipe is not None and not isinstance(recipe, Recipe):
            raise ValueError(f"recipe is {recipe!r}, expected None or a Recipe: pass recipe=lsat.Recipe(…).")
        if recipe is None:
            recipe = usual
        elif self.validation is not None and not recipe.criterion.held_out:
            raise ValueError(
                f"validation is {self.validation!r}, but {recipe.criterion!r} holds no rows out: leave validation at "
                "None, or choose criterion=lsat.HeldOut()."
            )
        if recipe.early_stopping is not None:
            raise ValueError(
                "early_stopping needs test rows of its own, which fit(X, y) has not got: leave it out of the recipe, "
                "or use lsat.tune(recipe, data)."
            )
        if self.random_state is not None:
            recipe = recipe.replace(seed=seed_of(self.random_state))
        return recipe, recipe.seed % 2**32

    def _read(self, X: Any) -> Any:
        """Return the rows to predict as a plain checked array, or as a sparse matrix by rows."""
        with explained(X):
            refuse_categories(X, "X")
            X = readable(X)
            refuse_times(X)
            return _by_rows(validate_data(self, X, reset=False, **_KINDS))

    def _read_both(self, X: Any, y: Any, **how: Any) -> tuple[Any, np.ndarray]:
        """Return the rows to fit, as `_read` does, and their outcomes as a plain checked array."""
        with explained(X, y, labels=not how):
            refuse_categories(X, "X")
            X, y = readable(X), readable(y, "y")
            refuse_times(X, y if how else None)
            X, y = validate_data(self, X, y, ensure_min_samples=2, **_KINDS, **how)
            if how.get("y_numeric"):
                y = y.astype(np.float64)
        return _by_rows(X), y

    def _outputs(self, X: Any) -> np.ndarray:
        """Return φ(x)ᵀθ (N, m)."""
        check_is_fitted(self)
        return self.model_.decision_function(self._read(X))

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        if not hasattr(self, "model_"):
            raise AttributeError(f"This {type(self).__name__} is not fitted: call fit(X, y) first.")
        return affine(self.model_)

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and once fitted the recipe and the curves of the run."""
        diagram: str = super()._html_repr()
        recipe = getattr(self, "recipe_", self.recipe)
        return diagram + (below_the_diagram(recipe, getattr(self, "run_", None)) if isinstance(recipe, Recipe) else "")

    def __getstate__(self) -> dict[str, Any]:
        # Parameters, coefficients and prepared features; no rows, and no run with its thread and its curves.
        state = dict(super().__getstate__())
        state.pop("run_", None)
        if "model_" in state:
            state["model_"] = replace(state["model_"], data=None)
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def read_weights(sample_weight: Any, X: Any) -> tuple[np.ndarray | None, Any]:
    """Return the positive weights, None where all are equal to one, and the rows that have them (N,) or a slice."""
    if sample_weight is None:
        return None, slice(None)
    with explained_weights(sample_weight):
        weights = _check_sample_weight(
            readable(sample_weight, "sample_weight"), X, dtype=np.float64, ensure_non_negative=True
        )
    kept = weights > 0
    if kept.sum() < 2:
        raise ValueError(
            f"sample_weight leaves {kept.sum()} of {len(kept):,} samples with a positive weight, expected two at least."
        )
    rows = slice(None) if kept.all() else kept
    return (None if (weights[rows] == 1).all() else weights[rows]), rows


def _by_rows(X: Any) -> Any:
    """Return an array row after row in memory, or a sparse matrix by rows."""
    matrix = read_sparse(X, "X")
    return np.ascontiguousarray(X) if matrix is None else matrix
