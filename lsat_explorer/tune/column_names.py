"""The features of a fit by their names: in the words of a solve that failed or lost digits, and of a graph's nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..data.on_disk import RowsApart
from ..data.on_workers import RowsOnWorkers
from ..data.sparse_rows import RowsSparse
from ..model.featurizers import Concat, Constant
from ..model.piece import Omega, within
from ..model.prepared import Featurizer, refuse_unknown
from ..model.recipe import Recipe
from ..model.regularizers import Regularizer, Smooth, Stack
from ..solve.outcome import Reason
from .coefficients import by_block, feature_names

if TYPE_CHECKING:
    from ..solve.outcome import Outcome
    from .problem import Problem

__all__ = ["far_from_zero", "in_words", "refuse_misplaced_nodes", "refuse_unknown_blocks"]

_PLACES, _ROWS = 8, 32
"""Where among the rows, from the first to the last, and how many at each, they are looked at for their distance from
zero."""
_FAR, _ALIKE = 3e4, 1e13
"""Deviations from zero from which digits of ψ are lost that matter, and from which a column is all but constant."""


def in_words(problem: Problem, outcome: Outcome) -> str:
    """Return what an outcome says, with the name of the feature that it numbers."""
    if outcome.column is None:
        return outcome.sentence
    names = _by_number(problem.recipe, problem.data.feature_names, problem.columns)
    sentence = f"{outcome.sentence} Feature {outcome.column} is {names[outcome.column]!r}."
    far = far_from_zero(problem, problem.init()) if outcome.reason is Reason.RANK_DEFICIENT else ""
    return f"{sentence} {far}" if far else sentence


def far_from_zero(problem: Problem, omega: Omega) -> str:
    """Return the warning of a feature that is far from zero for its deviation, beside a constant; empty elsewhere.

    XᵀX holds the squares of means μ: of a deviation s it keeps all but 2⁻⁵² μ²/s², relative, and ψ a tenth of that.
    Without a constant among the features a mean is what the fit needs.
    """
    inputs = problem.data.train.inputs
    if isinstance(inputs, RowsOnWorkers | RowsSparse) or not _has_constant(problem.recipe.featurizer):
        return ""
    with torch.no_grad():
        rows = _some_of(inputs).to(problem.device).double()
        blocks = problem.prepared.blocks(within("featurizer", problem.there(omega)), rows)
        features = torch.cat(list(blocks.values()), 1)
        multiples = features.mean(0).abs() / features.std(0, correction=0)
    multiples = torch.where(multiples < _ALIKE, multiples, 0.0)  # columns that do not vary are told otherwise
    worst = int(multiples.argmax())
    multiple = float(multiples[worst])
    if not multiple > _FAR:
        return ""
    name = _by_number(problem.recipe, problem.data.feature_names, problem.columns)[worst]
    places = max(0, math.floor(-math.log10(10 * torch.finfo(torch.float64).eps * multiple**2)))
    return (
        f"{name!r} is {multiple:.0e} times its deviation away from zero, and there is a constant beside it: about "
        f"{places} digits of the loss hold. Standardise the columns, as Scale() does."
    )


def _some_of(inputs: Tensor) -> Tensor:
    """Return some rows of inputs (N, d), those on disk read and not mapped: pages count as memory."""
    read = inputs.read if isinstance(inputs, RowsApart) else inputs.__getitem__
    count = min(_ROWS, len(inputs))
    starts = torch.linspace(0, len(inputs) - count, _PLACES, device="cpu").long().tolist()
    return torch.cat([read(slice(start, start + count)) for start in starts])


def _has_constant(featurizer: Featurizer) -> bool:
    if isinstance(featurizer, Concat):
        return any(map(_has_constant, featurizer.members.values()))
    return isinstance(featurizer, Constant)


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
