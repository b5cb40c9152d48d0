"""Faults to survive, as a page meets them: each view is steered as its page does it, with a run that is a real one.

Names, verdicts, buttons and pictures are in `test_cases_pages.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import lsat_explorer as lsat
from building import SOON, look
from cases import BARE, LABELS, QUICK, RIDGE, ROWS, X, Y, data_of, model_of
from graph_asks import ask
from lsat_explorer import model
from lsat_explorer.widgets import Explorer, FeaturizerBuilder, GraphEditor, HyperSliders, LiveTuner, WeightBrowser
from waiting import until

STEPS = RIDGE.replace(method=lsat.LineSearch(max_iterations=2))
Live = Callable[..., LiveTuner]


@pytest.fixture
def live() -> Iterator[Live]:
    """Press the tuner's button on some rows and a recipe, and wait for the end."""
    made: list[LiveTuner] = []

    def run(recipe: lsat.Recipe, *rows: Any) -> LiveTuner:
        tuner = LiveTuner(data_of(*rows), recipe)
        made.append(tuner)
        tuner.controls._handle_custom_msg({"command": "start"}, [])
        tuner.wait(SOON)
        assert tuner.picture().startswith(b"\x89PNG")
        return tuner

    yield run
    for tuner in made:
        tuner.close()


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    explorer = Explorer(data_of(X, LABELS), QUICK)
    yield explorer
    explorer.close()


def said(tuner: LiveTuner) -> str:
    """What the page says of the run."""
    state = tuner.controls.get_state(["sentence", "problem"])
    return f"{state['sentence']} {state['problem']}"


def drawn(tuner: LiveTuner) -> np.ndarray:
    """The curve of the loss, as the page has it."""
    return np.asarray(next(trace for trace in tuner.plot.data if trace.name == "validation loss").y)


def typed(explorer: Explorer, **changes: Any) -> str:
    """Type another recipe and apply it; return what is said below the text."""
    text = json.dumps(json.loads(explorer.recipe.to_json()) | changes)
    explorer.panel.code._handle_custom_msg({"draft": text, "command": "apply"}, [])
    return str(explorer.panel.code.get_state(["problem"])["problem"])


def browsed(run: lsat.Run, **how: Any) -> WeightBrowser:
    browser = WeightBrowser(run, verdicts=lsat.Verdicts(), **how)
    browser.wait()
    return browser


def told(browser: WeightBrowser, name: str) -> Any:
    browser.wait()
    return browser.get_state([name])[name]


@pytest.mark.parametrize("log_weight", [-17.3, -40.0])
def test_case_01_a_live_run_of_a_weak_ridge_fits_exactly_or_says_which_weight_to_raise(
    log_weight: float, live: Live
) -> None:
    weak = STEPS.replace(regularizer=lsat.Ridge(block="x", log_weight=log_weight))
    np.testing.assert_allclose(live(weak, X, Y).run.model.predict(X), Y, rtol=0, atol=1e-8)
    tuner = live(weak, np.column_stack([X, X[:, 0]]), Y)
    assert "Feature 3 is a combination" in said(tuner)
    assert "raise regularizer.log_weight" in said(tuner)


def test_case_02_curves_of_columns_of_any_scale_are_those_of_one_scale(live: Live) -> None:
    plain, scaled = live(QUICK, X, Y), live(QUICK, X * [2e5, 1.0, 2e11], Y)
    np.testing.assert_allclose(drawn(scaled), drawn(plain), rtol=1e-6)


@pytest.mark.parametrize("kind", [np.int64, bool, object])
def test_case_03_views_show_numbers_of_any_type_as_the_same_numbers(kind: type, live: Live) -> None:
    whole = np.abs(np.rint(4 * X)) if kind is not bool else (X > 1).astype(float)
    plain, other = live(QUICK, whole, LABELS), live(QUICK, whole.astype(kind), LABELS.astype(kind))
    np.testing.assert_allclose(drawn(other), drawn(plain), rtol=1e-9)
    browser = browsed(other.run)
    assert set(told(browser, "_shown")["labels"]) == set(map(str, LABELS.astype(kind).tolist()))
    browser.close()


