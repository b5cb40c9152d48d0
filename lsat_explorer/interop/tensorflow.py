"""Least squares in TensorFlow, the framework of the paper's second implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

__all__ = ["lstsq"]


def lstsq(A: Any, B: Any) -> Any:
    r"""Solve θ = argmin ‖A θ − B‖²_F for a dense A, differentiable in A and B.

    With C = (AᵀA)⁻¹ ∇_θψ the gradients are ∇_A ψ = (B − Aθ) Cᵀ − A C θᵀ and ∇_B ψ = A C; the factor R of A = QR is made
    once and serves both. It works in eager mode and under ``tf.function``.

    Parameters
    ----------
    A : tensor (k, n)
        k ≥ n, independent columns: where they are dependent θ is not finite. Regularize by rows stacked under it.
    B : tensor (k, m) or (k,)
        Right-hand sides, of A's dtype. Arithmetic is float64 whatever comes in.

    Returns
    -------
    tensor (n, m) or (n,)
        The solution θ, of B's dtype.

    Raises
    ------
    ValueError
        When the shapes do not fit.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), appendix A. `lsat_explorer.least_squares` is the same for
    torch, with sparse matrices, operators and errors that name what is singular.
    """
    A, B = tf.convert_to_tensor(A), tf.convert_to_tensor(B)
    known = [*A.shape, *B.shape[:1]]
    wrong = A.shape.rank != 2 or B.shape.rank not in (1, 2)
    if wrong or (None not in known and (known[0] != known[2] or known[0] < known[1])):
        raise ValueError(
            f"A of shape {tuple(A.shape)} and B of shape {tuple(B.shape)} do not fit: expected (k, n), k ≥ n, with "
            "(k, m) or (k,)."
        )
    right = tf.cast(B if B.shape.rank == 2 else B[:, None], tf.float64)
    theta = tf.cast(_solve(tf.cast(A, tf.float64), right), B.dtype)
    return theta if B.shape.rank == 2 else theta[:, 0]


def _solve(A: Any, B: Any) -> Any:
    @tf.custom_gradient
    def solve(A: Any, B: Any) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
        Q, R = tf.linalg.qr(A)
        theta = tf.linalg.triangular_solve(R, tf.matmul(Q, B, transpose_a=True), lower=False)

        def gradient(slope: Any) -> tuple[Any, Any]:
            half = tf.linalg.triangular_solve(R, slope, lower=False, adjoint=True)
            C = tf.linalg.triangular_solve(R, half, lower=False)
            AC = A @ C
            return tf.matmul(B - A @ theta, C, transpose_b=True) - tf.matmul(AC, theta, transpose_b=True), AC

        return theta, gradient

    return solve(A, B)
