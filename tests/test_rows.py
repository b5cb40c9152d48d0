"""Rows in an order, filtered, counted and predicted: the functions below the weight browser."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.plots.words import span_text, weight_places, weight_text
from lsat_explorer.widgets.row_filters import check_ends, confusion_counts, in_cell, in_range, range_counts
from lsat_explorer.widgets.row_findings import Wish
from lsat_explorer.widgets.row_fits import RowFits
from lsat_explorer.widgets.row_predictions import fit_of, predictions_of, row_losses, said_of
from lsat_explorer.widgets.row_tiles import RowTiles
from lsat_explorer.widgets.rows import (
    ORDERS,
    Order,
    RowValues,
    name_of,
    order_of,
    order_text,
    page_of,
)


@pytest.fixture(scope="module")
def run(digits: lsat.Data) -> lsat.Run:
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), method=lsat.ProximalGradient(max_iterations=2))
    return lsat.tune(recipe, digits, progress=False)


# orders and pages


def test_a_page_is_in_order_and_ties_stay_in_the_order_of_the_data() -> None:
    weights = [1.0, 0.5, np.nan, 0.5, 2.0, 0.5]
    assert page_of(weights, 1, 10).positions.tolist() == [1, 3, 5, 0, 4, 2]
    assert page_of(weights, 1, 10, falling=True).positions.tolist() == [4, 0, 1, 3, 5, 2]


@pytest.mark.parametrize("size", [1, 3, 4, 10, 11, 500])
@pytest.mark.parametrize("falling", [False, True])
def test_pages_hold_every_row_once(falling: bool, size: int) -> None:
    weights = np.random.default_rng(0).random(10)
    pages = page_of(weights, 1, size).pages
    rows = np.concatenate([page_of(weights, n, size, falling=falling).positions for n in range(1, pages + 1)])
    assert sorted(rows) == list(range(10))
    assert np.all(np.diff(weights[rows]) >= 0) != falling


def test_a_page_beyond_the_last_is_the_last_and_no_rows_make_one_empty_page() -> None:
    assert page_of([1.0, 2.0, 3.0], 99, 2).positions.tolist() == [2]
    assert page_of([1.0, 2.0, 3.0], -1, 2).number == 1
    for empty in (page_of([], 1, 2), page_of([1.0], 1, 2, keep=[False])):
        assert (len(empty.positions), empty.number, empty.pages, empty.total) == (0, 1, 1, 0)
    with pytest.raises(ValueError, match="0 rows"):
        page_of([1.0], 1, 0)


def test_orders_are_columns_with_a_direction() -> None:
    assert {name: (order.column, order.falling) for name, order in ORDERS.items()} == {
        "lightest": ("weight", False),
        "heaviest": ("weight", True),
        "doubt": ("doubt", False),
        "-doubt": ("doubt", True),
        "effect": ("effect", False),
        "-effect": ("effect", True),
        "row": ("row", False),
        "-row": ("row", True),
        "label": ("label", False),
        "-label": ("label", True),
        "predicted": ("predicted", False),
        "-predicted": ("predicted", True),
        "loss": ("loss", False),
        "-loss": ("loss", True),
    }
    assert order_of("-feature loss", ["loss"]) == Order("feature loss", True)
    for name in ("doubts", "-lightest", "feature b", "--row", ""):
        with pytest.raises(ValueError, match=r"order is .*expected one of 'lightest'.* or 'feature a'"):
            order_of(name, ["a"])


def test_orders_are_told_in_words() -> None:
    assert order_text(ORDERS["lightest"]) == "Lightest rows"
    assert order_text(ORDERS["-predicted"]) == "Rows by predicted label, falling"
    assert order_text(Order("feature age")) == "Rows by age, rising"


# words


def test_weights_are_told_apart_in_words() -> None:
    assert span_text([0.2944, 4.13]) == "weights 0.29 to 4.13"
    assert span_text([0.99871, 1.00202]) == "weights 0.9987 to 1.0020"
    assert span_text([1.0, 1.0]) == "all weights are 1.00"
    assert span_text([np.nan]) == span_text([]) == "no weights"
    assert weight_places([1.0, 1.0 + 1e-12]) == 5
    assert weight_text(0.0) == "0.00"
    assert weight_text(np.inf) == "–"


def test_names_are_one_line_of_text() -> None:
    assert name_of("a\n b") == "a b"
    assert name_of("") == "(empty)"
    assert len(name_of("n" * 300)) == 120
    assert name_of(np.array([0.5, 2.0])) == "0.5, 2"
    assert name_of(pd.Timestamp("2024-05-01")) == "2024-05-01 00:00:00"


def test_rows_without_images_show_how_they_deviate() -> None:
    inputs = np.zeros((4, 3))
    inputs[0, 1:], inputs[1, 2] = (6.0, -1.0), -0.5  # hand: 4.5 / 2.598 and -0.625 / 0.415 deviations
    values = RowValues(inputs, ["constant", "<b>", "small"])
    assert values.graphs(np.array([0]))[0] == [0.0, 1.73, -1.51]
    assert values.unusual(np.array([0]), most=2)[0] == [("<b>", "6"), ("small", "−1")]
    assert values.column(2).tolist() == [-1.0, -0.5, 0.0, 0.0]
    wide = RowValues(np.random.default_rng(0).standard_normal((5, 1000)), [str(i) for i in range(1000)])
    assert len(wide.graphs(np.array([0, 1]))[1]) <= 48
    assert values.graphs(np.array([], dtype=int)) == []


# filters and counts


@pytest.mark.parametrize(
    ("ends", "kept"),
    [
        (None, [1, 1, 1, 1]),
        ((0.5, 2.0), [0, 1, 1, 0]),  # the ends are inside, NaN never is
        ((None, 0.5), [1, 1, 0, 0]),
        ((0.6, None), [0, 0, 1, 0]),
        ((3.0, 4.0), [0, 0, 0, 0]),
    ],
)
def test_a_range_keeps_the_weights_in_it(ends: Any, kept: list[int]) -> None:
    assert in_range([0.2, 0.5, 2.0, np.nan], ends).tolist() == [bool(one) for one in kept]


def test_ends_are_two_numbers_in_order_or_open() -> None:
    assert check_ends([1, np.float32(2)]) == (1.0, 2.0)
    assert check_ends((-np.inf, np.inf)) is None
    assert check_ends((0.5, np.inf)) == (0.5, None)
    for bad in ((2.0, 1.0), (np.nan, 1.0), (None, np.nan)):
        with pytest.raises(ValueError, match="low no larger than high"):
            check_ends(bad)
    for bad in (1.0, "ab", (1.0,), (1.0, 2.0, 3.0), ("a", 1.0), (True, 2.0), {}):
        with pytest.raises(ValueError, match="expected \\(low, high\\)"):
            check_ends(bad)


def test_rows_are_counted_by_given_and_predicted_class() -> None:
    given, predicted = [0, 0, 2, 2, 2], [0, 2, 2, 2, 1]
    counts = confusion_counts(given, predicted, 3)
    assert counts.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 2]]
    for cell in np.ndindex(3, 3):
        assert in_cell(given, predicted, (cell[0], cell[1])).sum() == counts[cell]
    assert in_cell(given, predicted, (2, 2)).tolist() == [False, False, True, True, False]


def test_the_histogram_counts_all_rows_and_those_that_are_kept() -> None:
    # bins of a factor 10: [0.1, 1), [1, 10), [10, 100]
    found = range_counts([0.1, 0.5, 2.0, 20.0, 100.0, np.nan], [0, 1, 1, 0, 1, 1], 3)
    assert (found["all"], found["kept"], found["log"], found["steep"]) == ([2, 1, 2], [1, 1, 1], True, False)
    assert (found["low"], found["high"]) == (0.1, 100.0)
    assert found["tall"] == [[1.0, 0.5, 1.0], [0.5, 0.5, 0.5]]
    with_zero = range_counts([0.0, 1.0, 2.0], [1, 1, 1], 2)
    assert (with_zero["all"], with_zero["log"]) == ([1, 2], False)
    equal = range_counts([1.0, 1.0], [1, 0], 5)
    assert (equal["all"], equal["kept"], equal["log"]) == ([2], [1], False)
    assert range_counts([np.nan], [1], 5)["all"] == []
    assert range_counts([1.0, 2.0], [0, 0], 2)["kept"] == [0, 0]


def test_bars_are_logarithmic_where_small_counts_would_vanish() -> None:
    weights = np.concatenate([np.full(999, 1.0), [10.0]])
    found = range_counts(weights, np.ones(1000), 2)
    assert found["steep"]
    assert found["tall"][0] == [1.0, round(np.log(2) / np.log(1000), 3)]


# predictions


def test_predictions_are_those_of_the_model(run: lsat.Run, digits: lsat.Data) -> None:
    found = predictions_of(run.model, digits.train)
    assert found is not None
    labels = run.model.predict(digits.train.inputs)
    assert found.words == [str(label) for label in labels]
    assert np.asarray(digits.classes)[found.codes].tolist() == labels.tolist()
    given = digits.train.targets.argmax(1).numpy()
    chances = run.model.predict_proba(digits.train.inputs)[np.arange(len(given)), given]
    np.testing.assert_allclose(found.losses, -np.log(chances), rtol=1e-9)
    assert found.losses.mean() == pytest.approx(run.iterates[-1].training_loss, rel=1e-6)
    assert predictions_of(run.model, digits.train, lambda: True) is None


def test_a_row_alone_is_told_as_among_all(run: lsat.Run, digits: lsat.Data) -> None:
    found = predictions_of(run.model, digits.train)
    assert found is not None
    said = said_of(run.model, digits.train, 17)
    chances = run.model.predict_proba(digits.train.inputs[17:18])[0]
    assert (said["words"], said["sure"]) == (found.words[17], True)
    assert said["loss"] == f"{found.losses[17]:.4g}"
    assert said["bars"][0] == [found.words[17], round(float(chances.max()), 4), f"{100 * chances.max():.1f} %"]
    shares = [share for _, share, _ in said["bars"]]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 5


@pytest.mark.parametrize("outputs", [1, 2])
def test_regression_tells_its_outputs(outputs: int) -> None:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((60, 3))
    data = lsat.Data.from_arrays(inputs, inputs[:, :outputs] + 0.1 * rng.standard_normal((60, outputs)))
    model = lsat.tune(lsat.Recipe(), data, progress=False).model
    found = predictions_of(model, data.train)
    assert found is not None
    scores = model.decision_function(data.train.inputs)
    assert found.codes.tolist() == scores[:, 0].tolist()
    np.testing.assert_allclose(found.losses, np.square(scores - data.train.targets.numpy()).sum(1))
    said = said_of(model, data.train, 3)
    assert (said["words"], said["bars"]) == (name_of(scores[3]), [])


def test_scores_that_are_no_probabilities_are_told_as_outputs(digits: lsat.Data) -> None:
    model = lsat.tune(lsat.Recipe(loss=lsat.SquaredError()), digits, progress=False).model
    said = said_of(model, digits.train, 0)
    scores = model.decision_function(digits.train.inputs[:1])[0]
    assert not said["sure"]
    assert said["bars"][0][1:] == [1.0, f"{scores.max():.3g}"]
    assert "%" not in said["bars"][0][2]


def test_a_loss_that_branches_is_taken_row_by_row() -> None:
    def branching(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        errors = (predictions - targets).abs().sum()
        return errors if errors > 1 else errors * 0

    lsat.register_loss("of one branch", branching)
    found = row_losses(lsat.CustomLoss("of one branch"), torch.tensor([[0.5], [3.0]]), torch.zeros(2, 1), {})
    assert found.tolist() == [0.0, 3.0]


def test_a_fit_knows_its_iterate_and_when_it_is_behind(digits: lsat.Data) -> None:
    recipe = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=3))
    run = lsat.Run(recipe, digits)
    steps = run.steps()
    next(steps)
    fit = fit_of(run)
    assert (fit.number, fit.behind(run)) == (0, False)
    accepted = next(iterate for iterate in steps if iterate.accepted)
    assert fit.behind(run)
    assert fit_of(run).number == accepted.number


class Counting:
    """A run whose models are counted."""

    def __init__(self, run: lsat.Run) -> None:
        self._run, self.models = run, 0

    def __getattr__(self, name: str) -> Any:
        if name == "model":
            self.models += 1
        return getattr(self._run, name)


def test_a_run_that_goes_on_is_asked_for_a_model_only_on_demand(digits: lsat.Data) -> None:
    run = lsat.Run(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=4)), digits)
    counted, told, tiles = Counting(run), threading.Event(), RowTiles(digits)
    fits = RowFits(told.set)
    fits.take(counted)
    fits.ask(Wish(tiles=tiles, rows=True, position=0))
    assert (fits.standing()["can"], fits.standing()["busy"]) == (False, False)  # it has not begun
    steps = run.steps()
    next(steps)
    fits.ask(Wish(tiles=tiles, rows=False, position=-1))
    assert counted.models == 0  # nobody wants anything
    fits.ask(Wish(tiles=tiles, rows=True, position=7))
    assert fits.wait(60)
    assert told.is_set()
    assert counted.models == 1
    predictions = fits.told(tiles).predictions
    assert predictions is not None
    assert fits.said(tiles, 7)["words"] == predictions.words[7]
    assert fits.said(tiles, 8) == {}
    next(iterate for iterate in steps if iterate.accepted)
    fits.ask(Wish(tiles=tiles, rows=True, position=8))
    assert fits.wait(60)
    assert counted.models == 1  # while the run goes on the fit at hand serves
    standing = fits.standing()
    assert (standing["number"], standing["behind"], standing["now"] > 0) == (0, True, True)
    fits.ask(Wish(tiles=tiles, rows=True, position=8, renew=True))
    assert fits.wait(60)
    assert counted.models == 2
    assert not fits.standing()["behind"]
    for _ in steps:
        pass
    fits.ask(Wish(tiles=tiles, rows=True, position=8))
    assert fits.wait(60)
    assert not fits.standing()["behind"]  # at rest it follows by itself
    asked = counted.models
    fits.ask(Wish(tiles=tiles, rows=True, position=8))
    assert fits.wait(60)
    assert counted.models == asked
    fits.close()


def test_a_run_without_a_fit_says_why(run: lsat.Run) -> None:
    class Unsolved(Counting):
        @property
        def model(self) -> Any:
            raise ValueError("singular")

    fits = RowFits(lambda: None)
    fits.take(Unsolved(run))
    tiles = RowTiles(run.data)
    fits.ask(Wish(tiles=tiles, rows=True))
    assert fits.wait(60)
    assert fits.problem == "The rows could not be predicted: singular"
    assert fits.told(tiles).predictions is None
    fits.take(run)
    assert fits.problem == ""
    fits.close()