def test_case_04_a_row_that_is_dropped_is_no_row() -> None:
    run = lsat.tune(STEPS.replace(method=lsat.ProximalGradient(max_iterations=0)), data_of(), progress=False)
    browser = browsed(run)
    browser.verdicts.drop([3, 7])
    browser.set_state({"_solving": True})
    kept = ~np.isin(np.arange(ROWS), [3, 7])
    without = model_of(STEPS, lsat.Data.from_splits((X[kept], Y[kept]), (X, Y)))
    loss = float(np.square(without.predict(X) - Y).mean())
    assert float(told(browser, "_answer")["after"][0]) == pytest.approx(loss, abs=1e-4)
    weighted = STEPS.replace(data_weights=lsat.FixedWeights(browser.verdicts.weights(run.data)))
    np.testing.assert_allclose(model_of(weighted, run.data).predict(X), without.predict(X), rtol=1e-9)
    browser.close()


def test_case_05_weights_and_verdicts_that_leave_no_rows_are_refused_in_place(explorer: Explorer) -> None:
    before = explorer.recipe
    assert "every weight is 0" in typed(explorer, data_weights={"type": "FixedWeights", "values": [0.0] * ROWS})
    assert explorer.recipe == before
    browser = browsed(lsat.tune(QUICK, data_of(X, LABELS), progress=False))
    browser.verdicts.drop(range(ROWS))
    browser.set_state({"_solving": True})
    assert "drop leaves none of the 24 training rows" in told(browser, "_answer")["problem"]
    browser.verdicts.clear(np.flatnonzero(LABELS).tolist())  # one class is left to train
    assert all(np.isfinite(float(words.split()[0])) for words in told(browser, "_answer")["after"])
    browser.close()


def test_case_06_a_live_run_says_which_columns_depend_on_each_other(live: Live) -> None:
    twice = np.column_stack([X, X[:, 0], np.ones(ROWS)])
    assert np.isfinite(drawn(live(QUICK, twice, Y))).all()
    bare = STEPS.replace(regularizer=lsat.Matrix([[1.0, -1.0, 0.0, 0.0, 0.0]], block="x"))
    tuner = live(bare, twice, Y)
    assert "is a combination of the features before it" in said(tuner)
    assert tuner.controls.get_state(["tone"])["tone"] == "bad"


def test_case_07_a_curve_of_a_large_single_precision_column_is_that_in_double(live: Live) -> None:
    column = np.full(ROWS, 1e8, dtype=np.float32)
    column[3] += 8
    _alike(live, np.column_stack([column, X[:, 0].astype(np.float32)]), Y)


def test_case_08_a_curve_of_large_single_precision_numbers_is_that_in_double(live: Live) -> None:
    rows = np.arange(2000, dtype=np.float32)[:, None]
    _alike(live, rows, 3 + 0.5 * rows[:, 0].astype(np.float64) + np.random.default_rng(0).normal(size=2000))


def _alike(live: Live, rows: np.ndarray, outcome: np.ndarray) -> None:
    given = rows.astype(np.float64)
    single, double = live(QUICK, rows, outcome), live(QUICK, given, outcome)
    np.testing.assert_allclose(drawn(single), drawn(double), rtol=1e-5)
    np.testing.assert_allclose(single.run.model.predict(given), double.run.model.predict(given), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=str)
def test_case_09_what_is_not_finite_is_refused_where_it_was_typed(value: float, explorer: Explorer) -> None:
    before = explorer.recipe
    problem = typed(explorer, method={"type": "LineSearch", "tolerance": value})
    assert "NaN" in problem or "Infinity" in problem or "inf" in problem
    sliders = HyperSliders(explorer.tuner)
    sliders.set_state({"values": {**sliders.values, "method/tolerance": value}})
    assert sliders.get_state()["_problem"]
    explorer.panel.tabs._handle_custom_msg({"path": "", "weight": value}, [])
    assert "nan" in explorer.panel.tabs.problem or "inf" in explorer.panel.tabs.problem
    assert explorer.recipe == before
    for view in (LiveTuner, Explorer, FeaturizerBuilder, GraphEditor):
        spoilt = np.where(np.arange(ROWS)[:, None] == 5, value, X)
        with pytest.raises(ValueError, match=r"training X has .* at row 5, column 0"):
            view(data_of(spoilt), QUICK) if view in (LiveTuner, Explorer) else view(data_of(spoilt))


