"""The pieces that a user chooses: frozen descriptions whose ``repr`` is the code that makes them.

Entries of ω stand behind the part that they belong to: ``featurizer.``, with the name of the block in a Concat or of
the member in a Chain, ``regularizer.``, with the name of the member of a Stack, ``data_weights.`` and ``loss.``.

================= ====================================================== ===============================================
piece             formula                                                entries of ω (d inputs, n features, k rows)
================= ====================================================== ===============================================
Identity          φ(x) = x                                               none
Constant          φ(x) = 1                                               none
Scale             φ(x) = e^s (x − b), starts at standardisation          ``log_scale``, ``shift`` (d,)
PowerTransform    φ(x) = sgn(x − c) ∣x − c∣^γ, starts at x − mean        ``centre``, ``exponent`` (d,), scalar if shared
Spline            φ(x) = Σ_p C_{i,p} s^p on interval i, continuous       ``coefficients`` (d, intervals, degree + 1)
                  derivatives at the knots; or φ = B-spline basis        none
LowRank           φ(x) = Tᵀ x, starts at leading singular vectors        ``T`` (d, r)
SelectFeatures    φ(x) = a ⊙ x, a ∈ {0, 1}^d with ⌊f d⌋ ones             ``mask`` (d,)
KMeansArchetypes  softmax(−‖x − c‖ e^{−σ}) or exp(−‖x − c‖² e^{−2σ} / 2) ``log_scale``
RandomPatches     mean over cells of max(0, x ∗ p), p training patches   none
FromModule        φ(x) = module(x), any torch module                     its parameters by their names
Concat            φ = (φ₁, φ₂, …), named blocks                          those of its members
Chain             φ = φ_l ∘ … ∘ φ₂ ∘ φ₁, one block                       those of its members
Ridge             e^{2ω} ‖θ‖²                                            ``log_weight``
Diagonal          Σ_j e^{2ω_j} ‖θ_j‖²                                    ``log_weight`` (n,)
Smooth            e^{2ω} ‖D θ‖², D the incidence matrix of a Graph       ``log_weight``
Matrix            e^{2ω} ‖R θ‖², R constant                              ``log_weight``
Stack             the sum of named regularizers                          those of its members
Graph             Σ_{(a,b)} ‖θ_a − θ_b‖² over its edges, for Smooth      none
LogWeights        e^{2ω_i} on training row i                             ``log_weight`` (k,)
GroupWeights      e^{2ω_g} on training rows of group g                   ``log_weight`` (groups,)
FixedWeights      w_i on training row i                                  none
Times             c_i times what other weights give training row i       those of the other weights
SquaredError      mean ‖ŷ − y‖²                                          none
Huber             mean Σ_j r_j² if ∣r_j∣ ≤ M, else M (2∣r_j∣ − M)        none
Bisquare          mean Σ_j (M²/6)(1 − (1 − (r_j/M)²)₊³)                  none
CrossEntropy      mean −log softmax(e^τ ŷ)_y                             ``log_temperature`` if tuned
CustomLoss        f(ŷ, y), any torch function                            none
SumSquares        λ ‖ω‖²                                                 penalises one
AbsoluteValue     λ ‖ω‖₁                                                 penalises one
ZeroSum           0 where 1ᵀω = 0, else +∞                               constrains one
Box               0 where low ≤ ω ≤ high, else +∞                        constrains one
Cardinality       0 for ω ∈ {0, 1}ⁿ with ⌊f n⌋ ones, else +∞             constrains one
Frozen            holds ω at its start                                   holds one
Sum               r₁ + r₂ + …, where the joint prox is known             those of its terms
Memory            rows and features held on the device                   none
Chunks            features of some rows held at a time                   none
Dask              rows divided between the workers of a cluster          none
================= ====================================================== ===============================================
"""

from __future__ import annotations

from . import graphs, recipes
from .choices import EarlyStopping
from .data_weights import FixedWeights, GroupWeights, LogWeights, Times
from .engines import Chunks, Dask, Memory
from .featurizers import (
    Chain,
    Concat,
    Constant,
    FromModule,
    Identity,
    KMeansArchetypes,
    LowRank,
    PowerTransform,
    RandomPatches,
    Scale,
    SelectFeatures,
    Spline,
    register_module,
)
from .graph import Graph
from .hyper_penalties import AbsoluteValue, Box, Cardinality, Frozen, Sum, SumSquares, ZeroSum
from .losses import Bisquare, CrossEntropy, CustomLoss, Huber, SquaredError, register_loss
from .recipe import Recipe
from .regularizers import Diagonal, Matrix, Ridge, Smooth, Stack

__all__ = [
    "AbsoluteValue",
    "Bisquare",
    "Box",
    "Cardinality",
    "Chain",
    "Chunks",
    "Concat",
    "Constant",
    "CrossEntropy",
    "CustomLoss",
    "Dask",
    "Diagonal",
    "EarlyStopping",
    "FixedWeights",
    "FromModule",
    "Frozen",
    "Graph",
    "GroupWeights",
    "Huber",
    "Identity",
    "KMeansArchetypes",
    "LogWeights",
    "LowRank",
    "Matrix",
    "Memory",
    "PowerTransform",
    "RandomPatches",
    "Recipe",
    "Ridge",
    "Scale",
    "SelectFeatures",
    "Smooth",
    "Spline",
    "SquaredError",
    "Stack",
    "Sum",
    "SumSquares",
    "Times",
    "ZeroSum",
    "graphs",
    "recipes",
    "register_loss",
    "register_module",
]
