"""Examples of every registered piece, so that a new kind is tested the day it is registered.

Featurizers fit inputs of 12 columns, which may be images of 3 × 4. Regularizers fit a Concat of blocks a and b of 12
features each. Data weights fit 45 training rows of 3 classes.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from lsat_explorer import model as m
from lsat_explorer.model.choices import Criterion, Method
from lsat_explorer.model.piece import REGISTRY, Piece
from lsat_explorer.tune import Counted, KFold

COLUMNS, ROWS = 12, 45


def small_network(d: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(d, 5), torch.nn.Tanh(), torch.nn.BatchNorm1d(5), torch.nn.Dropout())


m.register_module("small network", small_network)
m.register_module("a linear map", lambda d: torch.nn.Linear(d, 4, bias=False))
m.register_loss("log cosh", lambda predictions, targets: (predictions - targets).cosh().log().sum(1).mean())

EXAMPLES: dict[str, list[Piece]] = {
    "AbsoluteValue": [m.AbsoluteValue(0.5), m.AbsoluteValue(0.0)],
    "Bisquare": [m.Bisquare(), m.Bisquare(threshold=2.5)],
    "Box": [m.Box(-1.0, 2.0), m.Box(None, 0.5), m.Box()],
    "Cardinality": [m.Cardinality(), m.Cardinality(0.2), m.Cardinality(1.0)],
    "Chain": [
        m.Chain(m.Scale(), m.PowerTransform(shared=True)),
        m.Chain(m.Scale(tuned=False), m.LowRank(4), m.Scale(), m.KMeansArchetypes(per_class=2, n_init=1)),
        m.Chain(first=m.Scale(), basis=m.Spline(knots=2, basis="bspline")),
        m.Chain(m.Concat(a=m.LowRank(3), b=m.Chain(m.Scale(), m.RandomPatches((3, 4), patches=2, size=2, cells=1)))),
        m.Chain(m.LowRank(5), m.Concat(a=m.Identity(), k=m.KMeansArchetypes(2, kernel="gaussian", n_init=1))),
        m.Chain(m.Scale(), m.RandomPatches((3, 4), patches=4, size=2, cells=2)),
        m.Chain(m.Scale(), m.Spline(knots=2)),
    ],
    "Concat": [m.Concat(a=m.Identity(), b=m.Concat(c=m.Constant()))],
    "Constant": [m.Constant()],
    "Counted": [Counted(KFold(3), np.linspace(0.5, 2.0, ROWS))],
    "CrossEntropy": [m.CrossEntropy(), m.CrossEntropy(temperature=True)],
    "CustomLoss": [m.CustomLoss("log cosh")],
    "Diagonal": [m.Diagonal(), m.Diagonal(block="b", log_weight=-1.0)],
    "Memory": [m.Memory()],
    "Chunks": [m.Chunks(), m.Chunks(rows=7), m.Chunks(memory="1.5 GB")],
    "Dask": [m.Dask(), m.Dask("tcp://10.0.0.1:8786"), m.Dask("tcp://10.0.0.1:8786", memory="1 GB")],
    "EarlyStopping": [m.EarlyStopping(), m.EarlyStopping(patience=3)],
    "FixedWeights": [m.FixedWeights([0, *np.linspace(0.5, 2.0, ROWS - 1)])],
    "FromModule": [m.FromModule("small network"), m.FromModule("a linear map")],
    "Frozen": [m.Frozen()],
    "Graph": [
        m.graphs.grid(3, 4),
        m.graphs.grid(3, 4, neighbours=8),
        m.graphs.grid(3, 4, vertical=False),
        m.graphs.path(5),
        m.graphs.ring(4),
        m.graphs.nearest_neighbours(np.random.default_rng(0).normal(size=(20, 5)), 2),
        m.Graph(3, [(2, 0), (1, 2)], names=["a", "b", "<i>"]),
    ],
    "GroupWeights": [
        m.GroupWeights(),
        m.GroupWeights([i % 4 for i in range(ROWS)]),
        m.GroupWeights(["a", "b", "b"] * 15),
    ],
    "Huber": [m.Huber(), m.Huber(threshold=0.3)],
    "Identity": [m.Identity()],
    "KMeansArchetypes": [
        m.KMeansArchetypes(per_class=3, n_init=2),
        m.KMeansArchetypes(per_class=2, log_scale=0.5, n_init=1),
        m.KMeansArchetypes(per_class=2, kernel="gaussian", n_init=1),
        m.KMeansArchetypes(kernel="gaussian", total=5, n_init=1),
    ],
    "LogWeights": [m.LogWeights()],
    "LowRank": [m.LowRank(1), m.LowRank(4)],
    "Matrix": [
        m.Matrix([[1, -2, 1] + [0] * 9, [0, 1.5] + [0] * 10], block="a"),
        m.Matrix(sparse.coo_array(([1.0, -1.0], ([0, 0], [3, 20])), shape=(2, 24)), log_weight=1.0),
    ],
    "PowerTransform": [
        m.PowerTransform(),
        m.PowerTransform(shared=True),
        m.PowerTransform(shared=True, centre=0.4, exponent=1.5),
        m.PowerTransform(centre=(None, *range(COLUMNS - 1)), exponent=(0.5, *[1.25] * (COLUMNS - 1))),
    ],
    "RandomPatches": [m.RandomPatches((3, 4), patches=5, size=2, cells=2), m.RandomPatches((2, 2, 3), 3, 1, 1)],
    "Ridge": [m.Ridge(), m.Ridge(block="a", log_weight=-2.0)],
    "Scale": [m.Scale(), m.Scale(tuned=False)],
    "SelectFeatures": [m.SelectFeatures(), m.SelectFeatures(fraction=0.25)],
    "Smooth": [
        m.Smooth(m.graphs.path(12), block="a"),
        m.Smooth(m.graphs.grid(3, 4, horizontal=False), block="b"),
        m.Smooth(m.Graph(12, []), block="b", log_weight=1.0),
    ],
    "Spline": [
        m.Spline(),
        m.Spline(knots=2, degree=1),
        m.Spline(knots=3, degree=3, continuity=0),
        m.Spline(knots=2, degree=2, basis="bspline"),
        m.Spline(knots=2, degree=3, continuity=1, basis="bspline"),
        m.Spline(knots=(0.1, 0.45, 0.9), degree=2),
    ],
    "SquaredError": [m.SquaredError()],
    "Stack": [
        m.Stack(one=m.Ridge(), two=m.Stack(three=m.Ridge(block="a"))),
        m.Stack(
            across=m.Smooth(m.graphs.grid(3, 4, vertical=False), block="a"),
            down=m.Smooth(m.graphs.grid(3, 4, horizontal=False), block="a"),
            each=m.Diagonal(block="b"),
        ),
    ],
    "Sum": [
        m.SumSquares(0.1) + m.ZeroSum(),
        m.Box(-0.5, 0.5) + m.SumSquares(2.0),
        m.AbsoluteValue(0.3) + m.SumSquares(0.2),
        m.AbsoluteValue(0.3) + m.Box(-0.4, 0.9),
        m.AbsoluteValue(0.1) + m.SumSquares(0.2) + m.Box(-0.2, None),
        m.ZeroSum() + m.Box(-0.5, 0.3),
        m.ZeroSum() + m.Box(-0.2, None),
        m.ZeroSum() + m.AbsoluteValue(0.3),
        m.ZeroSum() + m.SumSquares(0.4) + m.Box(0.0, 2.0),
        m.ZeroSum() + m.AbsoluteValue(0.2) + m.SumSquares(0.4) + m.Box(-0.3, 0.2),
    ],
    "SumSquares": [m.SumSquares(0.25), m.SumSquares(0.0)],
    "Times": [m.Times(m.GroupWeights(), np.linspace(0.5, 2.0, ROWS))],
    "ZeroSum": [m.ZeroSum()],
}

for _name, _kind in REGISTRY.items():
    if issubclass(_kind, Criterion | Method) and _name not in EXAMPLES:
        EXAMPLES[_name] = [_kind()]

ALL = [piece for kind in REGISTRY for piece in EXAMPLES.get(kind, [])]


def examples(kind: type[Piece]) -> list[Piece]:
    """Return the examples of one kind of piece, such as all featurizers."""
    return [piece for piece in ALL if isinstance(piece, kind)]
