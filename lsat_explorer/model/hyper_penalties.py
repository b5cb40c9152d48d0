"""Hyper-penalties r(ω): what the hyper-parameters themselves cost, each with its proximal operator.

prox_{t r}(v) = argmin_ω r(ω) + ‖ω − v‖² / (2t).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from .piece import Piece, number, register

__all__ = ["Box", "Frozen", "HyperPenalty", "Sum", "SumSquares", "ZeroSum"]


class HyperPenalty(Piece, ABC):
    """A penalty on one entry of ω, a tensor of any shape. ``a + b`` is their sum where its joint prox is known."""

    @abstractmethod
    def value(self, omega: Tensor) -> Tensor:
        """Return r(ω) as a scalar, +∞ outside the domain."""

    @abstractmethod
    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return argmin_x r(x) + ‖x − ω‖² / (2 step)."""

    def __add__(self, other: HyperPenalty) -> Sum:
        if not isinstance(other, HyperPenalty):
            return NotImplemented
        mine = self.terms if isinstance(self, Sum) else (self,)
        theirs = other.terms if isinstance(other, Sum) else (other,)
        return Sum(mine + theirs)


def _zero(omega: Tensor) -> Tensor:
    return torch.zeros((), dtype=omega.dtype, device=omega.device)


def _indicator(inside: Tensor, omega: Tensor) -> Tensor:
    return torch.where(inside, _zero(omega), torch.full_like(_zero(omega), math.inf))


@register
@dataclass(frozen=True, repr=False)
class SumSquares(HyperPenalty):
    """r(ω) = λ ‖ω‖², λ = ``weight``; prox: ω / (1 + 2λt).

    λ is not scale-free in the number of entries: for N row weights, λ = ρ/N keeps their range comparable.

    Examples
    --------
    >>> import torch
    >>> SumSquares(0.5).prox(torch.tensor([2.0]), 1.0)
    tensor([1.])
    """

    weight: float = 1e-3

    def __post_init__(self) -> None:
        number(self.weight, "SumSquares: weight", low=0.0)

    def value(self, omega: Tensor) -> Tensor:
        """Return λ ‖ω‖²."""
        return self.weight * omega.square().sum()

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return ω / (1 + 2λt)."""
        return omega / (1 + 2 * self.weight * step)


@register
@dataclass(frozen=True, repr=False)
class ZeroSum(HyperPenalty):
    """r(ω) = 0 where 1ᵀω = 0, else +∞, rounding allowed for; prox: subtract the mean.

    Examples
    --------
    >>> import torch
    >>> ZeroSum().prox(torch.tensor([1.0, 3.0]), 1.0)
    tensor([-1.,  1.])
    """

    def value(self, omega: Tensor) -> Tensor:
        """Return 0 or +∞."""
        return _indicator(omega.sum().abs() <= 1e-9 * (1 + omega.abs().sum()), omega)

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return ω − mean(ω)."""
        return omega - omega.mean()


@register
@dataclass(frozen=True, repr=False)
class Box(HyperPenalty):
    """r(ω) = 0 where ``low`` ≤ ω ≤ ``high``, else +∞; prox: clip. None leaves a side open.

    Examples
    --------
    >>> import torch
    >>> Box(-1.0, 1.0).prox(torch.tensor([3.0, 0.5]), 1.0)
    tensor([1.0000, 0.5000])
    """

    low: float | None = -8.0
    high: float | None = 8.0

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                number(getattr(self, name), f"Box: {name}")
        low, high = self.ends()
        if not low <= high:
            raise ValueError(f"Box from {self.low!r} to {self.high!r}: expected low ≤ high.")

    def ends(self) -> tuple[float, float]:
        """Return both ends, infinite where the side is open."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high

    def value(self, omega: Tensor) -> Tensor:
        """Return 0 or +∞."""
        low, high = self.ends()
        return _indicator(((omega >= low) & (omega <= high)).all(), omega)

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return ω clipped to the box."""
        return omega.clamp(*self.ends())


@register
@dataclass(frozen=True, repr=False)
class Frozen(HyperPenalty):
    """Hold a hyper-parameter at its starting value: it is not tuned, and its gradient not formed.

    Examples
    --------
    >>> Frozen()
    Frozen()
    """

    def value(self, omega: Tensor) -> Tensor:
        """Return 0: the value never moves."""
        return _zero(omega)

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return ω as it is."""
        return omega


@register
@dataclass(frozen=True, repr=False)
class Sum(HyperPenalty):
    """r = r₁ + r₂ for pairs whose joint prox is the prox of one after that of the other.

    `SumSquares` + `ZeroSum`: block elimination of the optimality system [(1 + 2λt) I, 1; 1ᵀ, 0] gives
    (ω − mean(ω)) / (1 + 2λt). `SumSquares` + `Box`: clip(ω / (1 + 2λt)), entry by entry.

    Examples
    --------
    >>> SumSquares(0.01) + ZeroSum()
    Sum(terms=(SumSquares(weight=0.01), ZeroSum()))
    """

    terms: tuple[HyperPenalty, ...] = ()

    def __post_init__(self) -> None:
        if not all(isinstance(term, HyperPenalty) for term in self.terms) or len(self.terms) < 2:
            raise ValueError(f"Sum of {self.terms!r}: expected two or more hyper-penalties.")
        kinds = sorted(type(term).__name__ for term in self.terms)
        if tuple(kinds) not in _ORDER:
            known = ", ".join(" + ".join(pair) for pair in _ORDER)
            raise ValueError(f"The joint prox of {' + '.join(kinds)} is not known: use one of {known}.")

    def value(self, omega: Tensor) -> Tensor:
        """Return the sum of the values."""
        return torch.stack([term.value(omega) for term in self.terms]).sum()

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return the joint prox, each term's used once."""
        order = _ORDER[tuple(sorted(type(term).__name__ for term in self.terms))]
        for term in sorted(self.terms, key=lambda term: order.index(type(term).__name__)):
            omega = term.prox(omega, step)
        return omega


_ORDER: dict[tuple[str, ...], tuple[str, ...]] = {
    ("SumSquares", "ZeroSum"): ("ZeroSum", "SumSquares"),
    ("Box", "SumSquares"): ("SumSquares", "Box"),
}
"""Known pairs, and the order in which their proxes compose to the joint one."""
