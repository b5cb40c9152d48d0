"""Data without validation rows, as an estimator has them that leaves one out: what is told of their rows, what not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import optimize
from sklearn.datasets import load_iris

import lsat_explorer as lsat
from lsat_explorer.explain.training_fit import training_fit
from lsat_explorer.widgets import WeightBrowser
from lsat_explorer.widgets.rows import ORDERS


@pytest.fixture(scope="module")
def iris() -> lsat.TunedLeastSquaresClassifier:
    return lsat.TunedLeastSquaresClassifier().fit(*load_iris(return_X_y=True))


@pytest.fixture
def browser(iris: lsat.TunedLeastSquaresClassifier) -> Iterator[WeightBrowser]:
    browser = WeightBrowser(iris.run_, verdicts=lsat.Verdicts())
    browser.wait()
    yield browser
    browser.close()


def state(browser: WeightBrowser, name: str) -> Any:
    browser.wait()
    return browser.get_state([name])[name]


def test_labels_are_doubted_and_confidence_makes_the_left_out_labels_likeliest(
    iris: lsat.TunedLeastSquaresClassifier,
) -> None:
    table, fit = lsat.explain.label_doubt(iris.model_), training_fit(iris.model_)
    assert (len(table), len(fit.validation)) == (150, 0)
    codes = fit.train.targets.argmax(1)

    def mean_loss(beta: float) -> float:
        return float(torch.nn.functional.cross_entropy(beta * fit.left_out, codes))

    beta = optimize.minimize_scalar(mean_loss, (0.1, 5.0)).x
    others = torch.softmax(beta * fit.left_out, 1).numpy()
    suggested = table["suggested"].to_numpy()
    np.testing.assert_allclose(table["confidence"], others[np.arange(150), suggested], rtol=1e-4)
    doubtful = table[table.doubt > 0]
    assert 0 < len(doubtful) < 40
    assert doubtful.confidence.mean() > 0.5


def test_numbers_are_doubted() -> None:
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * np.random.default_rng(1).standard_normal(60)
    y[4] += 5.0
    model = lsat.TunedLeastSquaresRegressor().fit(X, y).model_
    assert lsat.explain.label_doubt(model)["doubt"].idxmax() == 4


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: lsat.explain.overview(model),
        lambda model: lsat.explain.effect_on_validation(model),
        lambda model: lsat.explain.knn_shapley(model),
        lambda model: lsat.explain.what_if(model, drop=[0]),
        lambda model: lsat.explain.consequences(model, 0),
        lambda model: lsat.explain.attribution(model, 0),
    ],
    ids=["overview", "effect_on_validation", "knn_shapley", "what_if", "consequences", "attribution"],
)
def test_what_validation_rows_judge_is_refused_in_one_sentence(
    iris: lsat.TunedLeastSquaresClassifier, ask: Any
) -> None:
    with pytest.raises(ValueError, match=r"^The data have no validation rows, .*: fit with validation=…"):
        ask(iris.model_)


def test_the_browser_shows_doubt_and_every_order_but_effect(
    iris: lsat.TunedLeastSquaresClassifier, browser: WeightBrowser
) -> None:
    table = lsat.explain.label_doubt(iris.model_)
    assert (browser.order, state(browser, "_standing")["problem"]) == ("-doubt", "")
    assert state(browser, "_shown")["positions"][0] == int(table["doubt"].argmax())
    for order in ORDERS:
        if order.endswith("effect"):
            with pytest.raises(ValueError, match=f"order '{order}' takes validation rows, and the data have none"):
                browser.order = order
        else:
            browser.order = order
            assert not state(browser, "_shown")["waits"]
    assert state(browser, "_parts") == [["training", 150]]
    with pytest.raises(ValueError, match="part is 'validation', and the data have no such rows"):
        browser.part = "validation"


def test_the_browser_says_why_effect_reasons_and_an_answer_are_not_there(browser: WeightBrowser) -> None:
    browser.selected = [7]
    zoom = state(browser, "_zoom")
    assert (zoom["said"]["words"], zoom["effect"]) == ("0", "not told: the data have no validation rows")
    assert "doubt" in zoom
    assert zoom["reasons"]["words"].startswith("The data have no validation rows")
    browser.verdicts.drop([7])
    browser.set_state({"_solving": True})
    assert state(browser, "_answer")["problem"].startswith("The data have no validation rows")
    browser.set_state({"_folded": False})
    assert np.sum(state(browser, "_matrix")) == 150


def test_an_order_by_effect_gives_way_to_doubt_where_the_next_run_has_none(
    iris: lsat.TunedLeastSquaresClassifier,
) -> None:
    judged = lsat.TunedLeastSquaresClassifier(validation=0.3).fit(*load_iris(return_X_y=True))
    browser = WeightBrowser(judged.run_, order="effect", verdicts=lsat.Verdicts())
    browser.wait()
    browser.refresh(iris.run_)
    assert (browser.order, state(browser, "_shown")["waits"]) == ("-doubt", False)
    browser.close()


def test_a_run_without_its_rows_is_not_browsed(iris: lsat.TunedLeastSquaresClassifier, tmp_path: Path) -> None:
    iris.run_.save(tmp_path)
    with pytest.raises(ValueError, match=r"a run without its rows: load it with Run\.load\(folder, data\)"):
        WeightBrowser(lsat.Run.load(tmp_path))


def test_settings_act_when_they_are_assigned_and_unknown_ones_are_refused(browser: WeightBrowser) -> None:
    browser.page_size = 7
    assert (len(state(browser, "_shown")["rows"]), browser.page_size) == (7, 7)
    for size in (0, 501, "many", True):
        with pytest.raises(ValueError, match=f"page_size is {size!r}, expected 1 to 500"):
            browser.page_size = size
    assert browser.page_size == 7
    with pytest.raises(ValueError, match="selected is '<b>row 1</b>', expected names of rows; give a list"):
        browser.selected = "<b>row 1</b>"
    with pytest.raises(TypeError, match="no setting 'page_sise': did you mean 'page_size'"):
        browser.page_sise = 3
