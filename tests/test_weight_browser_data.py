"""The weight browser on data of any kind: labels, names, numbers, weights at the edge, images of any shape."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import lsat_explorer as lsat
from browsing import HOSTILE, FakeRun, sent, shown, table
from lsat_explorer.widgets import WeightBrowser


def test_a_label_is_the_same_label_in_other_data() -> None:
    browser = WeightBrowser(FakeRun(table(["a", "b"])), label="b")
    browser.selected = [browser.run.data.train.rows[3]]
    browser.refresh(FakeRun(table(["b", "c", "a"])))
    assert (browser.label, sent(browser, "_class")["_class"]) == ("b", browser.run.data.classes.index("b"))
    assert set(shown(browser)["labels"]) == {"b"}
    browser.refresh(FakeRun(table(["c", "d"])))
    assert browser.label is None


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


def test_a_mask_is_no_choice_of_rows_and_true_is_not_row_1() -> None:
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    data = lsat.Data.from_splits(train=(X[:20], y[:20]), validation=(X[20:], y[20:]))
    run = lsat.tune(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=1)), data, progress=False)
    browser = WeightBrowser(run, verdicts=lsat.Verdicts())
    browser.selected = [7]
    for mask in (y[:20] < 2, (y[:20] < 2).tolist()):
        said = r"^selected is a mask of 20 .*, expected names of rows; give those in run\.data\.train\.rows\[mask\]"
        with pytest.raises(ValueError, match=said):
            browser.selected = mask
    for true in (True, np.True_):
        with pytest.raises(ValueError, match=r"^row True is no training row"):
            browser.selected = [3, true]
    assert browser.selected == [7]
    browser.selected = data.train.rows[y[:20] < 2]
    assert browser.selected == [0, 1]
    browser.close()
