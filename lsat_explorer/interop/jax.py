"""Least squares in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

__all__ = ["lstsq"]


def lstsq(A: Any, B: Any) -> Any:
    r"""Solve θ = argmin ‖A θ − B‖²_F for a dense A, differentiable in A and B.

    With C = (AᵀA)⁻¹ ∇_θψ the gradients are ∇_A ψ = (B − Aθ) Cᵀ − A C θᵀ and ∇_B ψ = A C; the factor R of A = QR is made
    once and serves both. It works under ``jax.jit``, ``jax.vmap`` and ``jax.grad``, not under ``jax.jvp``.

    Parameters
    ----------
    A : array (k, n)
        k ≥ n, independent columns: where they are dependent θ is not finite. Regularize by rows stacked under it.
    B : array (k, m) or (k,)
        Right-hand sides. Arithmetic has the type of A and B: turn on ``jax_enable_x64`` for float64.

    Returns
    -------
    array (n, m) or (n,)

    Raises
    ------
    ValueError
        When the shapes do not fit.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), appendix A. `lsat_explorer.least_squares` is the same for
    torch, with sparse matrices, operators and errors that name what is singular.
    """
    A, B = jnp.asarray(A), jnp.asarray(B)
    if A.ndim != 2 or B.ndim not in (1, 2) or A.shape[0] != B.shape[0] or A.shape[0] < A.shape[1]:
        raise ValueError(
            f"A of shape {A.shape} and B of shape {B.shape} do not fit: expected (k, n), k ≥ n, with (k, m) or (k,)."
        )
    kind = jnp.result_type(A, B, jnp.float32)
    theta = _solve(A.astype(kind), B.astype(kind).reshape(len(B), -1))
    return theta if B.ndim == 2 else theta[:, 0]


@jax.custom_vjp
def _solve(A: Any, B: Any) -> Any:
    return _forward(A, B)[0]


def _forward(A: Any, B: Any) -> tuple[Any, tuple[Any, ...]]:
    Q, R = jnp.linalg.qr(A)
    theta = solve_triangular(R, Q.T @ B)
    return theta, (A, B, R, theta)


def _backward(kept: tuple[Any, ...], slope: Any) -> tuple[Any, Any]:
    A, B, R, theta = kept
    C = solve_triangular(R, solve_triangular(R, slope, trans="T"))
    AC = A @ C
    return (B - A @ theta) @ C.T - AC @ theta.T, AC


_solve.defvjp(_forward, _backward)
