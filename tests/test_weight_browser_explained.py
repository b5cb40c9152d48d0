"""The weight browser on what the fit says of its rows: doubt, effect, the rows behind a row, the other parts."""

from __future__ import annotations

import io
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import lsat_explorer as lsat
from lsat_explorer.plots.curves import number_text
from lsat_explorer.widgets import WeightBrowser, row_columns
from lsat_explorer.widgets.row_columns import Effects, doubts_of, effects_of, noise_text
from lsat_explorer.widgets.row_words import offer, warning


@pytest.fixture(scope="module")
def run(digits: lsat.Data) -> lsat.Run:
    recipe = lsat.Recipe(
        data_weights=lsat.LogWeights(),
        hyper_penalties={"data_weights.log_weight": lsat.SumSquares(1e-3) + lsat.ZeroSum()},
        method=lsat.ProximalGradient(max_iterations=3),
    )
    return lsat.tune(recipe, digits, progress=False)


@pytest.fixture
def browser(run: lsat.Run) -> Any:
    browser = WeightBrowser(run, verdicts=lsat.Verdicts())
    yield browser
    browser.wait()
    browser.close()


def shown(browser: WeightBrowser) -> dict[str, Any]:
    described: dict[str, Any] = browser.get_state(["_shown"])["_shown"]
    return described


def looked(browser: WeightBrowser, position: int) -> dict[str, Any]:
    browser.set_state({"_picked": [position], "_looked": position})
    browser.wait()
    zoom: dict[str, Any] = browser.get_state(["_zoom"])["_zoom"]
    return zoom


def told(browser: WeightBrowser, **content: Any) -> None:
    browser._handle_custom_msg(content, [])
    browser.wait()


# doubt and effect


def test_a_run_that_has_ended_shows_the_most_doubtful_labels_first(run: lsat.Run, browser: WeightBrowser) -> None:
    assert browser.order == "-doubt"
    browser.wait()
    table = lsat.explain.label_doubt(run.model)
    order = np.argsort(-table["doubt"].to_numpy(), kind="stable")[:20]
    now = shown(browser)
    assert now["positions"] == order.tolist()
    assert now["suggested"] == [str(label) for label in table["suggested"].iloc[order]]
    assert now["doubtful"] == (table["doubt"].iloc[order] > 0).tolist()
    assert not now["waits"]


