"""What the tests of `lsat_explorer.explain` share: models of many recipes, and their fits again by numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import lsat_explorer as lsat

K, N, D = 60, 25, 4


def made(task: str, outputs: int = 1, seed: int = 0) -> lsat.Data:
    """A table of K training and N validation rows with names of their own."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(K + N, D))
    if task == "classification":
        y = np.array(["ant", "bee", "cow"])[(X[:, :3] + 0.7 * random.normal(size=(K + N, 3))).argmax(1)]
    else:
        y = X @ random.normal(size=(D, outputs)) + 0.3 * random.normal(size=(K + N, outputs)) + 2.0
        y = y[:, 0] if outputs == 1 else y
    names = [f"row {i}" for i in range(K + N)]
    return lsat.Data.from_arrays(X, y, rows=names, validation=N, test=0, task=task, seed=seed)


def weighted(data: lsat.Data, seed: int = 1) -> lsat.FixedWeights:
    weights = np.random.default_rng(seed).uniform(0.3, 2.5, len(data.train))
    weights[5] = 0.0
    return lsat.FixedWeights(weights)


def fitted(recipe: lsat.Recipe, data: lsat.Data) -> lsat.FittedModel:
    """The model at the start of a recipe: what is explained need not be tuned."""
    problem = lsat.Problem(recipe, data)
    return lsat.FittedModel.of(problem, problem.init())


SCALED = lsat.Concat(scaled=lsat.Scale(), one=lsat.Constant())
BLOCKS = lsat.Concat(
    scaled=lsat.Scale(), near=lsat.KMeansArchetypes(per_class=2, n_init=1, kernel="gaussian"), one=lsat.Constant()
)

CASES: dict[str, tuple[lsat.Data, lsat.Recipe]] = {}


def case(name: str, data: lsat.Data, **choices: object) -> None:
    CASES[name] = data, lsat.Recipe(regularizer=lsat.Ridge(log_weight=0.4), **{"featurizer": SCALED, **choices})


CLASSES, NUMBERS, SEVERAL = made("classification"), made("regression"), made("regression", 2)
case("classes", CLASSES)
case("classes, weighted", CLASSES, data_weights=weighted(CLASSES))
case("classes, tuned temperature", CLASSES, loss=lsat.CrossEntropy(temperature=True), data_weights=weighted(CLASSES))
case("classes, squared error", CLASSES, loss=lsat.SquaredError())
case("features that move", CLASSES, featurizer=BLOCKS, data_weights=lsat.LogWeights())
case("float32", CLASSES, featurizer=BLOCKS, data_weights=weighted(CLASSES), dtype="float32")
case("groups", CLASSES, data_weights=lsat.GroupWeights())
case("k-fold", CLASSES, criterion=lsat.KFold(3))
case("leave-one-out", NUMBERS, criterion=lsat.LeaveOneOut())
case("generalized", NUMBERS, criterion=lsat.GCV())
case("numbers, weighted", NUMBERS, data_weights=weighted(NUMBERS))
case("numbers, Huber", NUMBERS, loss=lsat.Huber(0.2))
case("two outputs", SEVERAL, data_weights=weighted(SEVERAL))
COUNTS = tuple(np.random.default_rng(2).choice([0.5, 1.0, 20.0], N))
case("classes, counted", CLASSES, criterion=lsat.Counted(lsat.HeldOut(), COUNTS))
case("numbers, counted", NUMBERS, criterion=lsat.Counted(lsat.HeldOut(), COUNTS), data_weights=weighted(NUMBERS))

EVERY = pytest.mark.parametrize("name", CASES)


def all_models() -> dict[str, lsat.FittedModel]:
    """The model of every case, none of them asked before."""
    return {name: fitted(recipe, data) for name, (data, recipe) in CASES.items()}


class Plain:
    """The same fit by numpy from the model's public parts: features, penalty and weights in float64."""

    def __init__(self, model: lsat.FittedModel, data: lsat.Data, log_weights: np.ndarray | None = None) -> None:
        self.model, self.data = model, data
        self.X, self.V = (self.features(split.inputs) for split in (data.train, data.validation))
        self.Y, self.targets = data.train.targets.numpy(), data.validation.targets
        self.log_weights = self.of(model, data) if log_weights is None else log_weights
        counts = np.asarray(getattr(model.recipe.criterion, "counts", np.ones(N)))
        self.shares = N * counts / counts.sum()
        # The recipes' ridge covers every column.
        self.penalty = math.exp(2 * 0.4) * np.eye(self.X.shape[1])

    @staticmethod
    def of(model: lsat.FittedModel, data: lsat.Data) -> np.ndarray:
        weights = model.recipe.data_weights
        if weights is None:
            return np.zeros(len(data.train))
        local = {k.removeprefix("data_weights."): v for k, v in model.omega.items() if k.startswith("data_weights.")}
        return weights.log_weights(local, data.train.targets).numpy()

    def features(self, inputs: torch.Tensor) -> np.ndarray:
        local = {k.removeprefix("featurizer."): v for k, v in self.model.omega.items() if k.startswith("featurizer.")}
        with torch.no_grad():
            return torch.cat(list(self.model.prepared.blocks(local, inputs.double()).values()), 1).numpy()

    def theta(self, log_weights: np.ndarray | None = None, targets: np.ndarray | None = None) -> np.ndarray:
        w2 = np.exp(2 * (self.log_weights if log_weights is None else log_weights))
        Y = self.Y if targets is None else targets
        return np.linalg.solve(self.X.T @ (w2[:, None] * self.X) + self.penalty, self.X.T @ (w2[:, None] * Y))

    def without(self, *rows: int) -> np.ndarray:
        log_weights = self.log_weights.copy()
        log_weights[list(rows)] = -np.inf
        return self.theta(log_weights)

    def loss(self, theta: np.ndarray, rows: slice | list[int] = slice(None)) -> float:
        """The mean over these validation rows of their losses, each as often as it counts beside the others."""
        local = {k.removeprefix("loss."): v for k, v in self.model.omega.items() if k.startswith("loss.")}
        outputs = torch.from_numpy(self.V @ theta)
        pairs = zip(outputs.split(1), self.targets.split(1), strict=True)
        alone = np.array([float(self.model.loss.value(*pair, local)) for pair in pairs])
        return float((self.shares * alone)[rows].mean())

    def slope(self, row: int, loss_rows: slice | list[int] = slice(None), step: float = 1e-4) -> float:
        """−∂ψ/∂ω_i by central differences of whole solves."""
        moved = []
        for sign in (1, -1):
            log_weights = self.log_weights.copy()
            log_weights[row] += sign * step
            moved.append(self.loss(self.theta(log_weights), loss_rows))
        return -(moved[0] - moved[1]) / (2 * step)
