"""The coefficients of a fit as a table, with a name for each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..model.featurizers import Chain, Concat, Constant, Identity, PowerTransform, Scale, SelectFeatures
from ..model.featurizers.chain import step_names
from ..model.prepared import Featurizer

if TYPE_CHECKING:
    import pandas

    from .fitted import FittedModel

__all__ = ["by_block", "coefficients", "feature_names", "named"]


def coefficients(model: FittedModel) -> pandas.DataFrame:
    """Return θ (n, m), a row for each feature by block and name, and a column for each class or output."""
    import pandas

    blocks = by_block(model.recipe.featurizer, model.feature_names)
    rows = [(block, name) for block, columns in model.blocks.items() for name in feature_names(blocks[block], columns)]
    outputs = model.classes or model.target_names or range(model.theta.shape[1])
    return pandas.DataFrame(
        model.theta.cpu().numpy(),
        index=pandas.MultiIndex.from_tuples(rows, names=["block", "feature"]),
        columns=pandas.Index(list(outputs), name="output" if model.classes is None else "class", tupleize_cols=False),
    )


def by_block(featurizer: Featurizer, inputs: Sequence[str]) -> dict[str, Sequence[str] | str]:
    """Return the names of each block's features, or the word that they are numbered by."""
    if not isinstance(featurizer, Concat):
        return {"": named(featurizer, inputs)}
    members = {name: by_block(member, inputs) for name, member in featurizer.members.items()}
    return {f"{name}.{part}" if part else name: names for name, its in members.items() for part, names in its.items()}


def named(featurizer: Featurizer, inputs: Sequence[str] | str) -> Sequence[str] | str:
    """Return the names of a featurizer's features, given those of its inputs, or the word that they are numbered by."""
    if isinstance(featurizer, Identity | PowerTransform | Scale | SelectFeatures):
        return inputs  # a feature for each column
    if isinstance(featurizer, Constant):
        return ("1",)
    if isinstance(featurizer, Chain):
        for member in featurizer.members.values():
            inputs = named(member, inputs)
        return inputs
    return step_names([type(featurizer).__name__])[0]


def feature_names(names: Sequence[str] | str, columns: slice) -> list[str]:
    """Return a name for each feature of a block, given what `by_block` says of it."""
    return [f"{names} {i}" for i in range(columns.stop - columns.start)] if isinstance(names, str) else list(names)