def test_until_doubt_is_known_the_rows_come_by_weight_and_that_is_said(
    run: lsat.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, label_doubt = threading.Event(), row_columns.label_doubt
    monkeypatch.setattr(row_columns, "label_doubt", lambda model: go_on.wait(60) and label_doubt(model))
    browser = WeightBrowser(run, verdicts=lsat.Verdicts())
    first = shown(browser)
    assert first["positions"] == np.argsort(run.weights(), kind="stable")[:20].tolist()
    assert (first["waits"], browser.get_state(["_standing"])["_standing"]["busy"]) == (True, True)
    assert "suggested" not in first
    assert browser.picture()[:4] == b"\x89PNG"
    go_on.set()
    browser.wait()
    assert shown(browser)["positions"] != first["positions"]
    assert not shown(browser)["waits"]
    browser.close()


@pytest.mark.parametrize("order", ["effect", "-effect"])
def test_effect_is_a_column_with_its_standard_error(run: lsat.Run, browser: WeightBrowser, order: str) -> None:
    browser.order = order
    browser.wait()
    table = lsat.explain.effect_on_validation(run.model)
    keys = table["effect"].to_numpy() * (-1 if order.startswith("-") else 1)
    places = np.argsort(keys, kind="stable")[:20]
    assert shown(browser)["positions"] == places.tolist()
    effect, error = table["effect"].iloc[places[0]], table["effect_error"].iloc[places[0]]
    text = f"{number_text(effect, '+.1e')} ±\N{NO-BREAK SPACE}{number_text(error, '.0e')}"
    assert shown(browser)["effects"][0] == text.replace("-", "\N{MINUS SIGN}")
    (noise,) = shown(browser)["notes"]
    assert noise.startswith("With 449 validation rows an effect is noisy")
    browser.order = "lightest"
    assert shown(browser)["notes"] == []


def test_noise_counts_the_effects_that_are_clear() -> None:
    effects = Effects(np.array([3.0, -2.5, 0.1, np.nan]), np.array([1.0, 1.0, 1.0, np.nan]), 999)
    assert "standard error is 1e0 for the middle row, and 2 of 4 rows have" in noise_text(effects)
    assert noise_text(Effects(effects.effect, effects.error, 1_000)) == ""
    assert noise_text(Effects(effects.effect, np.full(4, np.nan), 1)) == (
        "With a single validation row nothing tells how noisy an effect is."
    )


def test_a_column_that_fails_says_why_and_leaves_the_rest(run: lsat.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(model: Any) -> Any:
        raise ValueError("nothing is left to tell the noise by")

    monkeypatch.setattr(row_columns, "label_doubt", fails)
    browser = WeightBrowser(run, verdicts=lsat.Verdicts())
    with pytest.raises(ValueError, match="Which labels are doubtful could not be told: nothing is left"):
        browser.wait()
    assert shown(browser)["waits"]
    assert "effects" in shown(browser)
    monkeypatch.undo()
    told(browser, do="update")
    assert not shown(browser)["waits"]
    browser.close()


def test_a_run_that_goes_on_begins_by_weight(digits: lsat.Data, run: lsat.Run) -> None:
    fresh = lsat.Run(run.recipe, digits)
    browser = WeightBrowser(fresh, verdicts=lsat.Verdicts())
    assert (browser.order, shown(browser)["explains"]) == ("lightest", False)
    with pytest.raises(ValueError, match="order '-doubt' takes a fit, which the run has once it has begun"):
        browser.order = "-doubt"
    next(iter(fresh.steps()))
    browser.order = "-doubt"  # it may be asked for while the run goes on
    browser.wait()
    assert "suggested" in shown(browser)
    browser.close()


def test_regression_suggests_numbers() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.standard_normal(80)
    y[4] += 50.0
    run = lsat.tune(lsat.Recipe(), lsat.Data.from_arrays(X, y, test=0), progress=False)
    browser = WeightBrowser(run, verdicts=lsat.Verdicts())
    browser.wait()
    first = shown(browser)
    if 4 in run.data.train.rows:
        assert (first["rows"][0], first["doubtful"][0], first["doubtful"][-1]) == ("4", True, False)
    suggested, given = (float(first[name][0].replace("−", "-")) for name in ("suggested", "labels"))
    assert abs(suggested - given) > 10
    doubts = doubts_of(run.model)
    assert doubts.doubtful.sum() < len(y) / 4
    assert effects_of(run.model).count == len(run.data.validation)
    browser.close()


# the rows behind a row


def test_a_training_row_shows_the_validation_rows_that_it_helps_and_hurts(
    run: lsat.Run, browser: WeightBrowser
) -> None:
    zoom = looked(browser, 17)
    row = run.data.train.rows[17]
    effect = lsat.explain.consequences(run.model, row)["effect"].to_numpy()
    helps, hurts = zoom["reasons"]["groups"]
    assert [row["position"] for row in helps["rows"]] == np.argsort(-effect)[:6].tolist()
    assert [row["position"] for row in hurts["rows"]] == np.argsort(effect)[:6].tolist()
    share = 100 * effect[np.argsort(-effect)[:6]].sum() / effect[effect > 0].sum()
    assert helps["share"] == f"{share:.0f} % of the whole" if share >= 10 else f"{share:.1f} % of the whole"
    assert (
        f"the loss of {(effect > 0).sum()} and raises that of {(effect < 0).sum()} of 449" in zoom["reasons"]["words"]
    )
    assert helps["rows"][0]["row"] == str(run.data.validation.rows[np.argmax(effect)])
    with Image.open(io.BytesIO(bytes(browser.get_state(["_reasons_image"])["_reasons_image"]))) as image:
        strip = np.asarray(image)
    first = run.data.images("validation", [int(np.argmax(effect))])[0]
    np.testing.assert_array_equal(strip[:8, :8], first)


def test_a_misclassified_validation_row_shows_what_pushes_it_wrong_similar_rows_first(
    run: lsat.Run, browser: WeightBrowser
) -> None:
    browser.part = "validation"
    browser.wait()
    assert (browser.order, shown(browser)["wrong"][0]) == ("-loss", True)
    place = shown(browser)["positions"][0]
    zoom = looked(browser, place)
    table = lsat.explain.attribution(run.model, run.data.validation.rows[place])
    effect, kernel = table["effect"].to_numpy(), table["kernel"].to_numpy()
    pushes, similar = effect < 0, (effect < 0) & (kernel > 0)
    reasons = zoom["reasons"]
    wrong = reasons["groups"][0]
    assert wrong["title"] == "Push it wrong, similar rows first"
    expected = np.flatnonzero(similar)[np.argsort(effect[similar], kind="stable")][:6]
    assert [row["position"] for row in wrong["rows"]] == expected.tolist()
    assert all(row["similar"] for row in wrong["rows"])
    share = effect[expected].sum() / effect[pushes].sum()
    assert wrong["share"].split(" ")[0] == (f"{100 * share:.1f}" if share < 0.1 else f"{100 * share:.0f}")
    given, predicted = shown(browser)["labels"][0], shown(browser)["predicted"][0]
    assert f"This row is given as {given} and predicted as {predicted}." in reasons["words"]
    assert f"make up {100 * effect[similar].sum() / effect[pushes].sum():.0f} % of that" in reasons["words"]


def test_a_row_behind_a_row_is_looked_at_and_the_way_back_is_kept(run: lsat.Run, browser: WeightBrowser) -> None:
    browser.part = "validation"
    browser.wait()
    place = shown(browser)["positions"][3]
    behind = looked(browser, place)["reasons"]["groups"][0]["rows"][0]["position"]
    told(browser, do="look", part="training", position=behind)
    assert (browser.part, browser.order) == ("training", "-doubt")
    assert browser.selected == [run.data.train.rows[behind]]
    assert behind in shown(browser)["positions"]  # its page is turned to
    assert browser._trail == [["validation", place, str(run.data.validation.rows[place])]]
    told(browser, do="back")
    assert (browser.part, browser.selected, browser._trail) == ("validation", [run.data.validation.rows[place]], [])
    for content in ({"part": "tests", "position": 1}, {"part": "test", "position": 10**6}, {"part": 3}, {}):
        told(browser, do="look", **content)
        assert browser.part == "validation"


# the other parts


def test_validation_rows_have_predictions_and_no_weights(run: lsat.Run, browser: WeightBrowser) -> None:
    browser.set_state({"part": "validation"})
    browser.wait()
    now, data = shown(browser), run.data
    assert (now["part"], now["all"], now["tuned"]) == ("validation", 449, False)
    predicted = run.model.predict(data.validation.inputs[now["positions"]])
    assert now["predicted"] == [str(label) for label in predicted]
    browser.set_state({"_folded": False})
    browser.wait()
    assert np.sum(browser.get_state(["_matrix"])["_matrix"]) == 449
    for order in ("lightest", "-doubt", "effect"):
        with pytest.raises(ValueError, match=f"order '{order}' is of training rows, and these are validation rows"):
            browser.order = order
    with pytest.raises(ValueError, match="row 10000 is no validation row; give names from run"):
        browser.selected = [10000]
    browser.part = "training"
    assert browser.order == "-doubt"  # each part keeps its own
    assert shown(browser)["all"] == 898


def test_test_rows_are_shown_without_predictions(run: lsat.Run, browser: WeightBrowser) -> None:
    browser.set_state({"_folded": False})
    browser.part = "test"
    zoom = looked(browser, 3)
    assert (browser.order, browser._folded, shown(browser)["all"]) == ("row", True, 450)
    assert (zoom["label"], zoom["said"], zoom["behind"]) == (str(run.data.test.labels[3]), {}, False)
    assert "predicted" not in shown(browser)
    for trait, value in (("order", "-loss"), ("confusion", (3, 5))):
        with pytest.raises(ValueError, match=r"test rows are shown without: run.test\(\) looks at them, and counts"):
            setattr(browser, trait, value)
    assert browser.picture()[:4] == b"\x89PNG"


def test_a_part_that_the_data_lack_is_refused() -> None:
    data = lsat.Data.from_arrays(np.random.default_rng(0).random((40, 3)), [0, 1] * 20, test=0)
    run = lsat.tune(lsat.Recipe(), data, progress=False)
    browser = WeightBrowser(run, verdicts=lsat.Verdicts())
    assert [part for part, _ in browser._parts] == ["training", "validation"]
    for value, said in (("test", "the data have no such rows"), ("final", "expected one of training, validation")):
        with pytest.raises(Exception, match=said):
            browser.part = value
    assert browser.part == "training"
    browser.wait()
    browser.close()


def test_another_run_on_other_data_begins_with_training_rows(run: lsat.Run, browser: WeightBrowser) -> None:
    browser.part = "validation"
    browser.wait()
    other = lsat.Data.from_arrays(np.random.default_rng(0).random((40, 3)), [0, 1] * 20)
    browser.refresh(lsat.tune(lsat.Recipe(), other, progress=False))
    browser.wait()
    assert (browser.part, browser.order, shown(browser)["all"]) == ("training", "-doubt", len(other.train))


# words


def test_the_strength_is_offered_as_a_share_of_the_rows(run: lsat.Run, digits: lsat.Data) -> None:
    assert offer(run)["short"] == "λ = 0.001 is ρ/N with ρ = 0.898; ρ = 1 is λ = 0.0011"
    assert "SumSquares(1 / 898) is ρ = 1" in offer(run)["long"]
    held = {"data_weights.log_weight": lsat.Box(-1, 1)}
    free = lsat.Run(run.recipe.replace(hyper_penalties=held), digits)
    assert offer(free)["short"] == "no λ‖ω‖² holds the weights; ρ = 1 is λ = 0.0011"
    assert offer(lsat.Run(lsat.Recipe(), digits)) == {"short": "", "long": ""}


def test_a_run_whose_loss_fell_and_whose_error_rose_is_warned_of(digits: lsat.Data) -> None:
    run = lsat.tune(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=2)), digits, progress=False)
    assert warning(run) == ""
    first, last = run.iterates[0], run.iterates[-1]
    run.iterates[-1] = replace(last, loss=first.loss - 0.1, error=first.error + 0.01)
    assert warning(run).startswith("The validation loss fell, but the validation error rose from")
    browser = WeightBrowser(run, verdicts=lsat.Verdicts())
    assert shown(browser)["notes"] == [warning(run)]
    browser.close()


@pytest.mark.parametrize("part", ["training", "validation", "test"])
def test_a_part_that_is_given_is_the_one_that_is_shown(run: lsat.Run, part: str) -> None:
    given, turned = WeightBrowser(run, part=part), WeightBrowser(run)
    turned.part = part
    split = getattr(run.data, "train" if part == "training" else part)
    given.selected = [split.rows[-1]]
    turned.selected = [split.rows[-1]]
    given.wait()
    turned.wait()
    assert given._shown | {"stamp": 0} == turned._shown | {"stamp": 0}  # it counts what was laid out
    for name in ("_sprite", "_zoom", "order", "_parts"):
        assert getattr(given, name) == getattr(turned, name)


def test_doubts_below_zero_have_the_minus_sign_of_effects(run: lsat.Run) -> None:
    browser = WeightBrowser(run, order="-doubt")
    browser.wait()
    browser.page = 1 + (len(run.data.train) - 1) // browser.page_size  # the least doubtful
    browser.selected = [run.data.train.rows[browser._shown["positions"][-1]]]
    browser.wait()
    assert browser._shown["doubts"][-1].startswith("\N{MINUS SIGN}")
    assert browser._zoom["doubt"].startswith("\N{MINUS SIGN}")
