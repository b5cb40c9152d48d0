"""The weight browser without a kernel or a browser: its order, classes and picks, what it refuses, and its picture."""

from __future__ import annotations

import base64
import io
import threading
from typing import Any

import numpy as np
import pytest
from PIL import Image

import lsat_explorer as lsat
from browsing import HOSTILE, FakeRun, sent, shown, table, weighed
from lsat_explorer.widgets import WeightBrowser
from lsat_explorer.widgets.base import Pictured, View


@pytest.fixture
def run(digits: lsat.Data) -> FakeRun:
    return weighed(digits)


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
    browser.selected = list(rows[:100])
    assert sent(browser, "_picked_text")["_picked_text"] == "\n".join(map(str, rows[:100]))  # to be copied


def test_what_is_picked_in_the_page_is_read_in_python_and_kept(run: FakeRun) -> None:
    browser = WeightBrowser(run)
    seen: list[Any] = []
    browser.observe(lambda change: seen.append(change["new"]), "selected")
    browser.set_state({"_picked": [4, 9]})
    rows = [run.data.train.rows[4].item(), run.data.train.rows[9].item()]
    assert browser.selected == rows
    assert seen == [rows]
    assert all(type(row) is int for row in browser.selected)
    browser.set_state({"_picked": [4], "_looked": 9})  # a hand that lets go of a row looks at it still
    assert sent(browser, "_looked") == {"_looked": 9}
    browser.set_state({"_picked": [4, 9], "_looked": 9})
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
    assert browser._still()[1] == metadata  # a picture that takes its place is no larger
    browser.order, browser.part = "row", "validation"
    assert browser._repr_mimebundle_()[0]["text/plain"] == data["text/plain"]
    assert not any(word in data["text/plain"] for word in ("training", "weights"))  # which these are not, or not by


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


def test_without_row_weights_rows_come_in_the_order_of_the_data(digits: lsat.Data) -> None:
    method = lsat.ProximalGradient(max_iterations=1)
    run = lsat.Run(lsat.Recipe(method=method), digits)
    browser = WeightBrowser(run)
    assert browser.order == "row"
    browser.order = "heaviest"
    browser.refresh(lsat.Run(lsat.Recipe(seed=3), digits))
    assert browser.order == "row"
    weighed = lsat.Run(lsat.Recipe(data_weights=lsat.LogWeights()), digits)
    assert WeightBrowser(weighed).order == "lightest"
    assert WeightBrowser(lsat.tune(run.recipe, digits, progress=False)).order == "-doubt"


def test_a_recipe_without_row_weights_says_so_and_keeps_the_order_of_the_data(digits: lsat.Data) -> None:
    browser = WeightBrowser(lsat.Run(lsat.Recipe(), digits), order="heaviest")
    now = shown(browser)
    assert (now["tuned"], now["span"]) == (False, "This recipe tunes no row weights")
    assert now["positions"] == list(range(20))
    assert browser.picture()
