"""The features of a fit by their names: in the words of a failed solve, and against the names of a graph's nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..model.prepared import refuse_unknown
from ..model.recipe import Recipe
from ..model.regularizers import Regularizer, Smooth, Stack
from .coefficients import by_block, feature_names

if TYPE_CHECKING:
    from ..solve.outcome import Outcome
    from .problem import Problem

__all__ = ["in_words", "refuse_misplaced_nodes", "refuse_unknown_blocks"]


def in_words(problem: Problem, outcome: Outcome) -> str:
    """Return what an outcome says, with the name of the feature that it numbers."""
    if outcome.column is None:
        return outcome.sentence
    names = _by_number(problem.recipe, problem.data.feature_names, problem.columns)
    return f"{outcome.sentence} Feature {outcome.column} is {names[outcome.column]!r}."


def refuse_unknown_blocks(recipe: Recipe) -> None:
    """Refuse a regularizer of a block that the featurizer will not have.

    Raises
    ------
    ValueError
        Naming the block, and the nearest that there is.
    """
    names = recipe.featurizer.block_names()
    for block in recipe.regularizer.block_names():
        refuse_unknown(block, names)


def refuse_misplaced_nodes(recipe: Recipe, inputs: Sequence[str], columns: Mapping[str, slice]) -> None:
    """Refuse a graph with a node that is named as a feature in another place.

    Nodes stand for features by their number; names that no feature has are only shown.

    Parameters
    ----------
    recipe : Recipe
        With its featurizer and regularizer.
    inputs : sequence of str
        Names of the d columns of the data.
    columns : mapping of str to slice
        Where each block of features is.

    Raises
    ------
    ValueError
        Naming the first such node.
    """
    names = _by_number(recipe, inputs, columns)
    for where, smooth in _smooth(recipe.regularizer, "regularizer"):
        nodes = smooth.graph.names
        if nodes is None:
            continue
        covered = [names[i] for block, part in columns.items() if smooth.block in (None, block) for i in _range(part)]
        for number, (node, feature) in enumerate(zip(nodes, covered, strict=False)):
            if node != feature and node in covered:
                raise ValueError(
                    f"{where}: node {number} of the graph is named {node!r}, and feature {number} is {feature!r}: "
                    "nodes stand for features by number. Use graph.ordered(data.feature_names), or rename the nodes."
                )


def _by_number(recipe: Recipe, inputs: Sequence[str], columns: Mapping[str, slice]) -> dict[int, str]:
    blocks = by_block(recipe.featurizer, inputs)
    return {
        number: name
        for block, part in columns.items()
        for number, name in zip(_range(part), feature_names(blocks[block], part), strict=True)
    }


def _range(part: slice) -> range:
    return range(part.start, part.stop)


def _smooth(regularizer: Regularizer, where: str) -> Iterator[tuple[str, Smooth]]:
    if isinstance(regularizer, Smooth):
        yield where, regularizer
    elif isinstance(regularizer, Stack):
        for name, member in regularizer.members.items():
            yield from _smooth(member, f"{where}.{name}")
