"""Shapley values of training rows for nearest neighbours, against their definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsat_explorer as lsat
from explained import CASES, Plain, all_models
from lsat_explorer import explain
from lsat_explorer.explain.shapley import shapley_values


@pytest.fixture(scope="module")
def models() -> dict[str, lsat.FittedModel]:
    return all_models()


def brute_force(distances: np.ndarray, agree: np.ndarray, neighbours: int) -> np.ndarray:
    """Shapley values by their definition: what each row adds, averaged over all orders."""
    k = len(distances)
    ranks = np.lexsort((np.arange(k), distances)).argsort()

    def worth(rows: tuple[int, ...]) -> float:
        nearest = sorted(rows, key=lambda row: ranks[row])[:neighbours]
        return sum(agree[row] for row in nearest) / neighbours

    total = np.zeros(k)
    for order in itertools.permutations(range(k)):
        for place, row in enumerate(order):
            total[row] += worth(order[: place + 1]) - worth(order[:place])
    return total / math.factorial(k)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(1, 5).flatmap(
        lambda k: st.tuples(
            st.lists(st.integers(-4, 4), min_size=k, max_size=k),
            st.lists(st.integers(0, 2), min_size=k, max_size=k),
            st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 2)), min_size=1, max_size=3),
            st.integers(1, 7),
        )
    )
)
def test_shapley_values_are_those_of_the_definition(drawn):
    places, codes, judged, neighbours = drawn
    X, codes = np.array(places, np.float32)[:, None], np.array(codes)
    V, labels = np.array([v for v, _ in judged], np.float32)[:, None], np.array([c for _, c in judged])
    expected = np.mean(
        [brute_force((X[:, 0] - v) ** 2, codes == c, neighbours) for v, c in zip(V[:, 0], labels, strict=True)], axis=0
    )
    np.testing.assert_allclose(shapley_values(X, codes, V, labels, neighbours), expected, atol=1e-12)


def test_shapley_values_of_a_model_add_up_to_the_agreement_of_its_nearest_rows(models):
    data, _ = CASES["features that move"]
    plain, table = Plain(models["features that move"], data), explain.knn_shapley(models["features that move"])
    distances = ((plain.V[:, None] - plain.X[None]) ** 2).sum(2)
    nearest = distances.argsort(1)[:, :10]
    agreement = (data.train.labels[nearest] == data.validation.labels[:, None]).mean()
    assert table.shapley.sum() == pytest.approx(agreement, abs=1e-12)
    with pytest.raises(ValueError, match=r"regression: use label_doubt"):
        explain.knn_shapley(models["two outputs"])
    with pytest.raises(ValueError, match="neighbours is 0: expected a whole number"):
        explain.knn_shapley(models["classes"], neighbours=0)
