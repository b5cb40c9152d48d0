"""Features that depend on ω, with their way back to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..model.piece import Omega

__all__ = ["Moving"]


@dataclass(frozen=True)
class Moving:
    """The blocks of one set of rows that depend on ω, at one ω, with their graph back to it."""

    leaves: Omega = field(default_factory=dict)
    blocks: Mapping[str, Tensor] = field(default_factory=dict)

    def pull_back(self, gradients: Mapping[str, Tensor]) -> Omega:
        """Return Σ_b ⟨gradients_b, ∂X_b/∂ω⟩ by entry of ω, local names."""
        if not self.blocks:
            return {}
        outputs = [self.blocks[name] for name in gradients]
        seeds = [gradients[name].to(block.dtype) for name, block in zip(gradients, outputs, strict=True)]
        found = torch.autograd.grad(outputs, list(self.leaves.values()), seeds, retain_graph=True, allow_unused=True)
        return {
            name: torch.zeros_like(leaf) if g is None else g
            for (name, leaf), g in zip(self.leaves.items(), found, strict=True)
        }
