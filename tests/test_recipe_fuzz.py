"""Recipes from strangers: any text gives a recipe or a ValueError, and reading it touches nothing else.

`LSAT_FUZZ_SECONDS=300 pytest tests/test_recipe_fuzz.py` (`make fuzz`) tries others until so many seconds are over.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from itertools import count
from operator import getitem
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

import lsat_explorer as lsat
from lsat_explorer.model.piece import REGISTRY
from telling import SECONDS, telling

TRIED: Counter[str] = Counter()
RECIPES = (
    lsat.Recipe(),
    lsat.recipes.paper_weighting(shape=(8, 8), per_class=2),
    lsat.recipes.mnist_one_percent(),
    lsat.Recipe(
        featurizer=lsat.Concat(x=lsat.Chain(lsat.Scale(), lsat.PowerTransform()), one=lsat.Constant()),
        regularizer=lsat.Stack(ridge=lsat.Ridge(), smooth=lsat.Smooth(lsat.graphs.path(4), block="x")),
        loss=lsat.SquaredError(),
        criterion=lsat.KFold(folds=3),
        method=lsat.LBFGS(),
        early_stopping=lsat.EarlyStopping(patience=3),
        hyper_penalties={"regularizer.ridge.log_weight": lsat.Box(-4, 4)},
    ),
)
TEXTS = tuple(recipe.to_json() for recipe in RECIPES)


told = telling("spoilt recipes", "texts", TRIED, "nothing opened or imported")


FORBIDDEN = ("open", "exec", "compile", "import", "socket", "subprocess", "os.", "shutil", "urllib", "ctypes", "pickle")

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from([*REGISTRY, "__class__", "__import__('os')", "../../etc/passwd", "\x00", "NaN", "1e999"])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.just("type"), inner, max_size=4)
        | st.builds(
            lambda kind, rest: {**rest, "type": kind},
            st.sampled_from(sorted(REGISTRY)),
            st.dictionaries(
                st.sampled_from(["members", "block", "graph", "folds", "low", "high", "name", "steps"]),
                inner,
                max_size=3,
            ),
        )
    ),
    max_leaves=8,
)

_watching: list[str] | None = None
_watched = threading.get_ident()  # other threads of the tests may open what they like


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching is not None and event.startswith(FORBIDDEN) and threading.get_ident() == _watched:
        _watching.append(f"{event} {arguments[:1]}")


sys.addaudithook(_hear)


@contextmanager
def nothing_touched() -> Iterator[None]:
    """Fail where anything is opened, imported, evaluated or fetched inside.

    No garbage is collected inside, as what it calls back opens what it likes (distributed reads the memory in use).
    """
    global _watching
    gc.disable()
    _watching = found = []
    try:
        yield
    finally:
        _watching = None
        gc.enable()
    assert found == []


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to every value inside of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """A JSON value with another one at a path."""
    if not path:
        return other
    copied = value.copy()
    copied[path[0]] = put(value[path[0]], path[1:], other)
    return copied


def of_its_kind(value: Any) -> st.SearchStrategy[Any]:
    """Values that may stand in the place of one: of its type, or itself."""
    if isinstance(value, bool) or value is None:
        return st.booleans() | st.none()
    if isinstance(value, int):
        return st.integers(-2, 50) | st.just(value)
    if isinstance(value, float):
        return st.floats(-20, 20) | st.just(value)
    if isinstance(value, str):
        return st.sampled_from([value, "cpu", "float32", "x", *REGISTRY])
    return st.just(value)


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """A recipe's text in which some values, keys or characters are others, at times of the same kind as they were."""
    text = draw(st.sampled_from(TEXTS))
    value = json.loads(text)
    gently = draw(st.booleans())
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(value))[1:] or [()]))
        if isinstance(value, dict | list):
            value = put(value, path, draw(of_its_kind(reduce(getitem, path, value)) if gently else values))
    text = json.dumps(value)
    if gently:
        return text
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(text)))
        text = text[:cut] + draw(st.text(max_size=3)) + text[cut + draw(st.integers(0, 3)) :]
    return text


def read(text: str) -> None:
    """Read a text as a recipe: it is one that can be written again, or a ValueError says what is wrong."""
    with nothing_touched():
        try:
            recipe = lsat.Recipe.from_json(text)
        except ValueError:
            TRIED["refused"] += 1
            return
    TRIED["read"] += 1
    assert lsat.Recipe.from_json(recipe.to_json()) == recipe
    compile(recipe.to_source(), "recipe", "exec")


often = settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))


@often
@given(spoilt())
@example(json.dumps({**json.loads(TEXTS[0]), "engine": {}}))
def test_a_spoilt_recipe_is_read_or_refused(text: str) -> None:
    read(text)


anything = st.text(max_size=60) | values.map(json.dumps)


@often
@given(anything)
def test_any_text_is_read_or_refused(text: str) -> None:
    read(text)


@pytest.mark.skipif(not SECONDS, reason="LSAT_FUZZ_SECONDS says how long")
def test_recipes_are_read_or_refused_for_as_long_as_is_asked() -> None:
    end = time.monotonic() + SECONDS
    for number in count():
        for texts in (spoilt(), anything):
            if time.monotonic() > end:
                return
            seed(number)(settings(often, database=None)(given(texts)(read)))()


def test_the_watch_hears_what_is_opened() -> None:
    with pytest.raises(AssertionError, match="open"), nothing_touched():
        open(os.devnull).close()


def test_the_watch_does_not_hear_what_a_collection_of_garbage_opens() -> None:
    def opens(phase: str, info: dict[str, int]) -> None:
        open(os.devnull).close()

    gc.callbacks.append(opens)
    try:
        with nothing_touched():
            kept = [[number] for number in range(10 * gc.get_threshold()[0])]
    finally:
        gc.callbacks.remove(opens)
    assert kept
