"""A WeightBrowser over weights that lie with workers shows what it shows of weights here, and never fetches all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from cluster import cluster, distributed, on_disk
from lsat_explorer.data.on_workers import RowsOnWorkers
from lsat_explorer.engines import DaskRows, looked
from lsat_explorer.engines.by_row import ByRow
from lsat_explorer.model.cluster import connected
from lsat_explorer.widgets import Explorer, WeightBrowser
from lsat_explorer.widgets.row_weights import Weights, WeightsApart

array = pytest.importorskip("dask.array")

NAME = "data_weights.log_weight"
RECIPE = lsat.Recipe(data_weights=lsat.LogWeights(), dtype="float64", method=lsat.LineSearch(max_iterations=2))
SIZE = 5


@pytest.fixture(scope="module")
def engine() -> Iterator[lsat.Dask]:
    """Three workers in this process, and a client of the user's."""
    with cluster(3) as workers, distributed.Client(workers):
        engine = lsat.Dask(workers, weights="workers")
        yield engine
        connected(engine.address).close()


@pytest.fixture
def rows(digits: lsat.Data, engine: lsat.Dask, tmp_path) -> DaskRows:
    found = lsat.Problem(RECIPE.replace(engine=engine), on_disk(digits, tmp_path)).parts[0].rows
    assert isinstance(found, DaskRows)
    return found


@pytest.fixture
def run(digits: lsat.Data, engine: lsat.Dask, tmp_path) -> lsat.Run:
    return lsat.tune(RECIPE.replace(engine=engine), on_disk(digits, tmp_path), progress=False)


def browsed(run: lsat.Run, **how: Any) -> WeightBrowser:
    return WeightBrowser(run, verdicts=lsat.Verdicts(), page_size=SIZE, **how)


