"""The first call of each elementary function, made by one thread."""

from __future__ import annotations

import torch

__all__ = ["ELEMENTARY", "call_elementary_once"]

ELEMENTARY = (
    *("acos", "asin", "atan", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "expm1", "log", "log10", "log1p", "log2"),
    *("sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
"""Functions that torch may hand to the vector mathematics of Intel's MKL."""


def call_elementary_once() -> None:
    """Call every elementary function on one number, in float32 and float64.

    MKL 2024 looks for the instructions of a vector function when it is first called. Where several threads make that
    call together, as they do in torch for more than some thousand numbers, one of them may compute its share by a
    variant of few digits: 3e-4 off in float32, 3e-9 in float64, once in a process, and not in the next one. After a
    call by one thread all later calls have all digits.

    Notes
    -----
    The fault is issue 188792 of PyTorch; MKL from 2025 on is said to be free of it.
    """
    for dtype in (torch.float32, torch.float64):
        number = torch.full((1,), 0.5, dtype=dtype, device="cpu")
        for name in ELEMENTARY:
            getattr(torch, name)(number)
