"""The dense solve by a factor of A or AᵀA, as Functions differentiable to every order and usable in torch.func."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .checks import refuse_nested_forward_mode, refuse_not_finite
from .factor import factorize
from .gram import column_units, gram
from .outcome import Reason, SolveError
from .qr import fit_qr
from .solvers import QR, DenseSolver

_ADVICE = "A dense A that is only close to dependent can be solved with least_squares(A, B, solver=QR())."

__all__ = ["factor_gram", "fit_dense", "solve_gram"]


class _Fit(torch.autograd.Function):
    """θ = argmin ‖Aθ − B‖², and the factor (lower, scale) of AᵀA = D⁻¹LLᵀD⁻¹ for its derivatives.

    With C = (AᵀA)⁻¹ ∇_θ:  ∇_A = (B − Aθ) Cᵀ − A C θᵀ,  ∇_B = A C. Leading dimensions of A and B are a batch.
    """

    @staticmethod
    def forward(A: Tensor, B: Tensor, solver: DenseSolver) -> tuple[Tensor, Tensor, Tensor]:
        refuse_not_finite(A, "A")
        refuse_not_finite(B, "B")
        if isinstance(solver, QR):
            return fit_qr(A, B)
        lower, scale = _factor_cholesky(A)
        theta = solve_gram(lower, scale, A.mT @ B)
        return theta + solve_gram(lower, scale, A.mT @ (B - A @ theta)), lower, scale

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        theta, lower, scale = output
        ctx.mark_non_differentiable(lower, scale)
        ctx.save_for_backward(inputs[0], inputs[1], theta, lower, scale)
        ctx.save_for_forward(inputs[0], inputs[1], theta, lower, scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        A, B, theta, lower, scale = ctx.saved_tensors
        C = _NormalSolve.apply(A, gradients[0], lower, scale)
        AC = A @ C
        grad_A = (B - A @ theta) @ C.mT - AC @ theta.mT if ctx.needs_input_grad[0] else None
        return grad_A, AC, None

    @staticmethod
    def jvp(ctx: Any, dA: Tensor | None, dB: Tensor | None, _: None) -> tuple[Tensor, None, None]:
        A, B, theta, lower, scale = ctx.saved_tensors
        right = torch.zeros_like(theta)
        if dA is not None:
            right = right + dA.mT @ (B - A @ theta) - A.mT @ (dA @ theta)
        if dB is not None:
            right = right + A.mT @ dB
        return _NormalSolve.apply(A, right, lower, scale), None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], A: Tensor, B: Tensor, solver: DenseSolver
    ) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[int, int | None, int | None]]:
        if in_dims[0] is None:
            # One A: the batch becomes further columns, and A is factored once.
            theta, lower, scale = _Fit.apply(A, _into_columns(B, in_dims[1]), solver)
            return (_out_of_columns(theta, B, in_dims[1]), lower, scale), (0, None, None)
        return _Fit.apply(*_in_front(info, in_dims[:2], A, B), solver), (0, 0, 0)


class _NormalSolve(torch.autograd.Function):
    """H = (AᵀA)⁻¹ ``right``, the factor given; its backward pass calls itself, so derivatives of any order hold.

    With C = (AᵀA)⁻¹ ∇_H:  ∇_right = C,  ∇_A = −A (C Hᵀ + H Cᵀ).
    """

    @staticmethod
    def forward(A: Tensor, right: Tensor, lower: Tensor, scale: Tensor) -> Tensor:
        return solve_gram(lower, scale, right)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        A, _, lower, scale = inputs
        ctx.save_for_backward(A, lower, scale, output)
        ctx.save_for_forward(A, lower, scale, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        A, lower, scale, solution = ctx.saved_tensors
        C = _NormalSolve.apply(A, gradients[0], lower, scale)
        grad_A = None
        if ctx.needs_input_grad[0]:
            grad_A = -(A @ C) @ solution.mT - (A @ solution) @ C.mT
        return grad_A, C, None, None

    @staticmethod
    def jvp(ctx: Any, dA: Tensor | None, dright: Tensor | None, *_: None) -> Tensor:
        A, lower, scale, solution = ctx.saved_tensors
        right = torch.zeros_like(solution) if dright is None else dright
        if dA is not None:
            right = right - dA.mT @ (A @ solution) - A.mT @ (dA @ solution)
        return _NormalSolve.apply(A, right, lower, scale)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, int]:
        A, right, lower, scale = tensors
        if in_dims[0] is None and in_dims[2] is None:
            solution = _NormalSolve.apply(A, _into_columns(right, in_dims[1]), lower, scale)
            return _out_of_columns(solution, right, in_dims[1]), 0
        return _NormalSolve.apply(*_in_front(info, in_dims, *tensors)), 0


def fit_dense(A: Tensor, B: Tensor, solver: DenseSolver) -> Tensor:
    """Return θ (n, m) = argmin ‖Aθ − B‖² for float64 A (k, n) and B (k, m), differentiable to every order."""
    refuse_nested_forward_mode()
    theta: Tensor = _Fit.apply(A, B, solver)[0]
    return theta


def factor_gram(G: Tensor) -> tuple[Tensor, Tensor]:
    """Return the Cholesky factor and the scale of G (n, n), or raise SolveError with what to do."""
    factor = factorize(G)
    outcome = factor.outcome
    if outcome.reason is Reason.RANK_DEFICIENT:
        outcome = replace(outcome, sentence=f"{outcome.sentence} {_ADVICE}")
    if not outcome.ok:
        raise SolveError(outcome)
    return factor.lower, factor.scale


def _factor_cholesky(A: Tensor) -> tuple[Tensor, Tensor]:
    """Factor AᵀA for each A (…, k, n) of a batch."""
    if A.ndim == 2:
        units = column_units(A)
        if units is None:
            return factor_gram(gram(A))
        lower, scale = factor_gram(gram(A * units))
        return lower, scale * units
    if not len(A):
        *batch, _, n = A.shape
        return A.new_zeros(*batch, n, n), A.new_ones(*batch, n)
    factors = [_factor_cholesky(one) for one in A]
    return torch.stack([lower for lower, _ in factors]), torch.stack([scale for _, scale in factors])


def solve_gram(lower: Tensor, scale: Tensor, right: Tensor) -> Tensor:
    """Return G⁻¹ ``right`` from the factor of G = D⁻¹LLᵀD⁻¹, each with the same leading dimensions."""
    return torch.cholesky_solve(right * scale[..., None], lower) * scale[..., None]


def _into_columns(B: Tensor, dim: int | None) -> Tensor:
    """Return a batch of (…, k, m) side by side, (…, k, b m)."""
    assert dim is not None  # vmap calls only where an argument is batched
    return B.movedim(dim, -2).flatten(-2)


def _out_of_columns(theta: Tensor, B: Tensor, dim: int | None) -> Tensor:
    """Return θ (…, n, b m) as a batch, of which ``B`` was one along ``dim``."""
    assert dim is not None
    return theta.unflatten(-1, B.movedim(dim, -2).shape[-2:]).movedim(-2, 0)


def _in_front(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> list[Tensor]:
    """Return the tensors with the batch as the first dimension, those without one repeated."""
    return [
        t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
        for t, dim in zip(tensors, in_dims, strict=True)
    ]
