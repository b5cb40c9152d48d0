"""The floating point operations that a piece of work does in its matrix products, factors and solves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

__all__ = ["flops"]

Shape = tuple[int, ...]


def _factor(matrix: Shape, *_: Any, **__: Any) -> int:
    return matrix[-1] ** 3 // 3


def _solve(right: Shape, lower: Shape, *_: Any, **__: Any) -> int:
    return 2 * lower[-1] ** 2 * right[-1]


def _triangle(lower: Shape, right: Shape, *_: Any, **__: Any) -> int:
    return lower[-1] ** 2 * right[-1]


def _added(_: Shape, left: Shape, right: Shape, *__: Any, **___: Any) -> int:
    return 2 * left[0] * left[1] * right[1]


_aten = torch.ops.aten
_MORE = {
    _aten.linalg_cholesky_ex: _factor,
    _aten.cholesky_solve: _solve,
    _aten.linalg_solve_triangular: _triangle,
    _aten.addmm_: _added,
}
"""What torch's own counter leaves out."""


def flops(work: Callable[[], object]) -> int:
    """Run ``work`` once and return its operations.

    A product of (a, b) by (b, c) counts 2 a b c, the factor of (n, n) n³/3, a solve of m columns with it 2 n² m, and
    half as much with one triangle. What is done entry by entry does not count.

    Examples
    --------
    >>> a = torch.ones(5, 3)
    >>> flops(lambda: a.mT @ a)
    90
    """
    with FlopCounterMode(display=False, custom_mapping=_MORE) as counter:
        work()
    return counter.get_total_flops()
