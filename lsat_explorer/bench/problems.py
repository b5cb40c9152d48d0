"""The problems on which methods are compared: the paper's, one with two optima, tables, and other criteria."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch

from lsat_explorer.bench.paper import RECIPES, mnist_files, paper_data, paper_shape
from lsat_explorer.data import Data, datasets
from lsat_explorer.model import Diagonal, Identity, Recipe, Ridge, Smooth, Stack, graphs
from lsat_explorer.tune import KFold, LeaveOneOut, Problem

__all__ = ["PROBLEMS", "Source", "two_ridges"]

SMALL_TABLE = 5_000


@dataclass
class Source:
    """Where the problems take their rows from.

    Parameters
    ----------
    folder : str or None
        Folder of MNIST's files; the environment variable ``LSAT_MNIST`` where None.
    size : int
        Training and validation rows of MNIST together, for the paper's problems.
    seed : int
        Of splits and of everything random in a recipe. The problem of two ridges has rows of its own.
    """

    folder: str | None
    size: int
    seed: int
    _images: dict[str, Data] = field(default_factory=dict, repr=False)

    def paper(self, scale: Literal["standard", "raw"], method: str) -> Problem:
        """Return one of the paper's problems. The images of one scale are read once, and let go for another's."""
        if scale not in self._images:
            self._images.clear()
            self._images[scale] = paper_data(self.folder, self.size, self.seed, scale)
        data = self._images[scale]
        return self.problem(RECIPES[scale][method](paper_shape(data)), data)

    def digits(self, recipe: Recipe) -> Problem:
        """Return a recipe on the digits that come with scikit-learn."""
        return self.problem(recipe, datasets.digits(seed=self.seed))

    def diabetes(self, recipe: Recipe) -> Problem:
        """Return a recipe on scikit-learn's diabetes table, 442 rows of 10 columns; the target lies in 25..346."""
        from sklearn.datasets import load_diabetes

        return self._table(recipe, *load_diabetes(return_X_y=True))

    def large_targets(self, recipe: Recipe) -> Problem:
        """Return a recipe on 500 rows of 30 columns, of which 10 count, with targets of about 2 · 10⁶."""
        from sklearn.datasets import make_regression

        X, y = make_regression(500, 30, n_informative=10, noise=50.0, random_state=self.seed)
        return self._table(recipe, X, 1e4 * y)

    def _table(self, recipe: Recipe, X: np.ndarray, y: np.ndarray) -> Problem:
        return self.problem(recipe, Data.from_arrays(X, y, task="regression", seed=self.seed))

    def problem(self, recipe: Recipe, data: Data) -> Problem:
        """Return the problem with this seed."""
        return Problem(recipe.replace(seed=self.seed), data)


def two_ridges(source: Source) -> Problem:
    """Return the weights of a ridge and of the pixels' grid, tuned from (0, 0).

    ``RandomState(0).permutation(60000)[:5000]`` of MNIST's training images, the first 70 % to fit; not deskewed,
    standardised on the rows to fit, no constant. The optimum, F = 1.8179336, lies at (1.25, 2.12); where one weight
    goes to zero is a plateau of 1.818786, which catches local methods.
    """
    from sklearn.preprocessing import StandardScaler

    with mnist_files(source.folder):
        whole = datasets.mnist(source.folder, size=60_000, scale="raw")
    parts = (whole.train, whole.validation)
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    X = torch.cat([part.inputs for part in parts]).numpy()[order]
    y = np.concatenate([part.labels for part in parts])[order]
    chosen = np.random.RandomState(0).permutation(len(X))[:SMALL_TABLE]
    train, validation = np.split(chosen, [7 * len(chosen) // 10])
    scaler = StandardScaler().fit(X[train].astype(np.float64))
    rows = {
        name: (scaler.transform(X[index].astype(np.float64)), y[index])
        for name, index in (("train", train), ("validation", validation))
    }
    shape = paper_shape(whole)
    data = Data.from_splits(rows["train"], rows["validation"], task="classification", image_shape=shape, name="MNIST")
    return source.problem(
        Recipe(featurizer=Identity(), regularizer=Stack(ridge=Ridge(), smooth=Smooth(graphs.grid(*shape)))), data
    )


PROBLEMS: dict[str, Callable[[Source], Problem]] = {
    "reg2": lambda source: source.paper("standard", "reg×2"),
    "feat": lambda source: source.paper("raw", "reg×3+feat"),
    "weighting": lambda source: source.paper("raw", "+weighting"),
    "two-ridges": two_ridges,
    "digits": lambda source: source.digits(Recipe()),
    "k-fold": lambda source: source.digits(Recipe(criterion=KFold())),
    "leave-one-out": lambda source: source.digits(Recipe(criterion=LeaveOneOut())),
    "diabetes": lambda source: source.diabetes(Recipe()),
    "column-weights": lambda source: source.diabetes(Recipe(regularizer=Diagonal(block="features"))),
    "large-targets": lambda source: source.large_targets(Recipe()),
}
"""By the name that ``--problems`` takes."""
