"""The shift that balances a sum of monotone terms."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["balance"]


def balance(omega: Tensor, kinks: list[float], h: Callable[[Tensor], Tensor]) -> Tensor:
    """Return ν with Σ h(ω_i − ν) = 0, h not decreasing, 0 at 0, and linear between its ``kinks``.

    At ν = min ω − max kink every term is at least 0, at ν = max ω − min kink at most 0; between two neighbouring
    breakpoints ω_i − kink the sum is linear. An empty ω has ν = 0.
    """
    if not omega.numel():
        return omega.new_zeros(())
    points = torch.cat([(omega - kink).flatten() for kink in kinks]).unique()
    low, high = 0, len(points) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if h(omega - points[middle]).sum() >= 0:
            low = middle
        else:
            high = middle
    above, below = (h(omega - points[i]).sum() for i in (low, high))
    return points[low] if above <= below else points[low] + (points[high] - points[low]) * above / (above - below)
