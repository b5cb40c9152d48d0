"""The weight browser: order, pages, classes, picks, and what it says, without a kernel or a browser."""

from __future__ import annotations

import base64
import io
import json
import re
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import sparse

import lsat_explorer as lsat
from lsat_explorer.widgets import WeightBrowser
from lsat_explorer.widgets.base import Pictured, View
from lsat_explorer.widgets.row_tiles import RowTiles
from lsat_explorer.widgets.rows import order_of, order_text

HOSTILE = ["<img src=x onerror=alert(1)>", "🎉 $x$", "n" * 300, "plain"]


class FakeRun:
    """What a browser needs of a run: data, and weights that a test sets."""

    def __init__(self, data: lsat.Data, weights: np.ndarray | None = None) -> None:
        self.data = data
        self.now = np.ones(len(data.train)) if weights is None else weights
        self.iterates: list[lsat.Iterate] = []

    def weights(self) -> np.ndarray:
        return self.now


@pytest.fixture
def run(digits: lsat.Data) -> FakeRun:
    return FakeRun(digits, np.exp(0.3 * np.random.default_rng(0).standard_normal(len(digits.train))))


def table(classes: list[Any], rows: int = 60, features: int = 5, **settings: Any) -> lsat.Data:
    inputs = np.random.default_rng(1).standard_normal((rows, features))
    labels = pd.Series([classes[i % len(classes)] for i in range(rows)], dtype=object)
    return lsat.Data.from_arrays(inputs, labels, task="classification", **settings)


def sent(browser: WeightBrowser, *names: str) -> dict[str, Any]:
    """Return traits as a page receives them."""
    state = browser.get_state(list(names))
    json.dumps({name: value for name, value in state.items() if not isinstance(value, bytes | memoryview)})
    return state


def shown(browser: WeightBrowser) -> dict[str, Any]:
    described: dict[str, Any] = sent(browser, "_shown")["_shown"]
    return described


# the widget


def test_the_lightest_rows_come_first_with_their_own_label_weight_and_name(run: FakeRun) -> None:
    browser = WeightBrowser(run, page_size=7)
    places = np.argsort(run.now, kind="stable")[:7]
    said = shown(browser)
    assert said["positions"] == places.tolist()
    assert said["labels"] == [str(run.data.train.labels[place]) for place in places]
    assert said["rows"] == [str(run.data.train.rows[place]) for place in places]
    assert said["weights"] == [f"{run.now[place]:.2f}" for place in places]
    assert said["total"] == said["all"] == len(run.data.train)


def test_the_sprite_holds_the_images_of_the_page(run: FakeRun) -> None:
    browser = WeightBrowser(run, page_size=30)
    said = shown(browser)
    with Image.open(io.BytesIO(bytes(sent(browser, "_sprite")["_sprite"]))) as image:
        sheet = np.asarray(image)
    height, width = said["shape"]
    assert sheet.shape == (2 * height, said["columns"] * width)
    images = run.data.images("train", np.array(said["positions"]))
    for place, picture in enumerate(images):
        y, x = place // said["columns"] * height, place % said["columns"] * width
        np.testing.assert_array_equal(sheet[y : y + height, x : x + width], picture)


def test_a_page_in_the_browser_turns_filters_and_orders(run: FakeRun) -> None:
    browser = WeightBrowser(run)
    browser.set_state({"page": 3})
    assert shown(browser)["positions"] == np.argsort(run.now, kind="stable")[40:60].tolist()
    browser.set_state({"order": "heaviest"})
    assert browser.page == 1
    assert shown(browser)["positions"][0] == int(np.argmax(run.now))
    browser.set_state({"_class": 7})
    assert browser.label == 7
    assert set(shown(browser)["labels"]) == {"7"}
    browser.set_state({"_size": 500})
    assert shown(browser)["pages"] == 1
    assert len(shown(browser)["positions"]) == int((run.data.train.labels == 7).sum())
    browser.set_state({"_class": -1})
    assert browser.label is None


def ahead(browser: WeightBrowser) -> dict[int, tuple[dict[str, Any], bytes]]:
    """What is at hand of other pages, by their numbers: what is shown of each, and its sprite."""
    state = sent(browser, "_ahead_0", "_ahead_1", "_ahead_2", "_sprite_0", "_sprite_1", "_sprite_2")
    pages = ((state[f"_ahead_{slot}"], bytes(state[f"_sprite_{slot}"])) for slot in range(3))
    return {page["page"]: (page, sprite) for page, sprite in pages if page}