def test_case_10_a_matrix_without_full_rank_is_an_outcome_that_the_page_says(live: Live) -> None:
    recipe = STEPS.replace(featurizer=lsat.Identity(), regularizer=lsat.Matrix([[0.0, 0.0, 0.0]]))
    tuner = live(recipe, np.arange(1.0, 10.0).reshape(3, 3), np.ones(3))
    assert "Feature 2 is a combination of the features before it" in said(tuner)


@pytest.mark.parametrize("form", ["reversed", "Fortran", "read-only", "memory map"])
def test_case_11_views_leave_arrays_of_any_layout_as_they_are(form: str, live: Live, tmp_path: Path) -> None:
    given = np.asfortranarray(X) if form == "Fortran" else np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if form == "memory map":
        np.save(tmp_path / "X.npy", X)
        given = np.load(tmp_path / "X.npy", mmap_mode="r")
    if form == "read-only":
        given.setflags(write=False)
    tuner = live(QUICK, given, Y)
    np.testing.assert_allclose(drawn(tuner), drawn(live(QUICK, X.copy(), Y.copy())), rtol=1e-12)
    browser, builder, editor = browsed(tuner.run), FeaturizerBuilder(tuner.run.data), GraphEditor(tuner.run.data)
    builder.wait(SOON)
    for view in (browser, builder, editor):
        assert view.picture().startswith(b"\x89PNG")
        view.close()
    np.testing.assert_array_equal(np.asarray(given), X)


@pytest.mark.parametrize("names", [[3, 100], ["no", "yes"], [True, False]], ids=str)
def test_case_12_labels_are_shown_as_they_came_and_others_refused_by_name(names: list[Any]) -> None:
    labels = np.array(names, dtype=object)[LABELS]
    browser = browsed(lsat.tune(QUICK, data_of(X, labels), progress=False))
    assert set(told(browser, "_shown")["labels"]) == set(map(str, names))
    browser._handle_custom_msg({"do": "verdict", "kind": "relabel", "position": 3, "to": 2}, [])
    assert told(browser, "_judged")["problem"] == "class 2 does not exist: the data has 2"
    with pytest.raises(ValueError, match="the class 'unknown', which is unknown: give one of"):
        browser.verdicts.relabel(3, "unknown")
    browser.close()


