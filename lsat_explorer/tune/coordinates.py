"""The tuned entries of ω as one vector, with bounds, for methods that know nothing of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..model.hyper_penalties import Box, HyperPenalty, Sum, SumSquares, ZeroSum
from ..model.piece import Omega
from .reach import Reach

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["Coordinates"]


class Coordinates:
    """x (p,), the tuned entries of ω one after the other; F as a function of x is smooth within ``bounds``.

    An entry with 1ᵀω = 0 is ω = v − mean(v) of its coordinates v. Bounds of other entries stay bounds.

    Raises
    ------
    ValueError
        For a hyper-penalty that is neither smooth, nor bounds, nor a zero sum, named with the method that asked.
    """

    def __init__(self, problem: Problem, method: str) -> None:
        self.names = problem.tuned
        self._penalties = {name: _terms(problem.hyper_penalties[name]) for name in self.names}
        start = problem.init()
        self._sizes = {name: start[name].numel() for name in self.names}
        low, high = [], []
        for name, terms in self._penalties.items():
            centred = any(isinstance(term, ZeroSum) for term in terms)
            ends = [_ends(term, start[name]) for term in terms]
            bounded = [e for e in ends if e is not None]
            known = all(e is not None or isinstance(t, SumSquares | ZeroSum) for t, e in zip(terms, ends, strict=True))
            if not known or (centred and bounded):
                raise ValueError(
                    f"{method} needs smooth hyper-penalties, bounds or zero sums, but {name} has "
                    f"{problem.hyper_penalties[name]!r}: choose LineSearch() or ProximalGradient()."
                )
            low.append(np.max([np.full(self._sizes[name], -np.inf), *(e[0] for e in bounded)], axis=0))
            high.append(np.min([np.full(self._sizes[name], np.inf), *(e[1] for e in bounded)], axis=0))
        from scipy.optimize import Bounds

        self.bounds = Bounds(np.concatenate(low), np.concatenate(high))

    def vector(self, omega: Omega) -> np.ndarray:
        """Return x at ``omega``."""
        return np.concatenate([omega[name].numpy().ravel() for name in self.names])

    def omega(self, x: np.ndarray, like: Omega) -> Omega:
        """Return ω at x; what is not tuned is taken from ``like``."""
        values, start = dict(like), 0
        for name in self.names:
            part = torch.as_tensor(x[start : start + self._sizes[name]], dtype=torch.float64, device="cpu")
            start += self._sizes[name]
            values[name] = self._centred(name, part).reshape(like[name].shape)
        return values

    def slope(self, omega: Omega, gradient: Omega) -> np.ndarray:
        """Return ∇F with respect to x from ∇ψ by name."""
        parts = []
        for name in self.names:
            value = gradient[name]
            for term in self._penalties[name]:
                if isinstance(term, SumSquares):
                    value = value + 2 * term.weight * omega[name]
            parts.append(self._centred(name, value).numpy().ravel())
        return np.concatenate(parts)

    def residual(self, omega: Omega, gradient: Omega) -> float:
        """Return ‖x − Π(x − ∇F)‖₂."""
        x = self.vector(omega)  # which is not subtracted: a slope far smaller would be lost in it
        return float(np.linalg.norm(np.clip(self.slope(omega, gradient), x - self.bounds.ub, x - self.bounds.lb)))

    def _centred(self, name: str, value: Tensor) -> Tensor:
        centred = any(isinstance(term, ZeroSum) for term in self._penalties[name])
        return value - value.mean() if centred else value


def _terms(penalty: HyperPenalty) -> tuple[HyperPenalty, ...]:
    return penalty.terms if isinstance(penalty, Sum) else (penalty,)


def _ends(term: HyperPenalty, start: Tensor) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the bounds that a term states for each coordinate, None for a term that states none."""
    if isinstance(term, Reach):
        return term.low.numpy().ravel(), term.high.numpy().ravel()
    if isinstance(term, Box):
        low, high = term.ends()
        return np.full(start.numel(), low), np.full(start.numel(), high)
    return None
