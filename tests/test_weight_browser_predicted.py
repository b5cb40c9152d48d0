"""The weight browser with predictions: what it sorts and filters by, the row that is looked at, what takes a fit."""

from __future__ import annotations

import io
import re
import threading
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

import lsat_explorer as lsat
from browsing import FakeRun, sent, shown, table, weighed
from lsat_explorer.widgets import WeightBrowser, row_fits, weight_browser
from lsat_explorer.widgets.rows import order_of, order_text


@pytest.fixture
def run(digits: lsat.Data) -> FakeRun:
    return weighed(digits)


@pytest.fixture(scope="module")
def tuned(digits: lsat.Data) -> lsat.Run:
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), method=lsat.ProximalGradient(max_iterations=3))
    return lsat.tune(recipe, digits, progress=False)


def rows_shown(browser: WeightBrowser) -> list[int]:
    positions: list[int] = shown(browser)["positions"]
    return positions


@pytest.mark.parametrize("sign", ["", "-"])
def test_rows_are_sorted_by_every_column(tuned: lsat.Run, sign: str) -> None:
    browser = WeightBrowser(tuned, page_size=500)
    k = len(tuned.data.train)
    codes = tuned.data.train.targets.argmax(1).numpy()
    scores = tuned.model.decision_function(tuned.data.train.inputs)
    losses = -np.log(tuned.model.predict_proba(tuned.data.train.inputs)[np.arange(k), codes])
    for name, keys in {"row": np.arange(k), "label": codes, "predicted": scores.argmax(1), "loss": losses}.items():
        browser.set_state({"order": sign + name})
        browser.wait()
        order = np.argsort(-keys if sign else keys, kind="stable")
        assert rows_shown(browser) == order[:500].tolist(), name
    assert shown(browser)["losses"][0] == f"{losses[rows_shown(browser)[0]]:.2f}"
    assert browser.picture()[:4] == b"\x89PNG"


def test_rows_that_are_no_images_are_sorted_by_a_feature() -> None:
    data = table(["a", "b"], feature_names=["loss", "y", "z", "u", "v"])
    browser = WeightBrowser(FakeRun(data), order="-feature loss", page_size=500)
    values = data.train.inputs[:, 0].numpy()
    assert rows_shown(browser) == np.argsort(-values, kind="stable").tolist()
    assert shown(browser)["sorted"] == [f"{value:.3f}".replace("-", "−") for value in values[rows_shown(browser)]]
    with pytest.raises(ValueError, match="order is 'feature w'"):
        browser.order = "feature w"
    browser.refresh(FakeRun(table(["a", "b"], feature_names=list("abcde"))))
    assert browser.order == "lightest"


def test_lines_of_rows_say_what_is_predicted_once_the_run_has_ended_and_ask_nothing_before() -> None:
    run = lsat.Run(lsat.Recipe(data_weights=lsat.LogWeights(), loss=lsat.CrossEntropy()), table(["a", "b"]))
    browser = WeightBrowser(run)
    for iterate in run.steps():
        browser.refresh(run)
        browser.wait()
        if not iterate.status.final:
            assert not shown(browser).get("predicted")
    browser.wait()
    assert browser.order == "lightest"
    places = shown(browser)["positions"]
    expected = run.model.predict(run.data.train.inputs)[places]
    assert shown(browser)["predicted"] == expected.tolist()
    assert all(float(loss) > 0 for loss in shown(browser)["losses"])
    browser.close()


def test_a_range_of_weights_filters_on_both_sides(run: FakeRun) -> None:
    browser = WeightBrowser(run, page_size=500)
    browser.weights = (0.8, 1.1)
    assert sent(browser, "_brush")["_brush"] == [0.8, 1.1]
    inside = (run.now >= 0.8) & (run.now <= 1.1)
    assert sorted(rows_shown(browser)) == np.flatnonzero(inside).tolist()[:500]
    assert shown(browser)["total"] == inside.sum() == sum(shown(browser)["histogram"]["kept"])
    assert sum(shown(browser)["histogram"]["all"]) == len(run.now)
    browser.set_state({"_brush": [None, 0.7]})
    assert browser.weights == (None, 0.7)
    assert shown(browser)["total"] == (run.now <= 0.7).sum()
    browser.set_state({"_class": 3})
    assert shown(browser)["total"] == ((run.now <= 0.7) & (run.data.train.labels == 3)).sum()
    run.now = run.now[::-1].copy()
    browser.refresh()  # the range stays, other rows are in it
    assert shown(browser)["total"] == ((run.now <= 0.7) & (run.data.train.labels == 3)).sum()
    browser.set_state({"_brush": []})
    assert browser.weights is None


