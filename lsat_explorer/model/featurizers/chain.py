"""Featurizers one after another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..hyper_penalties import HyperPenalty
from ..piece import Omega, prefixed, register, within
from ..prepared import Block, Featurizer, Members, Prepared
from .plain import Constant

__all__ = ["Chain", "step_names"]

_CHUNK = 8192


@register
@dataclass(frozen=True, repr=False, init=False, eq=False)
class Chain(Members, Featurizer):
    """Featurizers one after another, φ(x) = φ_l(… φ₂(φ₁(x))): one block.

    Each member is prepared on the training rows as the ones before it give them at their start. ω holds the members'
    entries behind their names: keywords, or for members given by position the type in lower case, numbered when it
    comes again: ``power_transform.exponent``, ``scale_2.shift``. A `Concat` among the members is its blocks side by
    side.

    Raises
    ------
    ValueError
        For no members, for what is no featurizer, and for a `Constant`, which forgets what comes before it.

    Examples
    --------
    >>> from lsat_explorer import LowRank, PowerTransform, Scale
    >>> Chain(Scale(), PowerTransform())
    Chain(Scale(), PowerTransform())
    >>> Chain(raw=Scale(tuned=False), map=LowRank(2)).members["map"]
    LowRank(rank=2)
    """

    members: dict[str, Featurizer]  # type: ignore[assignment]

    def __init__(self, *pieces: Featurizer, **members: Featurizer) -> None:
        named = dict(zip(step_names(_kinds(pieces)), pieces, strict=True))
        for name in named.keys() & members.keys():
            raise ValueError(f"Chain: {name!r} names a member given by position and a keyword: rename the keyword.")
        self._accept({**named, **members}, Featurizer)
        for name, piece in self.members.items():
            if isinstance(piece, Constant):
                raise ValueError(f"Chain: {name} is Constant(), which forgets its inputs: put it beside, in a Concat.")

    def _arguments(self) -> list[tuple[str, Any]]:
        """Return the members, without their names where these are what positions give."""
        own = step_names(_kinds(self.members.values())) == list(self.members)
        return [("" if own else name, piece) for name, piece in self.members.items()]

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Prepare the members in order, each on the features before it."""
        blocks: dict[str, Block] = {}
        rows = inputs
        for name, member in self.members.items():
            block = blocks[name] = _single(member.prepare(rows, targets, generator))
            if len(blocks) < len(self.members):
                with torch.no_grad():
                    start = block.init()
                    chunks = rows.split(_CHUNK)
                    rows = torch.cat([block.features(start, block.precompute(chunk.double())) for chunk in chunks])
        return _Chained(blocks)

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Restore the members in order."""
        return _Chained({name: _single(m.restore(within(name, state))) for name, m in self.members.items()})


def step_names(kinds: Sequence[str]) -> list[str]:
    """Return the names of members given by position, by their types: ``scale``, ``power_transform``, ``scale_2``."""
    names: list[str] = []
    for kind in kinds:
        base = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()
        count = 1 + kinds[: len(names)].count(kind)
        names.append(base if count == 1 else f"{base}_{count}")
    return names


def _kinds(pieces: Iterable[Any]) -> list[str]:
    return [type(piece).__name__ for piece in pieces]


class _Chained(Block):
    def __init__(self, blocks: dict[str, Block]) -> None:
        self._blocks = blocks
        names = list(blocks)
        tuned = [index for index, name in enumerate(names) if blocks[name].init()]
        # Up to its own precompute, the first tuned member too does not depend on ω.
        self._first = tuned[0] if tuned else len(names)
        self._names = names
        self.width = blocks[names[-1]].width

    def init(self) -> Omega:
        return {k: v for name, block in self._blocks.items() for k, v in prefixed(name, block.init()).items()}

    def hyper_penalties(self) -> dict[str, HyperPenalty]:
        return {f"{name}.{k}": p for name, block in self._blocks.items() for k, p in block.hyper_penalties().items()}

    def precompute(self, inputs: Tensor) -> Tensor:
        rows = inputs
        for name in self._names[: self._first]:
            rows = self._blocks[name].features({}, self._blocks[name].precompute(rows))
        if self._first < len(self._names):
            rows = self._blocks[self._names[self._first]].precompute(rows)
        return rows

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        rows = computed
        for index in range(self._first, len(self._names)):
            name = self._names[index]
            block = self._blocks[name]
            if index > self._first:
                rows = block.precompute(rows.double()).to(computed.dtype)
            rows = block.features(within(name, omega), rows)
        return rows

    def state(self) -> dict[str, Tensor]:
        return {k: v for name, block in self._blocks.items() for k, v in prefixed(name, block.state()).items()}


def _single(prepared: Prepared) -> Block:
    return prepared.parts[""] if "" in prepared.parts else _Beside(prepared)


class _Beside(Block):
    """The blocks of a Concat as one."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.width = max(columns.stop for columns in prepared.columns().values())

    def init(self) -> Omega:
        return self._prepared.init()

    def hyper_penalties(self) -> dict[str, HyperPenalty]:
        return self._prepared.hyper_penalties()

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        parts = self._prepared.blocks(omega, computed.double())
        return torch.cat(list(parts.values()), 1).to(computed.dtype)

    def state(self) -> dict[str, Tensor]:
        return self._prepared.state()
