"""Features that depend on ω, and the way back to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..model.piece import Omega
from ..model.prepared import Block
from ..solve.gram import READ, Check

__all__ = ["Factors", "Moving", "pull_back", "transformed"]


Factors = tuple[Tensor, Tensor]
"""A matrix L Rᵀ (N, n_b) as L and R."""

_NUMBERS, _LEAST = 2**18, 512
"""Numbers of a block that a CPU works on at a time, a part of what its cores keep at hand, and the fewest rows."""


@dataclass(frozen=True)
class Moving:
    """The blocks (N, n_b) of one set of rows that depend on ω, at the ``omega`` with local names."""

    omega: Omega = field(default_factory=dict)
    blocks: Mapping[str, Tensor] = field(default_factory=dict)


def transformed(block: Block, omega: Omega, computed: Tensor, check: Check) -> Tensor:
    """Return the features (N, n_b) at ``omega`` from what does not depend on it, chunk by chunk of rows."""
    result = computed.new_empty(len(computed), block.width)
    with torch.no_grad():
        height = _rows_at_a_time(computed)
        for rows, place in zip(computed.split(height), result.split(height), strict=True):
            check()
            block.write(omega, rows, place)
    return result


def pull_back(
    block: Block, omega: Omega, computed: Tensor, features: Tensor | None, gradient: list[Factors], check: Check
) -> Omega:
    """Return ⟨Σ L Rᵀ, ∂X_b/∂ω⟩ by entry of ω, a sum over the factors L (N, q) and R (n_b, q) of ``gradient``.

    Where a block's ``features`` (N, n_b) are not at hand, or do not tell its slope, chunks of them are formed once
    more: keeping what a whole pass needs to go back takes several times their memory.
    """
    total = {name: torch.zeros_like(value) for name, value in omega.items()}
    height = _rows_at_a_time(computed)
    left, right = gradient[0] if len(gradient) == 1 else (torch.cat(side, 1) for side in zip(*gradient, strict=True))
    for start in range(0, len(computed), height):
        check()
        rows = slice(start, start + height)
        slope = None if features is None else block.slope(omega, computed[rows], features[rows])
        if slope is not None:  # ⟨L Rᵀ, S⟩ = ⟨L, S R⟩, of which the second has far fewer numbers to add up
            (name,) = omega
            total[name] += (slope.to(right.dtype) @ right).mul_(left[rows]).sum(dtype=torch.float64)
            continue
        for name, value in _through(block, omega, computed[rows], left[rows] @ right.mT).items():
            total[name] += value
    return total


def _rows_at_a_time(computed: Tensor) -> int:
    """Return how many rows to work on at a time: what comes and goes in large pieces leaves holes in memory."""
    if computed.device.type != "cpu":
        return READ
    return min(max(_NUMBERS // max(computed[:1].numel(), 1), _LEAST), READ)


def _through(block: Block, omega: Omega, computed: Tensor, seed: Tensor) -> Omega:
    """Return ⟨``seed``, ∂X_b/∂ω⟩ of a chunk, by torch's own differentiation."""
    leaves = {name: value.detach().requires_grad_() for name, value in omega.items()}
    with torch.enable_grad():
        rows = block.features(leaves, computed)
        through = (rows * seed.to(rows.dtype)).sum()
    found = torch.autograd.grad(through, list(leaves.values()), allow_unused=True)
    return {name: value for name, value in zip(leaves, found, strict=True) if value is not None}