class Brought:
    """How many numbers came here from workers at a time, and went there, beside what questions carry."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most, self.trips = 0, 0
        brought, laid, gathered = DaskRows.brought, DaskRows.laid, DaskRows._gathered

        def bring(rows: DaskRows, parts: Any) -> Any:
            found = brought(rows, parts)
            self.trips += 1
            self.most = max(self.most, *(one.size for one in found))
            return found

        def lay(rows: DaskRows, values: Any) -> Any:
            if not isinstance(values, ByRow) and values not in rows._lying:
                self.most = max(self.most, len(values))
            return laid(rows, values)

        def gather(rows: DaskRows, futures: Any) -> Any:
            self.trips += 1
            return gathered(rows, futures)

        monkeypatch.setattr(DaskRows, "brought", bring)
        monkeypatch.setattr(DaskRows, "laid", lay)
        monkeypatch.setattr(DaskRows, "_gathered", gather)


ORDERED = {
    "spread": lambda k: np.sin(np.arange(k) ** 2.0),
    "in ties": lambda k: np.arange(k) % 3.0,
    "all the same": np.ones,
    "with NaN": lambda k: np.where(np.arange(k) % 5 == 0, np.nan, np.arange(k) % 7.0),
}


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("kind", ORDERED)
def test_the_first_numbers_are_those_of_a_stable_sort(rows: DaskRows, kind: str, falling: bool) -> None:
    values = torch.from_numpy(ORDERED[kind](len(rows)))
    here, there = (lambda: np.zeros(len(rows), int)), rows.spread(values)
    ours, theirs = WeightsApart(there, here), Weights(values.numpy(), here)
    np.testing.assert_array_equal(ours.ends, theirs.ends)
    for ends in (None, (0.5, None), (None, 1.5), (0.5, 1.5), (9.0, None)):
        kept, expected = ours.kept(ends, -1, None), theirs.kept(ends, -1, None)
        for page in (1, 2, 7, 10**6):
            found, wanted = kept.page(page, SIZE, falling), expected.page(page, SIZE, falling)
            assert (found.number, found.pages, found.total) == (wanted.number, wanted.pages, wanted.total)
            np.testing.assert_array_equal(found.positions, wanted.positions)
            for row in (*wanted.positions[-1:].tolist(), 5):
                assert kept.place(row, falling) == expected.place(row, falling)
        np.testing.assert_array_equal(kept.ends, expected.ends)
        assert kept.histogram(12) == expected.histogram(12)
        np.testing.assert_array_equal(kept.mask, expected.mask)
    positions = np.array([len(rows) - 1, 0, 400, 7, 7])
    np.testing.assert_array_equal(ours.at(positions), values.numpy()[positions])


def test_more_numbers_than_there_are_is_refused(rows: DaskRows) -> None:
    with pytest.raises(ValueError, match="k is 999,999, expected at most"):
        rows.spread(torch.zeros(len(rows)).double()).topk(999_999)


def test_a_page_offers_no_more_of_a_part_than_the_rows_up_to_it(rows: DaskRows, monkeypatch) -> None:
    lying = rows.spread(torch.ones(len(rows)).double())
    lying.parts()
    brought = Brought(monkeypatch)
    looked.first(lying, 20, falling=True)
    assert brought.most == 2 * (20 + 1)  # a number and a row each, and how many the part has


def test_pages_are_shown_and_turned_without_fetching_the_weights(run: lsat.Run, monkeypatch) -> None:
    parts = run.problem.parts[0].rows._cuts
    brought = Brought(monkeypatch)
    monkeypatch.setattr(ByRow, "here", None)
    browser = browsed(run, order="lightest")
    browser.page = 2
    browser.page = 3
    browser.order = "heaviest"
    browser.page = 2
    browser.label = 3
    browser.page = 2
    browser.weights = (None, 1.0)
    browser.label = None
    browser.refresh()
    assert 0 < brought.most < min(cut.stop - cut.start for cut in parts) / 2
    assert not any("every one of them" in note for note in browser._shown["notes"])
    browser.close()


def without_cost(browser: WeightBrowser) -> dict[str, Any]:
    """What is shown, without what it says of bytes that come and go."""
    notes = [note for note in browser._shown["notes"] if "a byte per row" not in note]
    return browser._shown | {"notes": notes}


@pytest.mark.parametrize("order", ["lightest", "heaviest", "row", "-label", "feature x20"])
def test_a_browser_shows_what_it_shows_of_weights_that_are_here(run: lsat.Run, order: str, monkeypatch) -> None:
    there = browsed(run, order=order)
    weights = run.weights()
    monkeypatch.setattr(lsat.Run, "row_weights", lambda self: torch.from_numpy(weights))
    here = browsed(run, order=order)
    assert isinstance(there._weights, WeightsApart)
    assert type(here._weights) is Weights
    middle = float(np.median(weights))
    for choice in (
        {},
        {"page": 2},
        {"label": 4},
        {"weights": (None, middle)},
        {"page": 3},
        {"verdict": "none"},
        {"selected": [run.data.train.rows[11]]},
        {"label": None, "weights": (middle, middle + 0.01)},
    ):
        for browser in (there, here):
            browser.verdicts.drop(run.data.train.rows[3])
            for name, value in choice.items():
                setattr(browser, name, value)
            browser.wait()
        assert without_cost(there) == here._shown
        assert there._zoom == here._zoom
    for browser in (there, here):
        browser._go_to("training", 20)
        browser.wait()
    assert there.page == here.page
    assert without_cost(there) == here._shown
    assert there.picture() == here.picture()
    told = "every one of them" in "".join(there._shown["notes"])
    assert told == order.startswith("feature")
    for browser in (there, here):
        browser.close()


def carried(browser: WeightBrowser) -> list[str]:
    """What is said of bytes that come, or go."""
    said = "".join(note for note in browser._shown["notes"] if "lie with workers" in note)
    return [
        way for way, words in (("come", "brings a byte per row here"), ("go", "sends a byte per row")) if words in said
    ]


def test_filters_that_carry_a_byte_a_row_say_so(run: lsat.Run, monkeypatch) -> None:
    browser = browsed(run, order="lightest", label=3)
    brought = Brought(monkeypatch)
    few = min(cut.stop - cut.start for cut in run.problem.parts[0].rows._cuts) / 2

    def costs(**choice: Any) -> list[str]:
        brought.most = 0
        for name, value in choice.items():
            setattr(browser, name, value)
        browser.wait()
        assert (brought.most > few) == bool(carried(browser))  # it is said where it is so, and nowhere else
        return carried(browser)

    middle = float(np.median(run.weights()))
    assert costs(weights=(None, middle)) == []
    assert costs(order="row") == ["come"]
    assert f"{len(run.data.train):,} in all" in "".join(browser._shown["notes"])
    assert costs(order="heaviest") == []
    assert costs(verdict="none") == ["go"]
    assert costs(order="-label") == ["come", "go"]
    assert costs(weights=None) == ["go"]
    assert costs(verdict="all") == []
    browser.close()


def test_weights_that_have_changed_are_shown_anew(run: lsat.Run) -> None:
    browser = browsed(run)
    before = browser._shown["exact"]
    omega = {name: value * 2 for name, value in run.omega.items()}
    other = lsat.Run(run.recipe, run.data, omega)
    next(other.steps())
    browser.refresh(other)
    assert browser._shown["exact"] != before
    shown = browser._stamp
    browser.refresh()
    assert browser._stamp == shown
    browser.close()


def test_an_explorer_runs_and_shows_without_fetching_the_weights(digits: lsat.Data, engine: lsat.Dask, monkeypatch):
    given = {}
    for split in ("train", "validation"):
        part = getattr(digits, split)
        given[split] = (array.from_array(part.inputs.numpy(), chunks=(200, -1)), part.labels)
    monkeypatch.setattr(ByRow, "here", None)
    explorer = Explorer(lsat.Data.from_rows(**given, image_shape=(8, 8)), RECIPE.replace(engine=engine), keep=False)
    explorer.start()
    explorer.wait(timeout=120)
    assert explorer.run.status is lsat.Status.MAX_ITERATIONS
    assert isinstance(explorer.run.omega[NAME], ByRow)
    assert isinstance(explorer.browser._weights, WeightsApart)
    explorer.browser.page = 2
    assert explorer.picture()
    explorer.close()


def test_rows_of_workers_are_predicted_where_they_are(digits: lsat.Data, engine: lsat.Dask, monkeypatch) -> None:
    monkeypatch.setattr("lsat_explorer.widgets.row_tiles._SOME", 10)
    given = {}
    for split in ("train", "validation"):
        part = getattr(digits, split)
        given[split] = (array.from_array(part.inputs.numpy(), chunks=(200, -1)), part.labels)
    run = lsat.tune(RECIPE.replace(engine=engine), lsat.Data.from_rows(**given), progress=False)
    browser = browsed(run)
    fetched: list[int] = []
    chosen = RowsOnWorkers._chosen

    def noted(self: RowsOnWorkers, numbers: np.ndarray, *more: Any) -> torch.Tensor:
        fetched.append(len(numbers))
        return chosen(self, numbers, *more)

    monkeypatch.setattr(RowsOnWorkers, "_chosen", noted)
    for part, order in (("training", "-loss"), ("validation", "predicted")):
        browser.part = part
        browser.order = order
        browser.wait()
        split = getattr(run.data, "train" if part == "training" else part)
        predictions = browser._told.predictions
        labels = run.model.predict(digits.train.inputs if part == "training" else digits.validation.inputs)
        assert np.array(predictions.words)[: len(split)].tolist() == [str(label) for label in labels]
        assert "every one of them" in browser._shown["notes"][-1]
    assert max(fetched) <= 10
    browser.close()
