"""What a piece says to arguments that it does not take: for every piece in the registry, and for the recipe."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import lsat_explorer as lsat
from lsat_explorer.model.piece import REGISTRY, Piece, register
from pieces import ALL, EXAMPLES

OPEN = {"Chain", "Concat", "Stack"}  # any keyword names a member
KINDS = [*REGISTRY.values(), lsat.Recipe]
CLOSED = [kind for kind in KINDS if kind.__name__ not in OPEN]
NAMED = [(kind, name) for kind in CLOSED for name in inspect.signature(kind).parameters if len(name) > 3]


@pytest.mark.parametrize("kind", CLOSED, ids=lambda kind: kind.__name__)
def test_an_unknown_keyword_is_refused_in_words_that_say_what_there_is(kind):
    with pytest.raises(
        TypeError, match=f"^{kind.__name__} has no 'zzz': (expected one of|it takes nothing, write)"
    ) as told:
        kind(zzz=3)
    for name in inspect.signature(kind).parameters:
        assert name in str(told.value)


@pytest.mark.parametrize(("kind", "name"), NAMED, ids=lambda each: each if isinstance(each, str) else each.__name__)
def test_a_misspelt_keyword_is_refused_by_the_one_that_was_meant(kind, name):
    with pytest.raises(TypeError, match=f"^{kind.__name__} has no '{name}x': did you mean '{name}'"):
        kind(**{f"{name}x": 3})


@pytest.mark.parametrize("kind", CLOSED, ids=lambda kind: kind.__name__)
def test_too_many_values_are_refused_by_those_that_there_are(kind):
    taken = list(inspect.signature(kind).parameters)
    with pytest.raises(TypeError, match=f"^{kind.__name__} got .*(at most|a tuple of them|it takes nothing)") as told:
        kind(*range(len(taken) + 1))
    assert "positional" not in str(told.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: lsat.Sum(lsat.SumSquares(1.0), lsat.ZeroSum()),
            r"Sum got 2 values, expected a tuple of them: write Sum\(\(SumSquares\(weight=1.0\), ZeroSum\(\)\)\)\.",
        ),
        (lambda: lsat.FixedWeights(1, 2, 3), r"FixedWeights got 3 values, .* write FixedWeights\(\(1, 2, …\)\)\."),
        (lambda: lsat.LogWeights(3), r"LogWeights got 3: it takes nothing, write LogWeights\(\)\."),
        (lambda: lsat.LogWeights(np.ones(99)), r"LogWeights got a ndarray of 99: it takes nothing"),
        (lambda: lsat.Box(1, 2, 3), r"Box got 3 values, expected at most 2 \(low, high\): give each by its name\."),
        (lambda: lsat.KMeansArchetypes(clusters=3), "KMeansArchetypes has no 'clusters': expected one of per_class, "),
        (lambda: lsat.Recipe(features=lsat.Scale()), "Recipe has no 'features': did you mean 'featurizer'"),
        (lambda: lsat.Recipe().replace(method=None, mehtod=3), "Recipe has no 'mehtod': did you mean 'method'"),
    ],
)
def test_what_was_meant_is_told(make, message):
    with pytest.raises(TypeError, match=f"^{message}") as told:
        make()
    assert "\n" not in str(told.value)


def test_what_a_piece_itself_refuses_keeps_its_words_and_its_kind():
    with pytest.raises(ValueError, match="SumSquares: weight is -1"):
        lsat.SumSquares(-1.0)

    class Odd(TypeError):
        pass

    @register
    @dataclass(frozen=True, repr=False)
    class Picky(Piece):
        size: int = 1

        def __post_init__(self) -> None:
            raise Odd("no size will do")

    del REGISTRY["Picky"]
    with pytest.raises(Odd, match="no size will do"):
        Picky(2)
    with pytest.raises(TypeError, match="Picky has no 'sizes': did you mean 'size'"):
        Picky(sizes=2)


@pytest.mark.parametrize("piece", ALL, ids=lambda piece: repr(piece)[:60])
def test_pieces_are_copied_and_pickled_as_before(piece):
    assert copy.deepcopy(piece) == piece
    assert pickle.loads(pickle.dumps(piece)) == piece


def test_signatures_are_those_of_the_fields():
    assert str(inspect.signature(lsat.Box)) == "(low: 'float | None' = -8.0, high: 'float | None' = 8.0) -> None"
    assert set(EXAMPLES) >= OPEN