def test_the_next_pages_are_at_hand_as_they_will_be_once_somebody_turns_pages(run: FakeRun) -> None:
    browser = WeightBrowser(run, page_size=30)
    assert ahead(browser) == {}  # nobody has
    browser.set_state({"page": 2})
    assert set(ahead(browser)) == {3, 4, 5}
    for page in (3, 4, 5):
        before = ahead(browser)[page]
        browser.set_state({"page": page})
        assert (shown(browser), bytes(browser._sprite)) == before
    browser.order = "heaviest"
    stamps = {page["stamp"] for page, _ in ahead(browser).values()}
    assert shown(browser)["stamp"] not in stamps  # what was at hand is of another order
    browser.page = 30
    browser.page = 28
    assert set(ahead(browser)) >= {29, 30}
    assert len(ahead(browser)[30][0]["positions"]) == len(run.data.train) % 30


def test_no_page_is_prepared_twice_and_none_after_large_thumbnails(
    run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    sprite = RowTiles.sprite
    monkeypatch.setattr(RowTiles, "sprite", lambda tiles, rows: drawn.append(len(rows)) or sprite(tiles, rows))
    browser = WeightBrowser(run, page_size=30)
    browser.page = 2
    assert len(drawn) == 1 + 1 + 3  # the first page, the second one, and three at hand
    browser.page = 3
    assert len(drawn) == 5 + 1
    large = WeightBrowser(run, page_size=30)
    monkeypatch.setattr(RowTiles, "sprite", lambda tiles, rows: bytes(700_000))
    large.page = 2
    assert set(ahead(large)) == {3, 4}


def test_no_page_is_prepared_while_a_run_computes(digits: lsat.Data) -> None:
    run = lsat.Run(lsat.Recipe(data_weights=lsat.LogWeights()), digits)
    steps = run.steps()
    next(steps)
    browser = WeightBrowser(run, order="lightest")
    browser.page = 2
    assert ahead(browser) == {}
    steps.close()


def test_a_view_is_sent_once_as_it_is_when_it_is_made(run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    sprites: list[int] = []
    sprite = RowTiles.sprite
    monkeypatch.setattr(RowTiles, "sprite", lambda tiles, rows: sprites.append(len(rows)) or sprite(tiles, rows))
    WeightBrowser(run, page_size=30, order="heaviest", label=3, page=2)
    assert sprites == [30]


def test_what_python_sets_reaches_the_page(run: FakeRun) -> None:
    browser = WeightBrowser(run, order="heaviest", label=3, page=2, page_size=10)
    assert sent(browser, "order", "_class", "page", "_size") == {
        "order": "heaviest",
        "_class": 3,
        "page": 2,
        "_size": 10,
    }
    rows = run.data.train.rows
    browser.selected = [rows[5], rows[2], rows[5]]
    assert browser.selected == [int(rows[5]), int(rows[2])]
    assert sent(browser, "_picked", "_picked_names") == {
        "_picked": [5, 2],
        "_picked_names": [str(rows[5]), str(rows[2])],
    }


def test_what_is_picked_in_the_page_is_read_in_python_and_kept(run: FakeRun) -> None:
    browser = WeightBrowser(run)
    seen: list[Any] = []
    browser.observe(lambda change: seen.append(change["new"]), "selected")
    browser.set_state({"_picked": [4, 9]})
    rows = [run.data.train.rows[4].item(), run.data.train.rows[9].item()]
    assert browser.selected == rows
    assert seen == [rows]
    assert all(type(row) is int for row in browser.selected)
    browser.set_state({"order": "heaviest"})
    browser.set_state({"_class": 2})
    browser.set_state({"page": 2})
    run.now = run.now[::-1].copy()
    browser.refresh()
    assert browser.selected == rows


def test_settings_that_do_not_exist_are_refused(run: FakeRun) -> None:
    browser = WeightBrowser(run)
    pages = shown(browser)["pages"]
    for name, value, said in [
        ("order", "doubts", "order is 'doubts', expected one of 'lightest', 'heaviest', 'doubt'"),
        ("order", "-doubt", "order '-doubt' takes a fit, which the run has once it has begun"),
        ("label", "seven", "label is 'seven', but the data has 0, 1, 2"),
        ("page", 0, f"page is 0, expected 1 to {pages}"),
        ("page", pages + 1, f"page is {pages + 1}, expected 1 to {pages}"),
        ("selected", [10**9], "row 1000000000 is no training row"),
    ]:
        before = getattr(browser, name)
        with pytest.raises(ValueError, match=said):
            setattr(browser, name, value)
        assert getattr(browser, name) == before
    for size in (0, 501):
        with pytest.raises(ValueError, match=f"page_size is {size}, expected 1 to 500"):
            WeightBrowser(run, page_size=size)
    with pytest.raises(ValueError, match="got a Data, expected a run"):
        WeightBrowser(run.data)
    with pytest.raises(TypeError, match="no setting 'page_sise': did you mean 'page_size'"):
        WeightBrowser(run, page_sise=3)


def test_a_page_that_asks_for_what_does_not_exist_changes_nothing(run: FakeRun) -> None:
    browser = WeightBrowser(run)
    for state in ({"page": 10**6}, {"order": "<script>"}, {"_class": 99}, {"_size": 10**9}):
        before = sent(browser, "page", "order", "_class", "_size", "_shown")
        with pytest.raises(ValueError, match=r"expected|does not exist"):
            browser.set_state(state)
        assert sent(browser, "page", "order", "_class", "_size", "_shown") == before
    browser.set_state({"_picked": [-1, 3, 10**9]})
    assert browser.selected == [run.data.train.rows[3].item()]


def test_weights_that_move_change_the_page_and_nothing_else(run: FakeRun) -> None:
    browser = WeightBrowser(run, label=1, page=2)
    seen: list[str] = []
    browser.observe(lambda change: seen.append(change["name"]), ["_shown", "_sprite"])
    browser.refresh()
    assert seen == []  # the weights are as they were
    run.now = run.now * 2
    browser.refresh()
    assert seen == ["_shown"]  # the same rows with other weights: their images are not sent again
    run.now = run.now[::-1].copy()
    browser.refresh()
    assert seen[1:] == ["_sprite", "_shown"]
    assert (browser.label, browser.page, browser.order) == (1, 2, "lightest")


def test_a_label_is_the_same_label_in_other_data() -> None:
    browser = WeightBrowser(FakeRun(table(["a", "b"])), label="b")
    browser.selected = [browser.run.data.train.rows[3]]
    browser.refresh(FakeRun(table(["b", "c", "a"])))
    assert (browser.label, sent(browser, "_class")["_class"]) == ("b", browser.run.data.classes.index("b"))
    assert set(shown(browser)["labels"]) == {"b"}
    browser.refresh(FakeRun(table(["c", "d"])))
    assert browser.label is None


def test_another_run_on_other_data_takes_over(run: FakeRun) -> None:
    browser = WeightBrowser(run, label=3, page=4)
    browser.selected = [run.data.train.rows[0]]
    other = FakeRun(table(HOSTILE, rows=80))
    browser.refresh(other)
    assert browser.run is other
    assert browser.label is None
    assert browser.page <= shown(browser)["pages"]
    assert set(browser.selected) <= set(other.data.train.rows.tolist())
    assert shown(browser)["all"] == len(other.data.train)
    assert bytes(browser._sprite) == b""


@pytest.mark.parametrize("order", ["lightest", "heaviest"])
def test_hostile_names_are_sent_as_they_are_and_drawn(order: str) -> None:
    data = table(HOSTILE, rows=80, feature_names=[*HOSTILE, "x"])
    browser = WeightBrowser(FakeRun(data, np.linspace(0.5, 2, len(data.train))), order=order, page_size=50)
    assert HOSTILE[0] in shown(browser)["labels"]
    assert HOSTILE[0] in shown(browser)["classes"] or HOSTILE[0][:23] + "…" in shown(browser)["classes"]
    browser.label = HOSTILE[0]
    assert set(shown(browser)["labels"]) == {HOSTILE[0]}
    assert browser.picture()[:4] == b"\x89PNG"


def test_rows_are_named_as_the_user_names_them() -> None:
    rows = [f"person {i}" for i in range(60)]
    inputs = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 3)), index=rows)
    data = lsat.Data.from_arrays(inputs, [0, 1] * 30)
    browser = WeightBrowser(FakeRun(data))
    browser.set_state({"_picked": [3]})
    assert browser.selected == [data.train.rows[3]]
    assert browser.selected[0] in rows


