"""Featurizers side by side."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..piece import register, within
from ..prepared import Block, Featurizer, Members, Prepared

__all__ = ["Concat"]


@register
@dataclass(frozen=True, repr=False, init=False, eq=False)
class Concat(Members, Featurizer):
    """Featurizers side by side, φ = (φ₁, φ₂, …): named blocks that regularizers can address.

    The members of a Concat inside a Concat are blocks of their own with dotted names, ``"outer.inner"``.

    Examples
    --------
    >>> from lsat_explorer import Constant, Identity, KMeansArchetypes
    >>> Concat(pixels=Identity(), archetypes=KMeansArchetypes(), one=Constant())
    Concat(pixels=Identity(), archetypes=KMeansArchetypes(), one=Constant())
    """

    members: dict[str, Featurizer]  # type: ignore[assignment]

    def __init__(self, *nameless: Featurizer, **members: Featurizer) -> None:
        self._accept(members, Featurizer, nameless)

    def takes_sparse(self) -> bool:
        """Return whether each member does."""
        return all(member.takes_sparse() for member in self.members.values())

    def block_names(self) -> tuple[str, ...]:
        """Return the names of the members; those of a Concat inside stand behind its own."""
        inside = [(name, part) for name, member in self.members.items() for part in member.block_names()]
        return tuple(f"{name}.{part}" if part else name for name, part in inside)

    def prepare(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Prepared:
        """Prepare the members in order."""
        return _join({name: member.prepare(inputs, targets, generator) for name, member in self.members.items()})

    def restore(self, state: dict[str, Tensor]) -> Prepared:
        """Restore the members in order."""
        return _join({name: member.restore(within(name, state)) for name, member in self.members.items()})

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Refuse: a Concat is several blocks."""
        raise ValueError("A Concat is several blocks: use prepare().")

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Refuse: a Concat is several blocks."""
        raise ValueError("A Concat is several blocks: use restore().")


def _join(members: dict[str, Prepared]) -> Prepared:
    return Prepared(
        {f"{name}.{part}" if part else name: block for name, p in members.items() for part, block in p.parts.items()}
    )