def test_case_13_a_live_run_whose_loss_turns_nan_keeps_the_best_values_and_says_so(live: Live) -> None:
    calls = []

    def turns(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return (predictions - targets).square().sum(1).mean() * (float("nan") if len(calls) > 4 else 1.0)

    model.register_loss("turns nan on a page", turns)
    noisy = Y + np.random.default_rng(1).normal(size=ROWS)
    tuner = live(RIDGE.replace(loss=model.CustomLoss("turns nan on a page")), X, noisy)
    assert said(tuner).startswith("Not finite: no step leads to a finite loss. The best values so far are kept.")
    assert np.isfinite(tuner.run.model.predict(X)).all()
    assert np.isfinite(drawn(tuner)[0])


@pytest.mark.parametrize(("most", "words"), [(0, "maximum number"), (1, "maximum number"), (50, "Converged")])
def test_case_14_a_live_run_ends_with_the_right_words(most: int, words: str, live: Live) -> None:
    outcome = np.ones(ROWS) if most == 50 else Y + np.random.default_rng(1).normal(size=ROWS)
    tuner = live(RIDGE.replace(method=lsat.ProximalGradient(max_iterations=most)), X, outcome)
    assert words in said(tuner)
    assert len(drawn(tuner)) == len(tuner.run.iterates) <= most + 1


def test_case_15_views_of_sparse_rows_say_what_those_of_dense_ones_do(live: Live) -> None:
    Z = np.column_stack([np.where(X > 1, X, 0.0), np.ones(ROWS)])
    weighted = STEPS.replace(data_weights=lsat.FixedWeights(np.linspace(0.5, 2, ROWS)))
    dense, thin = (live(weighted, rows, Y).run for rows in (Z, sparse.csr_array(Z)))
    np.testing.assert_allclose([i.loss for i in thin.iterates], [i.loss for i in dense.iterates], rtol=1e-8)
    browser = WeightBrowser(thin, order="doubt")  # rows that are gone through are judged once it is asked for
    browser.wait(SOON)
    assert browser.picture().startswith(b"\x89PNG")
    browser.close()
    for make in (HyperSliders, lambda run: FeaturizerBuilder(run.data), lambda run: GraphEditor(run.data)):
        views = [make(run) for run in (dense, thin)]
        for view in views:
            if not isinstance(view, HyperSliders):
                view.wait(SOON)
        assert views[1].picture() == views[0].picture()
        for view in views:
            view.close()


def test_case_16_views_name_columns_and_rows_as_the_user_does() -> None:
    index = np.random.default_rng(0).permutation(ROWS) * 7 + 3
    frame = pd.DataFrame(X, columns=pd.Index([0, "a", ("t", 1)], dtype=object), index=index)
    data = lsat.Data.from_splits((frame, pd.Series(Y, index=index)), (X, Y))
    browser = browsed(lsat.tune(QUICK, data, progress=False), order="row", page_size=4)
    assert told(browser, "_shown")["rows"] == list(map(str, index[:4]))
    builder = FeaturizerBuilder(data, BARE, column=2)
    assert "('t', 1)" in json.dumps(look(builder))
    editor = GraphEditor(data)
    assert "('t', 1)" in str(editor.graph.names) + json.dumps(editor.get_state(["_shown"])["_shown"])
    for view in (browser, builder, editor):
        view.close()


def test_case_17_a_device_that_is_not_there_is_named_under_the_buttons(explorer: Explorer) -> None:
    assert typed(explorer, device="cuda:99") == ""
    explorer.tuner.controls._handle_custom_msg({"command": "start"}, [])
    with pytest.raises(ValueError, match="Device 'cuda:99' is not available"):
        explorer.wait(SOON)
    assert "Device 'cuda:99' is not available: choose one of cpu" in said(explorer.tuner)
    assert typed(explorer, device="cpu") == ""
    explorer.restart()
    explorer.start()
    explorer.wait(SOON)
    assert explorer.run.status.final


def test_case_19_a_recipe_from_a_stranger_is_refused_below_its_text(explorer: Explorer) -> None:
    before = explorer.recipe
    for changes, words in (
        ({"looss": None}, "The recipe has no 'looss': did you mean 'loss'"),
        ({"loss": {"type": "__import__('os').system('true')"}}, "loss: unknown type"),
        ({"format": 99}, "this version reads recipes of format 1"),
        ({"regularizer": {"type": "Smooth", "graph": {"type": "Graph", "n": 3, "edges": [[0, 9]]}}}, "Edge (0, 9)"),
    ):
        assert words in typed(explorer, **changes)
        assert explorer.recipe == before
    for text in ("[" * 100_000, "{", "[]", '{"format": NaN}'):
        explorer.panel.code._handle_custom_msg({"draft": text, "command": "apply"}, [])
        assert explorer.panel.code.problem
        assert explorer.recipe == before


@pytest.mark.parametrize("pair", [(2, 2), (0, 99), (-1, 0), (0.5, 1), ("a", "b"), (None, 1)], ids=str)
def test_case_26_an_edge_that_is_none_is_refused_by_the_editor(pair: tuple[Any, Any]) -> None:
    graph = lsat.Graph(3, [(0, 1)], names=["wind", "rain", "sun"])
    editor = GraphEditor(graph)
    ask(editor, "toggle", a=pair[0], b=pair[1])
    assert editor.graph == graph
    editor.close()


def test_case_27_a_kernel_that_is_interrupted_while_it_waits_keeps_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = QUICK.replace(method=lsat.ProximalGradient(max_iterations=10**6, tolerance=0.0, step=1e-9))
    explorer = Explorer(data_of(X, LABELS), endless)
    explorer.start()
    with monkeypatch.context() as patch:
        patch.setattr(explorer.tuner.worker, "wait", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            explorer.wait(SOON)
    assert explorer.tuner.worker.alive
    until(lambda: len(explorer.run.iterates) > 2)
    explorer.stop()
    explorer.wait(SOON)
    assert explorer.run.status.final
    assert all(np.isfinite(value.numpy()).all() for value in explorer.run.omega.values())
    explorer.close()


def _interrupted(_timeout: float | None = None) -> None:
    raise KeyboardInterrupt