def test_regression_has_no_classes_and_equal_weights_say_so() -> None:
    rng = np.random.default_rng(0)
    data = lsat.Data.from_arrays(rng.standard_normal((40, 1)), rng.standard_normal((40, 2)))
    browser = WeightBrowser(FakeRun(data))
    assert shown(browser)["classes"] == []
    assert shown(browser)["span"] == "all weights are 1.00"
    assert shown(browser)["labels"][0].count(",") == 1
    assert len(shown(browser)["graphs"][0]) == 1
    with pytest.raises(ValueError, match="no classes, this being regression"):
        browser.label = 1
    assert browser.picture()[:4] == b"\x89PNG"


@pytest.mark.parametrize("weights", [np.nan, np.inf, 0.0])
def test_weights_at_the_edge_are_shown(digits: lsat.Data, weights: float) -> None:
    run = FakeRun(digits)
    run.now[:3] = weights
    browser = WeightBrowser(run, order="heaviest")
    sent(browser, "_shown")
    run.now[:] = weights
    browser.refresh()
    assert len(shown(browser)["positions"]) == 20
    assert browser.picture()[:4] == b"\x89PNG"


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 1), (4, 6, 3), (300, 20), (1, 400, 3)])
def test_images_of_any_shape_fit_a_tile(shape: tuple[int, ...]) -> None:
    pixels = int(np.prod(shape))
    data = lsat.Data.from_arrays(np.random.default_rng(0).random((30, pixels)), [0, 1] * 15, image_shape=shape)
    browser = WeightBrowser(FakeRun(data))
    said = shown(browser)
    with Image.open(io.BytesIO(bytes(browser._sprite))) as image:
        width, height = image.size
    assert said["shape"] == list(shape[:2])
    assert width // said["columns"] <= 112
    assert height <= 112
    assert browser.picture()[:4] == b"\x89PNG"


