"""Hyper-penalties r(ω): what the hyper-parameters themselves cost, each with its proximal operator.

prox_{t r}(v) = argmin_ω r(ω) + ‖ω − v‖² / (2t).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from .balance import balance
from .piece import Piece, number, register

__all__ = ["AbsoluteValue", "Box", "Cardinality", "Frozen", "HyperPenalty", "Sum", "SumSquares", "ZeroSum"]


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
class AbsoluteValue(HyperPenalty):
    """r(ω) = λ ‖ω‖₁, λ = ``weight``; prox: soft threshold, sgn(ω) max(∣ω∣ − λt, 0).

    Examples
    --------
    >>> import torch
    >>> AbsoluteValue(0.5).prox(torch.tensor([2.0, -0.3]), 1.0)
    tensor([1.5000, -0.0000])
    """

    weight: float = 1e-3

    def __post_init__(self) -> None:
        number(self.weight, "AbsoluteValue: weight", low=0.0)

    def value(self, omega: Tensor) -> Tensor:
        """Return λ ‖ω‖₁."""
        return self.weight * omega.abs().sum()

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return ω moved by λt towards 0, and no further."""
        return omega.sign() * (omega.abs() - self.weight * step).clamp_min(0.0)


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
class Cardinality(HyperPenalty):
    """r(ω) = 0 for ω ∈ {0, 1}ⁿ with ⌊f n⌋ ones, else +∞; f = ``fraction``.

    Prox: the ⌊f n⌋ largest entries become 1, the others 0. Of equal entries the first ones stay.

    Examples
    --------
    >>> import torch
    >>> Cardinality(0.5).prox(torch.tensor([0.9, 1.2, -3.0, 0.1]), 1.0)
    tensor([1., 1., 0., 0.])
    """

    fraction: float = 0.5

    def __post_init__(self) -> None:
        number(self.fraction, "Cardinality: fraction", low=0.0, high=1.0)

    def count(self, n: int) -> int:
        """Return ⌊f n⌋, the number of ones among n entries."""
        return math.floor(self.fraction * n + 1e-9)  # 0.29 · 100 is 28.999… in floating point

    def value(self, omega: Tensor) -> Tensor:
        """Return 0 or +∞."""
        ones = omega == 1
        return _indicator((ones | (omega == 0)).all() & (ones.sum() == self.count(omega.numel())), omega)

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return the nearest point with ⌊f n⌋ ones."""
        order = omega.flatten().sort(descending=True, stable=True).indices
        mask = torch.zeros_like(omega).flatten()
        mask[order[: self.count(omega.numel())]] = 1
        return mask.reshape(omega.shape)


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
    """r = r₁ + r₂ + … of different kinds among `AbsoluteValue`, `SumSquares`, `Box` and `ZeroSum`.

    Entry by entry the joint prox of the first three is exact: h(v) = clip(soft(v, λ₁t) / (1 + 2λ₂t)). With `ZeroSum`
    it is h(v − ν) with the ν for which the entries sum to zero: h is monotone and piecewise linear, so that ν is found
    exactly between two of its breakpoints. `SumSquares` + `ZeroSum` alone is (ω − mean(ω)) / (1 + 2λt).

    Raises
    ------
    ValueError
        For two of one kind, for `Cardinality` or `Frozen`, whose joint prox with others is not known, and for a `Box`
        that holds no point of zero sum.

    Examples
    --------
    >>> SumSquares(0.01) + ZeroSum()
    Sum(terms=(SumSquares(weight=0.01), ZeroSum()))
    """

    terms: tuple[HyperPenalty, ...] = ()

    def __post_init__(self) -> None:
        terms = self.terms if isinstance(self.terms, tuple | list) else ()
        if not all(isinstance(term, HyperPenalty) for term in terms) or len(terms) < 2:
            raise ValueError(f"Sum of {self.terms!r}: expected two or more hyper-penalties.")
        for index, term in enumerate(self.terms):
            for other in self.terms[:index]:
                if type(term) is type(other) or not {type(term), type(other)} <= set(_KNOWN):
                    pair = " + ".join(sorted((type(term).__name__, type(other).__name__)))
                    known = ", ".join(kind.__name__ for kind in _KNOWN)
                    raise ValueError(f"The joint prox of {pair} is not known: add different ones of {known}.")
        box = self._term(Box)
        if self._term(ZeroSum) and isinstance(box, Box) and not box.ends()[0] <= 0 <= box.ends()[1]:
            raise ValueError(f"{box!r} + ZeroSum() allows no value: expected low ≤ 0 ≤ high.")

    def _term(self, kind: type[HyperPenalty]) -> HyperPenalty | None:
        return next((term for term in self.terms if isinstance(term, kind)), None)

    def value(self, omega: Tensor) -> Tensor:
        """Return the sum of the values."""
        return torch.stack([term.value(omega) for term in self.terms]).sum()

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return the joint prox."""
        if self._term(ZeroSum) is None:
            return self._entrywise(omega, step)
        if self._term(Box) is None and self._term(AbsoluteValue) is None:
            return self._entrywise(omega - omega.mean(), step)
        kinks = [-self._reach(step), self._reach(step)]
        if isinstance(box := self._term(Box), Box):
            # h reaches an end of the box where (∣v∣ − λ₁t) / (1 + 2λ₂t) does.
            kinks += [
                end * self._shrink(step) + math.copysign(kinks[1], end) for end in box.ends() if math.isfinite(end)
            ]
        shift = balance(omega, kinks, lambda v: self._entrywise(v, step))
        return self._entrywise(omega - shift, step)

    def _entrywise(self, omega: Tensor, step: float) -> Tensor:
        for kind in (AbsoluteValue, SumSquares, Box):
            term = self._term(kind)
            omega = omega if term is None else term.prox(omega, step)
        return omega

    def _reach(self, step: float) -> float:
        term = self._term(AbsoluteValue)
        return term.weight * step if isinstance(term, AbsoluteValue) else 0.0

    def _shrink(self, step: float) -> float:
        term = self._term(SumSquares)
        return 1 + 2 * term.weight * step if isinstance(term, SumSquares) else 1.0


_KNOWN = (AbsoluteValue, SumSquares, Box, ZeroSum)
"""Kinds whose sums have a known prox."""
