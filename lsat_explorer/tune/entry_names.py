"""Names for the entries of ω that stand for columns of the user's table, or for features made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..model.featurizers import Chain, Concat
from ..model.prepared import Featurizer
from ..model.regularizers import Diagonal, Regularizer, Stack
from .coefficients import by_block, feature_names, named

if TYPE_CHECKING:
    from torch import Tensor

    from ..model.recipe import Recipe

__all__ = ["EntryNames"]


class EntryNames:
    """The names that entries of ω have from the columns of the table and the blocks of features.

    Parameters
    ----------
    recipe : Recipe
        Its featurizer, and its regularizer.
    inputs : sequence of str
        Names of the d columns.
    columns : mapping of str to slice
        Where each block of features is, as in ``model.blocks``.

    Examples
    --------
    >>> import torch
    >>> from lsat_explorer import Recipe
    >>> names = EntryNames(Recipe(), ["age", "height"], {"features": slice(0, 2), "one": slice(2, 3)})
    >>> names.of("featurizer.features.shift", torch.zeros(2))
    ('age', 'height')
    >>> names.of("regularizer.log_weight", torch.tensor(0.0))
    """

    def __init__(self, recipe: Recipe, inputs: Sequence[str], columns: Mapping[str, slice]) -> None:
        blocks = by_block(recipe.featurizer, inputs)
        self._names = dict(_steps(recipe.featurizer, inputs, "featurizer"))
        self._names |= dict(_diagonals(recipe.regularizer, blocks, columns, "regularizer"))

    def of(self, entry: str, value: Tensor) -> tuple[str, ...] | None:
        """Return a name for each value (q, …) of an entry, or None where they have none."""
        names = self._names.get(entry.rpartition(".")[0])
        return names if names is not None and value.ndim and value.shape[0] == len(names) else None


def _steps(featurizer: Featurizer, inputs: Sequence[str] | str, part: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what the columns are called that each step of a featurizer takes in, where it is not numbers alone."""
    if isinstance(featurizer, Concat):
        for name, member in featurizer.members.items():
            yield from _steps(member, inputs, f"{part}.{name}")
    elif isinstance(featurizer, Chain):
        for name, member in featurizer.members.items():
            yield from _steps(member, inputs, f"{part}.{name}")
            inputs = named(member, inputs)
    elif not isinstance(inputs, str):
        yield part, tuple(inputs)


def _diagonals(
    regularizer: Regularizer, blocks: Mapping[str, Sequence[str] | str], columns: Mapping[str, slice], part: str
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what the features are called that have a weight each."""
    if isinstance(regularizer, Stack):
        for name, member in regularizer.members.items():
            yield from _diagonals(member, blocks, columns, f"{part}.{name}")
    if isinstance(regularizer, Diagonal):
        mine = [name for name in columns if regularizer.block in (None, name)]
        features = [(name, each) for name in mine for each in feature_names(blocks[name], columns[name])]
        own = [each for _, each in features]
        told = own if len(set(own)) == len(own) else [f"{name}: {each}" for name, each in features]
        yield part, tuple(told)
