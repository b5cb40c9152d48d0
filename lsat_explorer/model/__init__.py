"""The pieces that a user chooses: frozen descriptions whose ``repr`` is the code that makes them.

=================== ============================================================ ====================================
piece               formula                                                      entries of ω
=================== ============================================================ ====================================
Identity            φ(x) = x                                                     none
Scale               φ(x) = e^s (x − b), starts at standardisation                ``log_scale``, ``shift`` (d,)
Constant            φ(x) = 1                                                     none
KMeansArchetypes    softmax(−‖x − c‖ e^{−σ}) or exp(−‖x − c‖² e^{−2σ} / 2)       ``log_scale``
Concat              φ = (φ₁, φ₂, …), named blocks                                those of its members
Ridge               e^{2ω} ‖θ‖²                                                  ``log_weight``
Smooth              e^{2ω} ‖D θ‖², D the incidence matrix of a graph             ``log_weight``
Stack               the sum of named regularizers                                those of its members
LogWeights          e^{2ω_i} on training row i                                   ``data_weights.log_weight`` (k,)
SquaredError        mean ‖ŷ − y‖²                                                none
CrossEntropy        mean −log softmax(e^τ ŷ)_y                                   ``loss.log_temperature`` if tuned
SumSquares          λ ‖ω‖²
ZeroSum             0 where 1ᵀω = 0, else +∞
Box                 0 where low ≤ ω ≤ high, else +∞
Frozen              holds ω at its start
=================== ============================================================ ====================================
"""

from __future__ import annotations

from . import graphs, recipes
from .data_weights import LogWeights
from .featurizers import Concat, Constant, Identity, KMeansArchetypes, Scale
from .graphs import Graph
from .hyper_penalties import Box, Frozen, SumSquares, ZeroSum
from .losses import CrossEntropy, SquaredError
from .recipe import Recipe
from .regularizers import Ridge, Smooth, Stack

__all__ = [
    "Box",
    "Concat",
    "Constant",
    "CrossEntropy",
    "Frozen",
    "Graph",
    "Identity",
    "KMeansArchetypes",
    "LogWeights",
    "Recipe",
    "Ridge",
    "Scale",
    "Smooth",
    "SquaredError",
    "Stack",
    "SumSquares",
    "ZeroSum",
    "graphs",
    "recipes",
]
