"""Examples of every registered piece, so that a new kind is tested the day it is registered."""

from __future__ import annotations

import lsat_explorer as lsat
from lsat_explorer.model.piece import REGISTRY, Piece

EXAMPLES: dict[str, list[Piece]] = {
    "Box": [lsat.Box(-1.0, 2.0), lsat.Box(None, 0.5), lsat.Box()],
    "Concat": [lsat.Concat(a=lsat.Identity(), b=lsat.Concat(c=lsat.Constant()))],
    "Constant": [lsat.Constant()],
    "CrossEntropy": [lsat.CrossEntropy(), lsat.CrossEntropy(temperature=True)],
    "Frozen": [lsat.Frozen()],
    "Graph": [lsat.graphs.grid(3, 4), lsat.graphs.path(5), lsat.Graph(3, [(2, 0), (1, 2)], names=["a", "b", "<i>"])],
    "HeldOut": [lsat.HeldOut()],
    "Identity": [lsat.Identity()],
    "KMeansArchetypes": [lsat.KMeansArchetypes(), lsat.KMeansArchetypes(per_class=2, log_scale=-1.5, n_init=1)],
    "LogWeights": [lsat.LogWeights()],
    "ProximalGradient": [lsat.ProximalGradient(), lsat.ProximalGradient(step=0.1, max_iterations=7)],
    "Ridge": [lsat.Ridge(), lsat.Ridge(block="a", log_weight=-2.0)],
    "Scale": [lsat.Scale(), lsat.Scale(tuned=False)],
    "Smooth": [lsat.Smooth(lsat.graphs.path(5)), lsat.Smooth(lsat.Graph(3, []), block="b", log_weight=1.0)],
    "SquaredError": [lsat.SquaredError()],
    "Stack": [lsat.Stack(one=lsat.Ridge(), two=lsat.Stack(three=lsat.Ridge(block="a")))],
    "Sum": [lsat.SumSquares(0.1) + lsat.ZeroSum(), lsat.Box(-0.5, 0.5) + lsat.SumSquares(2.0)],
    "SumSquares": [lsat.SumSquares(0.25), lsat.SumSquares(0.0)],
    "ZeroSum": [lsat.ZeroSum()],
}

ALL = [piece for kind in REGISTRY for piece in EXAMPLES.get(kind, [])]
