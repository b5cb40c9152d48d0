"""Featurizers at work: blocks of features, prepared on training rows, with parameters in ω."""

from __future__ import annotations

import keyword
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from .hyper_penalties import HyperPenalty
from .piece import Omega, Piece, nearest, prefixed, within

__all__ = ["Block", "Featurizer", "Prepared"]


class Block(ABC):
    """One prepared block of features φ: (N, d) -> (N, ``width``).

    The work is split: `precompute` does what does not depend on ω, once for each set of rows; `features` the rest,
    differentiable in ω. Both act row by row, so rows may come in chunks.
    """

    width: int
    passes_inputs: ClassVar[bool] = False
    """Whether the features are the inputs themselves, so that rows need no copy."""
    light: ClassVar[bool] = False
    """Whether the features take little more than reading the inputs, so that rows seldom used need no copy."""
    looks: ClassVar[bool] = True
    """Whether the features depend on the inputs at all; else one column of these tells how many rows there are."""

    def init(self) -> Omega:
        """Return the starting values, by local name; empty when nothing can be tuned."""
        return {}

    def hyper_penalties(self) -> dict[str, HyperPenalty]:
        """Return hyper-penalties that belong to entries of `init`, such as a projection; a recipe's own come first."""
        return {}

    def precompute(self, inputs: Tensor) -> Tensor:
        """Return what `features` needs of the rows (N, d), float64."""
        return inputs

    @abstractmethod
    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        """Return the features (N, width), of the dtype of ``computed``."""

    def write(self, omega: Omega, computed: Tensor, place: Tensor) -> None:
        """Put the `features` in ``place`` (N, width), which nothing is differentiated through."""
        place.copy_(self.features(omega, computed))

    def slope(self, omega: Omega, computed: Tensor, features: Tensor) -> Tensor | None:
        """Return ∂φ/∂ω (N, width) where ω is one number and the ``features`` at it tell it cheaply, else None."""
        return None

    def columnwise(self, omega: Omega) -> tuple[Tensor, Tensor] | None:
        """Return a and b (d,), differentiable in ω, where the features are a_j (x_j − b_j) of the inputs, else None."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Return the tensors from which `restore` makes this block again."""


@dataclass(frozen=True)
class Prepared:
    """A featurizer prepared on training rows: ``parts``, blocks by name in order; a single one is named ``""``."""

    parts: Mapping[str, Block]

    def init(self) -> Omega:
        """Return the starting values of all blocks, names dotted."""
        return {k: v for name, block in self.parts.items() for k, v in prefixed(name, block.init()).items()}

    def hyper_penalties(self) -> dict[str, HyperPenalty]:
        """Return the blocks' own hyper-penalties, names dotted."""
        parts = self.parts.items()
        return {f"{name}.{k}" if name else k: p for name, block in parts for k, p in block.hyper_penalties().items()}

    def blocks(self, omega: Omega, inputs: Tensor) -> dict[str, Tensor]:
        """Return the features of ``inputs`` (N, d) by block, each (N, width)."""
        return {name: b.features(within(name, omega), b.precompute(inputs)) for name, b in self.parts.items()}

    def moving(self, names: Iterable[str]) -> set[str]:
        """Return the blocks that own one of the ``names`` of `init`, all of them dotted."""
        given = set(names)
        return {part for part, block in self.parts.items() if given & prefixed(part, block.init()).keys()}

    def columns(self) -> dict[str, slice]:
        """Return the columns of the feature matrix that each block takes."""
        columns, start = {}, 0
        for name, block in self.parts.items():
            columns[name] = slice(start, start + block.width)
            start += block.width
        return columns

    def state(self) -> dict[str, Tensor]:
        """Return the tensors of all blocks, names dotted."""
        return {k: v for name, block in self.parts.items() for k, v in prefixed(name, block.state()).items()}


class Featurizer(Piece, ABC):
    """Description of a feature map. `prepare` fits it to training rows and returns what computes the features."""

    def takes_sparse(self) -> bool:
        """Whether `prepare` takes inputs that are a sparse tensor by rows; the blocks are then columnwise."""
        return False

    def block_names(self) -> tuple[str, ...]:
        """Return the names of the blocks that `prepare` will make, in their order; one without a name by default."""
        return ("",)

    def prepare(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Prepared:
        """Fit to training ``inputs`` (k, d) and ``targets`` (k, m); random choices come from ``generator``."""
        return Prepared({"": self.block(inputs, targets, generator)})

    def restore(self, state: dict[str, Tensor]) -> Prepared:
        """Make a prepared featurizer again from its `Prepared.state`."""
        return Prepared({"": self.restore_block(state)})

    @abstractmethod
    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the one block of this featurizer."""

    @abstractmethod
    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the one block again from its state."""


class Members:
    """Named members given as keywords, for pieces made of pieces; their order counts."""

    members_field: ClassVar[str | None] = "members"
    members: dict[str, Piece]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Members):
            return NotImplemented
        return list(self.members.items()) == list(other.members.items())

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.members.items())))

    def _accept(self, members: Mapping[str, Piece], kind: type[Piece], nameless: Sequence[Piece] = ()) -> None:
        noun = kind.__name__.lower()
        if nameless:
            named = ", ".join(f"{chr(ord('a') + place)}={piece!r}" for place, piece in enumerate(nameless[:2]))
            raise TypeError(
                f"{type(self).__name__} got {len(nameless)} without a name: give each {noun} one, as in "
                f"{type(self).__name__}({named}{', …' if len(nameless) > 2 else ''})."
            )
        if not members:
            raise ValueError(f"{type(self).__name__} of nothing: give at least one {noun} as name={noun}.")
        for name, piece in members.items():
            if not isinstance(piece, kind):
                raise ValueError(f"{type(self).__name__}: {name} is {piece!r}, expected a {noun}.")
            if not _nameable(str(name)):
                raise ValueError(
                    f"{type(self).__name__}: {name!r} cannot name a {noun}: use letters, digits and _, and no word of "
                    "Python's."
                )
        object.__setattr__(self, "members", dict(members))


def _nameable(name: str) -> bool:
    """Whether Python takes a name as a keyword argument, and as this one: it reads some letters as others."""
    reserved = keyword.iskeyword(name) or name in ("type", "self", "__debug__")
    return name.isidentifier() and not reserved and unicodedata.normalize("NFKC", name) == name


def refuse_unknown(block: str | None, names: Collection[str]) -> None:
    """Refuse a block that is none of ``names``, by naming the nearest; None stands for all of them."""
    if block is not None and block not in names:
        named = [name for name in names if name]
        free = ": the featurizer has no named blocks; penalise all features by Recipe(regularizer=lsat.Ridge())."
        raise ValueError(f"There is no block {block!r} for the regularizer{nearest(block, named) if named else free}")


def named_columns(columns: Mapping[str, slice], block: str | None) -> slice:
    """Return the columns of ``block``, or all of them for None; an unknown name is refused by `refuse_unknown`."""
    refuse_unknown(block, columns)
    return slice(0, max((c.stop for c in columns.values()), default=0)) if block is None else columns[block]
