"""Least squares under linear equality constraints, with multipliers and gradients of both."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .checks import LARGEST, check_matrix, check_right, is_dense, refuse_transforms, refuse_unusable
from .constraints import ScaledRows, row_units
from .gram import unit
from .implicit import solve_system
from .kkt import IterativeKKT
from .matrices import as_operator
from .nullspace import DenseKKT
from .operators import LinearOperator, check_products, refuse_chained
from .outcome import Outcome, Reason, SolveError
from .solvers import MINRES

__all__ = ["constrained_least_squares"]


def constrained_least_squares(
    A: Any, B: Tensor, C: Any, D: Tensor, *, solver: MINRES | None = None
) -> tuple[Tensor, Tensor]:
    r"""Solve θ = argmin ‖A θ − B‖²_F subject to C θ = D; return θ and its multipliers ν.

    They solve M [θ; ν] = [AᵀB; D] with M = [[AᵀA, Cᵀ], [C, 0]]: ν is the multiplier of C θ − D for the objective
    ½‖A θ − B‖², half of that of ‖A θ − B‖². With M [H₁; H₂] = [∇_θψ; ∇_νψ] the gradients of a loss ψ(θ, ν) are

        ∇_A ψ = (B − Aθ) H₁ᵀ − A H₁ θᵀ,   ∇_B ψ = A H₁,   ∇_C ψ = −ν H₁ᵀ − H₂ θᵀ,   ∇_D ψ = H₂.

    Arithmetic is float64 whatever comes in.

    Parameters
    ----------
    A : Tensor, scipy sparse matrix or LinearOperator, (k, n)
        As for `least_squares`; k may be less than n when C determines the rest.
    B : Tensor (k, m) or (k,)
        Right-hand sides.
    C : Tensor, scipy sparse matrix or LinearOperator, (q, n)
        Constraints, with independent rows.
    D : Tensor (q, m) or (q,)
        What C θ must be; of one column when B is.
    solver : MINRES, optional
        None eliminates what C determines and factors the rest when A and C are dense, and is MINRES() when one is not.

    Returns
    -------
    tuple of Tensor (n, m) and (q, m), or (n,) and (q,)
        θ and ν, of B's dtype.

    Raises
    ------
    ValueError
        When shapes, dtypes, devices or solver do not fit.
    SolveError
        When rows of C repeat or contradict others (``.outcome.rows`` and its sentence name them), when A and C
        together do not determine θ, when a NaN or an infinity comes in, or when MINRES does not converge.

    Notes
    -----
    Derivatives of the first and second order; a third raises RuntimeError. Works under ``torch.autograd``, and
    raises ValueError inside ``torch.func`` transforms.

    Barratt and Boyd, "Least squares auto-tuning" (2019), appendix A; signs and the scale of ν as above.

    Examples
    --------
    The point of the line θ₁ + θ₂ = 2 next to (3, 1):

    >>> import torch
    >>> eye = torch.eye(2, dtype=torch.float64)
    >>> B, C, D = (torch.tensor(t, dtype=torch.float64) for t in ([3.0, 1.0], [[1.0, 1.0]], [2.0]))
    >>> theta, nu = constrained_least_squares(eye, B, C, D)
    >>> [round(t, 6) for t in (*theta.tolist(), *nu.tolist())]
    [2.0, 0.0, 1.0]
    """
    _check(A, B, C, D, solver)
    a, b = (unit(A), unit(B)) if is_dense(A) else (1.0, 1.0)
    if not a == b == 1:  # AᵀB alone may leave the range of floats
        theta, nu = constrained_least_squares(a * A, b * B, C, b / a * D, solver=solver)
        return theta * a / b, nu / a / b
    right, level = ((t if t.ndim == 2 else t[:, None]).double() for t in (B, D))
    operators = [as_operator(matrix, B.device, name) for matrix, name in ((A, "A"), (C, "C"))]
    for matrix, name in ((A, "A"), (C, "C")):
        if isinstance(matrix, LinearOperator):
            check_products(matrix, right, name)
    refuse_chained(operators)
    refuse_unusable(right, "B")
    refuse_unusable(level, "D")
    dense = solver is None and is_dense(A) and is_dense(C)
    # C θ = D is the same in any unit of its rows, and so solved in one in which they have squares.
    units = row_units(C if is_dense(C) else operators[1], level)
    if units is not None:
        level = units * level
        _refuse_far(level)
    stacked = torch.cat([operators[0].rmatvec(right), level])
    if dense:
        rows = C.double() if units is None else units * C.double()
        system: DenseKKT | IterativeKKT = DenseKKT(A.double(), rows, level)
    else:
        constraints = operators[1] if units is None else ScaledRows(operators[1], units)
        system = IterativeKKT(operators[0], constraints, level, solver or MINRES())
    solution = solve_system(system, stacked, system.fit)
    theta, nu = solution.split([A.shape[1], C.shape[0]])
    theta, nu = (part.to(B.dtype) for part in (theta, nu if units is None else units * nu))
    return (theta, nu) if B.ndim == 2 else (theta[:, 0], nu[:, 0])


def _refuse_far(level: Tensor) -> None:
    """Raise SolveError for a row whose ``level`` (q, m) is far from one in the unit in which its row of C is near."""
    far = ~(level.detach().abs() <= LARGEST)
    if far.any():
        row = int(far.any(1).to(torch.int8).argmax())
        sentence = (
            f"Row {row} of D is so much larger than that of C that θ would hold numbers of more than {LARGEST:.0e} in "
            "size: divide it by a constant, or multiply the row of C."
        )
        raise SolveError(Outcome(Reason.NOT_FINITE, sentence, rows=(row,)))


def _check(A: Any, B: Any, C: Any, D: Any, solver: Any) -> None:
    refuse_transforms()
    check_matrix(A, "A")
    check_matrix(C, "C")
    check_right(A, B)
    check_right(C, D, ("C", "D"))
    if solver is not None and not isinstance(solver, MINRES):
        raise ValueError(f"solver is {solver!r}: expected MINRES() or None, which factors dense A and C.")
    if A.shape[1] != C.shape[1]:
        raise ValueError(f"A has {A.shape[1]} columns and C has {C.shape[1]}: expected the same number of columns.")
    if B.ndim != D.ndim or B.shape[1:] != D.shape[1:]:
        shapes = f"B of shape {tuple(B.shape)} and D of shape {tuple(D.shape)}"
        raise ValueError(f"{shapes} do not fit: expected as many columns in D as in B.")
    if B.dtype != D.dtype or B.device != D.device:
        raise ValueError(
            f"B is {B.dtype} on {B.device} and D is {D.dtype} on {D.device}: expected the same, use .to(…)."
        )
