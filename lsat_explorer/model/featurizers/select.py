"""Selection of features by a mask."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..hyper_penalties import Cardinality, HyperPenalty
from ..piece import Omega, register
from ..prepared import Block, Featurizer

__all__ = ["SelectFeatures"]


@register
@dataclass(frozen=True, repr=False)
class SelectFeatures(Featurizer):
    """φ(x) = a ⊙ x, ``mask`` a ∈ {0, 1}^d with ⌊f d⌋ ones in ω, f = ``fraction``.

    The mask starts at 1 for every column, outside that set, so that the first gradient compares all columns. Its own
    hyper-penalty, ``Cardinality(fraction)``, then projects: the ⌊f d⌋ largest entries become 1, the others 0. A column
    that is left out has the gradient 0 and returns only when one that was kept is worse than nothing. Under a light
    ridge a fit makes up for any a_j, and the gradient says little: let the ridge start heavy, with e^{2ω} about the
    number of rows.

    A softer selection gives the mask other hyper-penalties in the recipe, such as
    ``{"featurizer.mask": AbsoluteValue(0.01) + Box(0.0, 1.0)}``.

    Raises
    ------
    ValueError
        When ⌊f d⌋ is 0.

    Examples
    --------
    >>> SelectFeatures(fraction=0.2)
    SelectFeatures(fraction=0.2)
    """

    fraction: float = 0.5

    def __post_init__(self) -> None:
        try:
            Cardinality(self.fraction)
        except ValueError as error:
            raise ValueError(str(error).replace("Cardinality", "SelectFeatures", 1)) from None

    def takes_sparse(self) -> bool:
        """Return True."""
        return True

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block for inputs (k, d)."""
        d = inputs.shape[1]
        if not Cardinality(self.fraction).count(d):
            raise ValueError(
                f"SelectFeatures: fraction is {self.fraction!r}, which keeps none of {d} columns: raise it."
            )
        return _Mask(torch.ones(d, dtype=torch.float64, device=inputs.device), self.fraction)

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Mask(state["mask"], self.fraction)


class _Mask(Block):
    def __init__(self, start: Tensor, fraction: float) -> None:
        self._start, self._fraction = start, fraction
        self.width = len(start)

    def init(self) -> Omega:
        return {"mask": self._start}

    def hyper_penalties(self) -> dict[str, HyperPenalty]:
        return {"mask": Cardinality(self._fraction)}

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return computed * omega["mask"].to(computed.dtype)

    def columnwise(self, omega: Omega) -> tuple[Tensor, Tensor]:
        return omega["mask"], torch.zeros_like(self._start)

    def state(self) -> dict[str, Tensor]:
        return {"mask": self._start}
