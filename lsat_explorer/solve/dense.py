"""Dense least squares, differentiable to every order."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .factor import factorize
from .gram import gram
from .outcome import SolveError

__all__ = ["least_squares"]


class _NormalSolve(torch.autograd.Function):
    """H = (AᵀA)⁻¹ ``right``, the factor given; its backward pass calls itself, so derivatives of any order hold.

    With C = (AᵀA)⁻¹ ∇_H:  ∇_right = C,  ∇_A = −A (C Hᵀ + H Cᵀ).
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(A: Tensor, right: Tensor, lower: Tensor, scale: Tensor) -> Tensor:
        return torch.cholesky_solve(right * scale[:, None], lower) * scale[:, None]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], inputs[2], inputs[3], output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        A, lower, scale, solution = ctx.saved_tensors
        C = _NormalSolve.apply(A, gradients[0], lower, scale)
        grad_A = None
        if ctx.needs_input_grad[0]:
            grad_A = -(A @ C) @ solution.mT - (A @ solution) @ C.mT
        return grad_A, C, None, None


def least_squares(A: Tensor, B: Tensor) -> Tensor:
    r"""Solve θ = argmin ‖A θ − B‖²_F, differentiable in A and B to every order.

    With C = (AᵀA)⁻¹ ∇_θψ the gradients are ∇_A ψ = (B − Aθ) Cᵀ − A C θᵀ and ∇_B ψ = A C. All products are float64
    whatever comes in; the (n, n) factor is made once and serves all derivatives.

    Parameters
    ----------
    A : Tensor (k, n)
        Floating point, k ≥ n, independent columns. Regularize by stacking rows under it, or use
        `lsat_explorer.Problem`, which never stacks.
    B : Tensor (k, m) or (k,)
        Right-hand sides, of the dtype and on the device of A.

    Returns
    -------
    Tensor (n, m) or (n,)
        The solution θ, of A's dtype.

    Raises
    ------
    ValueError
        When shapes, dtypes or devices do not fit.
    SolveError
        When A holds a NaN or an infinity, or its columns are dependent; ``.outcome`` says which.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), appendix A.

    Examples
    --------
    >>> import torch
    >>> A = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    >>> theta = least_squares(A, torch.tensor([1.0, 3.0, 5.0], dtype=torch.float64))
    >>> [round(t, 6) for t in theta.tolist()]
    [1.0, 2.0]
    """
    _check(A, B)
    rows, right = A.double(), (B if B.ndim == 2 else B[:, None]).double()
    factor = factorize(gram(rows.detach()))
    if not factor.outcome.ok:
        raise SolveError(factor.outcome)
    # One refinement, itself differentiable: its correction is zero in exact arithmetic.
    theta = _NormalSolve.apply(rows, rows.mT @ right, factor.lower, factor.scale)
    theta = theta + _NormalSolve.apply(rows, rows.mT @ (right - rows @ theta), factor.lower, factor.scale)
    return (theta if B.ndim == 2 else theta[:, 0]).to(A.dtype)


def _check(A: Tensor, B: Tensor) -> None:
    if not (isinstance(A, Tensor) and isinstance(B, Tensor)):
        raise ValueError(f"A and B must be torch tensors, got {type(A).__name__} and {type(B).__name__}: convert them.")
    if A.ndim != 2 or B.ndim not in (1, 2) or A.shape[0] != B.shape[0]:
        shapes = f"A of shape {tuple(A.shape)} and B of shape {tuple(B.shape)}"
        raise ValueError(f"{shapes} do not fit: expected (k, n) with (k, m) or (k,).")
    if not A.is_floating_point() or A.dtype != B.dtype:
        raise ValueError(
            f"A is {A.dtype} and B is {B.dtype}: expected one floating point dtype, convert with .to(dtype)."
        )
    if A.device != B.device:
        raise ValueError(f"A is on {A.device} and B on {B.device}: move one with .to(device).")
    if A.shape[0] < A.shape[1]:
        raise ValueError(
            f"A has {A.shape[0]} rows and {A.shape[1]} columns: θ is not determined, add regularizer rows."
        )