def test_refreshing_from_a_worker_while_the_page_turns_keeps_the_state_whole(run: FakeRun) -> None:
    browser = WeightBrowser(run)
    errors: list[Exception] = []
    first = run.now

    def work() -> None:
        try:
            for number in range(30):
                run.now = np.roll(first, number)
                browser.refresh()
        except Exception as error:
            errors.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    for number in range(30):
        browser.set_state({"page": 1 + number % 5})
        browser.set_state({"order": ["lightest", "heaviest"][number % 2]})
    worker.join()
    assert errors == []
    browser.refresh()
    order = np.argsort(run.now if browser.order == "lightest" else -run.now, kind="stable")
    assert shown(browser)["positions"] == order[(browser.page - 1) * 20 : browser.page * 20].tolist()


def test_a_saved_notebook_keeps_a_picture_and_constant_words(run: FakeRun) -> None:
    browser = WeightBrowser(run)
    data, metadata = browser._repr_mimebundle_()
    assert base64.b64decode(data["image/png"])[:4] == b"\x89PNG"
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "text/html" not in data
    assert metadata["image/png"]["width"] <= 1000
    browser.order = "heaviest"
    assert browser._repr_mimebundle_()[0]["text/plain"] == data["text/plain"]


def test_a_picture_that_fails_leaves_the_view() -> None:
    class Broken(Pictured, View):
        def picture(self) -> bytes:
            raise RuntimeError("no ink")

        def sentence(self) -> str:
            return "broken"

    with pytest.warns(UserWarning, match="Broken could not be drawn: no ink"):
        data, _ = Broken()._repr_mimebundle_()
    assert data["text/plain"] == "broken"
    assert "image/png" not in data


def test_a_real_run_is_browsed_while_it_moves(digits: lsat.Data) -> None:
    name = "data_weights.log_weight"
    recipe = lsat.Recipe(
        data_weights=lsat.LogWeights(),
        hyper_penalties={name: lsat.SumSquares(1e-3) + lsat.ZeroSum()},
        method=lsat.ProximalGradient(max_iterations=4),
    )
    run = lsat.Run(recipe, digits)
    browser = WeightBrowser(run)
    assert shown(browser)["span"] == "all weights are 1.00"
    for _ in run.steps():
        browser.refresh()
    assert shown(browser)["span"].startswith("weights ")
    assert shown(browser)["positions"] == np.argsort(run.weights(), kind="stable")[:20].tolist()


def test_a_recipe_without_row_weights_says_so_and_keeps_the_order_of_the_data(digits: lsat.Data) -> None:
    browser = WeightBrowser(lsat.Run(lsat.Recipe(), digits), order="heaviest")
    now = shown(browser)
    assert (now["tuned"], now["span"]) == (False, "This recipe tunes no row weights")
    assert now["positions"] == list(range(20))
    assert browser.picture()


# predictions, filters and the row that is looked at


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


def test_the_row_that_is_looked_at_is_large_and_predicted(tuned: lsat.Run) -> None:
    browser = WeightBrowser(tuned)
    browser.set_state({"_picked": [5, 12]})
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
