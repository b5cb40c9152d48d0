"""What every solve refuses, in one sentence each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from scipy import sparse
from torch import Tensor

from .operators import LinearOperator
from .outcome import Outcome, Reason, SolveError

__all__ = [
    "LARGEST",
    "check_matrix",
    "check_right",
    "is_dense",
    "refuse_nested_forward_mode",
    "refuse_not_finite",
    "refuse_transforms",
    "refuse_unusable",
]

LARGEST = 1e150
"""Size of the largest number of which an iteration can form squares."""


def is_dense(A: Any) -> bool:
    """Whether A is a strided tensor."""
    return isinstance(A, Tensor) and A.layout is torch.strided


def check_matrix(A: Any, name: str = "A") -> None:
    """Refuse what is no matrix of floating point numbers."""
    if not isinstance(A, Tensor | LinearOperator) and not sparse.issparse(A):
        raise ValueError(
            f"{name} is of type {type(A).__name__}: expected a torch tensor, a scipy sparse matrix or a "
            "LinearOperator, convert with torch.as_tensor."
        )
    if isinstance(A, Tensor) and not A.is_floating_point():
        raise ValueError(f"{name} is {A.dtype}: expected a floating point dtype, convert with .to(dtype).")
    shape = tuple(getattr(A, "shape", ()))
    if len(shape) != 2:
        raise ValueError(f"{name} has shape {shape}: the dimensions do not fit, expected two.")
    _refuse_meta(A, name)


def _refuse_meta(values: Any, name: str) -> None:
    if isinstance(values, Tensor) and values.is_meta:
        raise ValueError(f"{name} is on the device meta, which holds no numbers: give a tensor that does.")


def check_right(A: Any, B: Any, names: tuple[str, str] = ("A", "B")) -> None:
    """Refuse right-hand sides B that are not (k, m) or (k,) floating point numbers of A's dtype, on A's device."""
    a, b = names
    if not isinstance(B, Tensor):
        raise ValueError(f"{b} must be a torch tensor, got {type(B).__name__}: convert it with torch.as_tensor.")
    if B.ndim not in (1, 2) or A.shape[0] != B.shape[0]:
        shapes = f"{a} of shape {tuple(A.shape)} and {b} of shape {tuple(B.shape)}"
        raise ValueError(f"{shapes} do not fit: expected (k, n) with (k, m) or (k,).")
    if B.layout is not torch.strided or not B.is_floating_point():
        raise ValueError(f"{b} is {B.dtype}, {B.layout}: expected dense floating point numbers, convert it.")
    _refuse_meta(B, b)
    if not isinstance(A, Tensor):
        return
    if A.dtype != B.dtype:
        raise ValueError(
            f"{a} is {A.dtype} and {b} is {B.dtype}: expected one floating point dtype, convert with .to(dtype)."
        )
    if A.device != B.device:
        raise ValueError(f"{a} is on {A.device} and {b} on {B.device}: move one with .to(device).")


def refuse_not_finite(values: Tensor, name: str) -> None:
    """Raise SolveError that names the first NaN or infinity of a matrix."""
    finite = torch.isfinite(values.detach())
    if finite.all():
        return
    row, column = (~finite).nonzero()[0, -2:].tolist()
    sentence = f"{name} holds a NaN or an infinity, first at row {row}, column {column}: remove or replace it."
    raise SolveError(Outcome(Reason.NOT_FINITE, sentence))


def refuse_unusable(values: Tensor, name: str, place: Callable[[int], tuple[int, int]] | None = None) -> None:
    """Raise SolveError that names the first NaN, infinity or number too large to be squared.

    ``place`` tells row and column of an entry, for values (e,) that are those of a sparse matrix.
    """
    usable = values.detach().abs() <= min(LARGEST, torch.finfo(values.dtype).max)
    if usable.all():
        return
    first = (~usable).nonzero()[0].tolist()
    row, column = first if place is None else place(first[0])
    value = float(values.detach()[tuple(first)])
    what, advice = "a NaN or an infinity", "remove or replace it"
    if math.isfinite(value):
        what, advice = f"the number {value:.3g}, of more than {LARGEST:.0e} in size", "divide it by a constant"
    sentence = f"{name} holds {what}, first at row {row}, column {column}: {advice}."
    raise SolveError(Outcome(Reason.NOT_FINITE, sentence))


def refuse_transforms() -> None:
    """Refuse to run an iterative solve inside torch.func, whose tensors its iterations cannot look at."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise ValueError(
            "Sparse, matrix-free, constrained and summed solves do not work inside torch.func transforms (grad, vmap, "
            "jacrev, …): use torch.autograd.grad, or a dense A with least_squares."
        )


def refuse_nested_forward_mode() -> None:
    """Refuse jvp inside jvp: torch leaves out the inner derivative of a Function without a word."""
    levels = [level.key().name for level in torch._C._functorch.get_interpreter_stack() or []]
    if levels.count("Jvp") > 1:
        raise ValueError(
            "least_squares does not work under jvp inside jvp, such as jacfwd of jacfwd: use jacfwd of jacrev, jacrev "
            "of jacfwd, or torch.func.hessian."
        )
