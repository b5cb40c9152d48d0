"""Features without parameters: the inputs themselves, and an intercept."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..piece import Omega, register
from ..prepared import Block, Featurizer

__all__ = ["Constant", "Identity"]


@register
@dataclass(frozen=True, repr=False)
class Identity(Featurizer):
    """φ(x) = x, the inputs themselves.

    Examples
    --------
    >>> Identity()
    Identity()
    """

    def takes_sparse(self) -> bool:
        """Return True."""
        return True

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block for inputs (k, d)."""
        return _Identity(inputs.shape[1])

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Identity(int(state["width"]))


class _Identity(Block):
    passes_inputs = light = True

    def __init__(self, width: int) -> None:
        self.width = width

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return computed

    def columnwise(self, omega: Omega) -> tuple[Tensor, Tensor]:
        ones = torch.ones(self.width, dtype=torch.float64, device="cpu")
        return ones, torch.zeros_like(ones)

    def state(self) -> dict[str, Tensor]:
        return {"width": torch.tensor(self.width, device="cpu")}


@register
@dataclass(frozen=True, repr=False)
class Constant(Featurizer):
    """φ(x) = 1, an intercept.

    Examples
    --------
    >>> from lsat_explorer import Concat
    >>> Concat(x=Identity(), one=Constant())
    Concat(x=Identity(), one=Constant())
    """

    def takes_sparse(self) -> bool:
        """Return True."""
        return True

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block of one column."""
        return _Constant()

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Constant()


class _Constant(Block):
    width = 1
    looks = False

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return torch.ones_like(computed[:, :1])

    def state(self) -> dict[str, Tensor]:
        return {}