def test_a_cell_of_the_confusion_matrix_filters_on_both_sides(tuned: lsat.Run) -> None:
    browser = WeightBrowser(tuned, page_size=500)
    browser.set_state({"_folded": False})
    browser.wait()
    given, predicted = tuned.data.train.labels, tuned.model.predict(tuned.data.train.inputs)
    matrix = np.array(sent(browser, "_matrix")["_matrix"])
    assert matrix.tolist() == [[int(((given == a) & (predicted == b)).sum()) for b in range(10)] for a in range(10)]
    wrong = matrix - np.diag(np.diag(matrix))
    a, b = divmod(int(wrong.argmax()), 10)
    browser.set_state({"_cell": [a, b]})
    assert browser.confusion == (a, b)
    assert sorted(rows_shown(browser)) == np.flatnonzero((given == a) & (predicted == b)).tolist()
    assert set(shown(browser)["predicted"]) == {str(b)}
    assert shown(browser)["wrong"] == [True] * wrong.max()
    again = WeightBrowser(tuned, confusion=(a, b), page_size=500)
    again.wait()
    assert rows_shown(again) == rows_shown(browser)
    browser.confusion = None
    assert sent(browser, "_cell")["_cell"] == []
    assert shown(browser)["total"] == len(given)


def test_a_picture_is_titled_by_the_rows_that_are_in_it(tuned: lsat.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    titles, go_on, predicted = [], threading.Event(), row_fits.fit_of
    monkeypatch.setattr(weight_browser, "still", lambda *shown: titles.append(shown[-1]) or b"")
    monkeypatch.setattr(row_fits, "fit_of", lambda *asked: go_on.wait(60) and predicted(*asked))
    browser = WeightBrowser(tuned, order="row", confusion=(8, 1))
    browser.picture()
    assert shown(browser)["total"] == len(tuned.data.train)
    go_on.set()
    browser.wait()
    browser.picture()
    assert shown(browser)["total"] < len(tuned.data.train)
    browser.label = 8
    browser.picture()
    browser.confusion = None
    browser.order = "-loss"
    browser.wait()
    browser.picture()
    browser.order = "heaviest"
    browser.picture()
    browser.close()
    assert [title.partition(" · ")[0] for title in titles] == [
        "Rows by row, first to last",
        "Rows of class 8 predicted as 1 by row, first to last",
        "Rows of class 8 predicted as 1 by row, first to last",
        "Rows of class 8 by loss, largest first",
        "Heaviest rows of class 8",
    ]


def test_a_closed_browser_shows_nothing_of_what_was_being_found_out(tuned: lsat.Run, monkeypatch) -> None:
    go_on, laid_out, predicted = threading.Event(), [], row_fits.fit_of
    monkeypatch.setattr(row_fits, "fit_of", lambda *asked: go_on.wait(60) and predicted(*asked))
    browser = WeightBrowser(tuned, order="predicted")
    assert browser._model.busy
    browser.close()
    monkeypatch.setattr(browser, "_lay_out", lambda **how: laid_out.append(how))
    go_on.set()
    browser.wait()
    assert laid_out == []


def test_the_row_that_is_looked_at_is_large_and_predicted(tuned: lsat.Run) -> None:
    browser = WeightBrowser(tuned)
    browser.set_state({"_picked": [5, 12], "_looked": 12})
    browser.wait()
    zoom = sent(browser, "_zoom")["_zoom"]
    weights, data = tuned.weights(), tuned.data
    assert (zoom["position"], zoom["label"], zoom["row"]) == (12, str(data.train.labels[12]), str(data.train.rows[12]))
    assert zoom["weight"] == f"{weights[12]:.5g}"
    assert zoom["rank"] == f"{(weights < weights[12]).sum() + 1} of 898, lightest first"
    assert zoom["said"]["words"] == str(tuned.model.predict(data.train.inputs[12:13])[0])
    with Image.open(io.BytesIO(bytes(sent(browser, "_zoom_image")["_zoom_image"]))) as image:
        np.testing.assert_array_equal(np.asarray(image), data.images("train", [12])[0])
    browser.set_state({"_looked": 3})  # a key reached it, nothing is chosen
    browser.wait()
    assert sent(browser, "_zoom")["_zoom"]["position"] == 3
    assert browser.selected == [data.train.rows[5].item(), data.train.rows[12].item()]
    browser.set_state({"page": 2})
    assert sent(browser, "_zoom")["_zoom"]["position"] == 3  # it stays in sight on other pages
    browser.selected = []
    assert sent(browser, "_zoom", "_zoom_image") == {"_zoom": {}, "_zoom_image": b""}
    browser.set_state({"_looked": 10**9})
    assert sent(browser, "_looked")["_looked"] == -1


def test_what_takes_predictions_waits_for_the_run_to_begin(digits: lsat.Data, tuned: lsat.Run) -> None:
    fresh = lsat.Run(tuned.recipe, digits)
    browser = WeightBrowser(fresh)
    assert sent(browser, "_standing")["_standing"]["can"] is False
    for trait, value in (("order", "-loss"), ("order", "predicted"), ("confusion", (3, 5))):
        with pytest.raises(ValueError, match="takes predictions, which the run has once it has begun"):
            setattr(browser, trait, value)
    browser.set_state({"_folded": False})
    assert sent(browser, "_folded")["_folded"] is True
    browser.selected = [digits.train.rows[4]]
    assert sent(browser, "_zoom")["_zoom"]["said"] == {}
    for _ in fresh.steps():
        browser.refresh()
    browser.refresh()
    browser.wait()
    assert sent(browser, "_standing")["_standing"]["can"] is True
    assert sent(browser, "_zoom")["_zoom"]["said"]["words"]  # at rest it is told without being asked again
    browser.order, browser.confusion = "-loss", (3, 3)
    browser.wait()
    browser.refresh(lsat.Run(tuned.recipe, digits))  # another run, which has not begun
    assert (browser.order, browser.confusion) == ("lightest", None)


def test_confusion_and_range_that_do_not_exist_are_refused(tuned: lsat.Run) -> None:
    browser = WeightBrowser(tuned)
    for trait, value, said in [
        ("confusion", 3, r"confusion is 3, expected \(given, predicted\)"),
        ("confusion", (3, "x"), "confusion is 'x', but the data has 0, 1, 2"),
        ("weights", (2, 1), "expected low no larger than high"),
        ("weights", "ab", r"expected \(low, high\)"),
    ]:
        with pytest.raises(ValueError, match=said):
            setattr(browser, trait, value)
        assert getattr(browser, trait) is None
    for state in ({"_cell": [1]}, {"_cell": [1, 10]}, {"_brush": [1]}, {"_brush": ["a", "b"]}):
        with pytest.raises(ValueError, match=r"expected|does not exist"):
            browser.set_state(state)
    assert sent(browser, "_cell", "_brush") == {"_cell": [], "_brush": []}


def test_a_message_brings_predictions_up_to_date(digits: lsat.Data, tuned: lsat.Run) -> None:
    run = lsat.Run(tuned.recipe.replace(method=lsat.ProximalGradient(step=1e3)), digits)
    steps = run.steps()
    next(steps)
    browser = WeightBrowser(run, order="-loss")
    browser.wait()
    before = shown(browser)["losses"]
    next(iterate for iterate in steps if iterate.accepted and iterate.number > 3)
    browser.refresh()
    browser.wait()
    assert shown(browser)["losses"] == before
    standing = sent(browser, "_standing")["_standing"]
    assert (standing["number"], standing["behind"]) == (0, True)
    browser._handle_custom_msg({"do": "update"}, [])
    browser.wait()
    standing = sent(browser, "_standing")["_standing"]
    assert (standing["number"], standing["behind"]) == (standing["now"], False)
    assert shown(browser)["losses"] != before


@pytest.mark.parametrize("asks", [{"order": "-loss"}, {"selected": [3], "_looked": 3}])
def test_weights_are_of_the_iteration_that_the_predictions_are_of(digits: lsat.Data, asks: dict[str, Any]) -> None:
    run = lsat.Run(lsat.recipes.paper_weighting(shape=(8, 8), per_class=1), digits)
    browser = WeightBrowser(run, order="lightest")
    for _ in range(3):  # by another view, which does not tell this one
        next(run.steps())
    assert len(run.iterates) == 3
    browser.set_state(asks)
    browser.wait()
    page = shown(browser)
    weights = run.weights()[page["positions"]]
    assert [float(text) for text in page["weights"]] == pytest.approx(weights, rel=1e-2)
    assert len(set(page["weights"])) > 1


def test_a_run_without_a_fit_is_browsed_all_the_same(run: FakeRun, tuned: lsat.Run) -> None:
    browser = WeightBrowser(run)
    run.iterates = tuned.iterates  # it has begun, and has no model
    browser.order = "-loss"
    with pytest.raises(ValueError, match="The rows could not be predicted"):
        browser.wait()
    assert len(rows_shown(browser)) == 20
    assert "could not be predicted" in sent(browser, "_standing")["_standing"]["problem"]
    browser.order = "heaviest"
    assert rows_shown(browser)[0] == int(np.argmax(run.now))


@pytest.mark.parametrize("thin", [True, False])
def test_a_table_says_how_to_have_the_columns_that_show_a_dash(thin: bool) -> None:
    inputs = sparse.random(60, 20, density=0.2, random_state=0, format="csr")
    data = lsat.Data.from_arrays(
        inputs if thin else inputs.toarray(), [i % 2 for i in range(60)], task="classification"
    )
    run = lsat.Run(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=1)), data)
    browser = WeightBrowser(run, order="row")

    def hints() -> list[str]:
        browser.wait()
        assert any("“–”" in note for note in shown(browser)["notes"]) == ("predicted" not in shown(browser))
        return [note.split("“–” ")[1] for note in shown(browser)["notes"] if "“–”" in note]

    assert hints()[0].startswith("until the run has begun: start it")
    steps = run.steps()
    next(steps)
    browser.refresh()
    assert re.search("press the head", *hints())
    list(steps)
    browser.refresh()
    if thin:
        assert re.search("a pass over all rows: press the head", *hints())
        browser.order = "-loss"
        assert hints() == []
        browser.order = "row"
    assert hints() == []  # what was worked out stays
    browser.order = "label"
    assert hints() == []
    browser.close()


def test_numbers_of_a_regression_table_have_one_form_in_each_column() -> None:
    draw = np.random.default_rng(0).normal(size=(120, 3)) * [1.0, 2e4, 0.01] + [0.0, 3e4, 0.0]
    price = 900.0 + 0.02 * draw[:, 1] + 40 * draw[:, 0]
    price[0] = 7.25
    data = lsat.Data.from_arrays(draw, price, task="regression")
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), method=lsat.ProximalGradient(max_iterations=2))
    browser = WeightBrowser(lsat.tune(recipe, data, progress=False), page_size=60, verdicts=lsat.Verdicts())
    for order, names in (
        ("-loss", "labels predicted losses"),
        ("-doubt", "labels suggested"),
        ("feature x1", "sorted"),
    ):
        browser.order = order
        browser.wait()
        for name in names.split():
            texts = browser._shown[name]
            assert len({len(text.partition(".")[2]) for text in texts}) == 1, (name, texts)
            assert not any(mark in text for text in texts for mark in "-e"), (name, texts)
    assert order_text(order_of("label", []), "target") == "Rows by target, rising"
    browser.close()
