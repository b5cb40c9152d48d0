"""In what precision the sums over rows are formed, and how far the objective is then known."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["DOUBLE", "MIXED", "SINGLE", "Precision"]


@dataclass(frozen=True)
class Precision:
    """A policy for what each evaluation repeats; what is formed once and the n × n factor are float64 under each.

    Parameters
    ----------
    rows : torch.dtype
        Of the stored rows, and of predictions.
    products : torch.dtype
        Of products of row chunks, which are summed in float64.
    noise : float
        Rounding of F, relative to max(u, |F|), where u is F where nothing is explained, or 1: smaller differences of F
        say nothing.

    Examples
    --------
    >>> SINGLE.hides(1e-7, 1.5), MIXED.hides(1e-7, 1.5), SINGLE.hides(1e-7, 1.5e-6, unit=2e-6)
    (True, False, False)
    """

    rows: torch.dtype
    products: torch.dtype
    noise: float

    def floor(self, objective: float, unit: float = 1.0) -> float:
        """Return the rounding of F where F is ``objective``; ``unit`` is u."""
        return self.noise * max(unit, abs(objective))

    def hides(self, difference: float, objective: float, unit: float = 1.0) -> bool:
        """Whether a ``difference`` of F is no larger than its rounding."""
        return abs(difference) <= self.floor(objective, unit)


SINGLE = Precision(torch.float32, torch.float32, 2.0**-18)
"""Fast: F is known to 5 · 10⁻⁹ where G is well conditioned and to 4 · 10⁻⁶ where its condition number is 10⁸."""

MIXED = Precision(torch.float32, torch.float64, 2.0**-26)
"""Rows in float32, every product in float64: for the end of a run, where steps change F by less than SINGLE shows."""

DOUBLE = Precision(torch.float64, torch.float64, 2.0**-46)
"""All in float64."""
