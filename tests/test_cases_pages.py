"""Faults to survive, 19 to 27: recipes, names, verdicts, pages, pictures, graphs, and a run that is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import traitlets

import hostile
import lsat_explorer as lsat
from cases import LABELS, QUICK, ROWS, X, Y
from fake_run import FakeRun
from lsat_explorer.widgets import (
    Explorer,
    FeaturizerBuilder,
    GraphEditor,
    HyperSliders,
    LiveTuner,
    WeightBrowser,
    cells,
)
from waiting import SOON, until

DEEP = "[" * 100_000 + "]" * 100_000


def table(outcome: Any = LABELS, **how: Any) -> lsat.Data:
    return lsat.Data.from_splits((X, outcome), (X, outcome), **how)


def recipe_with(**changes: Any) -> str:
    return json.dumps({**json.loads(lsat.Recipe().to_json()), **changes})


# --- 19: recipes from strangers --------------------------------------------------------------------------------------

RECIPES: dict[str, tuple[str, str]] = {
    "an unknown type": (recipe_with(loss={"type": "Hubber"}), r"loss: unknown type 'Hubber': did you mean 'Huber'"),
    "an extra key": (recipe_with(looss=None), r"The recipe has no 'looss': did you mean 'loss'"),
    "an extra key inside": (
        recipe_with(loss={"type": "Huber", "treshold": 1}),
        r"Huber has no 'treshold': did you mean",
    ),
    "an import": (recipe_with(loss={"type": "__import__('os').system('true')"}), "loss: unknown type"),
    "a name of Python": (recipe_with(loss={"type": "__class__"}), "loss: unknown type '__class__'"),
    "lists in lists": (recipe_with(seed=0)[:-1] + f', "loss": {DEEP}}}', r"nested too deeply|not readable JSON"),
    "lists in lists alone": (DEEP, r"nested too deeply|not readable JSON"),
    "NaN": (recipe_with(seed=0).replace('"seed": 0', '"seed": NaN'), "The recipe holds NaN"),
    "a number too long": (recipe_with(seed=0).replace('"seed": 0', '"seed": ' + "9" * 5000), "a whole number of 5000"),
    "format 99": (recipe_with(format=99), "format is 99: this version reads recipes of format 1"),
    "no object": ("[]", "The recipe is a list"),
    "no JSON": ("{", "not readable JSON"),
    "nothing": ("", "not readable JSON"),
    "a path": (recipe_with(engine="../../etc/passwd"), "engine is '../../etc/passwd'"),
    "a device": (recipe_with(device="cpu\x00"), "device is 'cpu"),
    "an infinite weight": (
        recipe_with(regularizer={"type": "Ridge", "log_weight": 1e999}).replace("Infinity", "1e999"),
        "log_weight is inf",
    ),
}


@pytest.mark.parametrize("case", RECIPES)
def test_case_19_a_recipe_from_a_stranger_is_refused_by_its_key(
    case: str, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    text, message = RECIPES[case]
    with pytest.raises(ValueError, match=message):
        lsat.Recipe.from_json(text)
    (tmp_path / "recipe.json").write_text(text)
    code, _, said = command("tune", str(tmp_path / "recipe.json"), "--data", "digits", "--out", str(tmp_path / "run"))
    assert code == 2
    assert said.startswith("lsat-explorer: ")
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_case_19_the_explorer_says_what_is_wrong_and_keeps_its_recipe() -> None:
    explorer = Explorer(table(), QUICK)
    for value in (5, None, "recipe"):
        with pytest.raises((traitlets.TraitError, ValueError), match=r"[Rr]ecipe"):
            explorer.recipe = value
    assert explorer.recipe == QUICK
    explorer.close()


# --- 20: names are text ----------------------------------------------------------------------------------------------


def views_of(data: lsat.Data, run: Any) -> Iterator[Any]:
    yield WeightBrowser(run)
    yield LiveTuner(run)
    yield HyperSliders(run)
    yield FeaturizerBuilder(data)
    yield GraphEditor(hostile.graph())
    yield GraphEditor(data)
    yield Explorer(run)


@pytest.mark.parametrize("labels", [True, False], ids=["classes", "numbers"])
def test_case_20_hostile_names_are_sent_as_text_and_drawn(labels: bool) -> None:
    data = hostile.rows(labels=labels)
    run = lsat.tune(hostile.recipe(data), data, progress=False)
    for view in views_of(data, run):
        state = view.get_state()
        json.dumps({k: v for k, v in state.items() if isinstance(v, str | int | float | list | dict)}, default=str)
        assert view.picture().startswith(b"\x89PNG")
        view.close()
    page = run.report().html
    for name in hostile.HOSTILE[:4]:
        assert name not in page


def test_case_20_a_table_of_hostile_names_is_read(tmp_path: Path, command: Any) -> None:
    path = hostile.table(tmp_path)
    data = lsat.datasets.from_csv(path, "kind", progress=False, cache=False)
    assert data.feature_names == hostile.HOSTILE[:3]
    assert set(data.classes or ()) <= set(hostile.HOSTILE)
    (tmp_path / "recipe.json").write_text(QUICK.to_json())
    words = ("--data", str(path), "--target", "kind", "--out", str(tmp_path / "run"))
    assert command("tune", str(tmp_path / "recipe.json"), *words)[0] == 0
    code, _, said = command("tune", str(tmp_path / "recipe.json"), *words[:3], "knid", "--out", str(tmp_path / "other"))
    assert code == 2
    assert "has no column 'knid' for --target" in said
    code, _, said = command("tune", str(tmp_path / "recipe.json"), *words[:2], "--out", str(tmp_path / "other"))
    assert (code, "--data is CSV and --target is not given; name the column to predict" in said) == (2, True)
    more = ("--validation", "x.parquet", "--out", str(tmp_path / "other"))
    code, _, said = command("tune", str(tmp_path / "recipe.json"), *words[:4], *more)
    assert (code, "--validation goes with Parquet" in said) == (2, True)


# --- 21: verdicts ----------------------------------------------------------------------------------------------------


def test_case_21_verdicts_stay_with_their_rows_through_sorting_filtering_and_a_new_kernel(tmp_path: Path) -> None:
    index = [f"r{i}" for i in np.random.default_rng(2).permutation(ROWS)]
    data = lsat.Data.from_splits((pd.DataFrame(X, index=index), LABELS), (X, LABELS))
    run = lsat.tune(QUICK.replace(data_weights=lsat.LogWeights()), data, progress=False)
    verdicts = lsat.Verdicts(tmp_path / "verdicts.json")
    browser = WeightBrowser(run, verdicts=verdicts, page_size=5)
    verdicts.drop(["r3", "r7"])
    verdicts.relabel("r5", 1)
    for state in ({"order": "heaviest"}, {"page": 2}, {"classes": [1]}, {"page_size": 4}, {"classes": []}):
        browser.set_state(state)
    again = WeightBrowser(run, verdicts=lsat.Verdicts(tmp_path / "verdicts.json"))
    assert again.verdicts.indices()["drop"] == verdicts.indices()["drop"] == ["r3", "r7"]
    assert dict(again.verdicts)["r5"].to == 1
    weights = again.verdicts.weights(data)
    assert [index[place] for place in np.flatnonzero(weights == 0)] == [name for name in index if name in ("r3", "r7")]


# --- 22, 23: buttons pressed twice, pages closed and opened ----------------------------------------------------------


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRun]:
    monkeypatch.setattr(cells, "_begun", [])
    run = FakeRun(lsat.recipes.paper_weighting(), table())
    yield run
    run.gate.set()
    run.stop()


def press(tuner: LiveTuner, name: str) -> None:
    tuner.controls._handle_custom_msg({"command": name}, [])


def test_case_22_two_presses_are_one_run_and_two_views_are_in_step(run: FakeRun) -> None:
    tuner, other = LiveTuner(run), LiveTuner(run)
    run.gate.clear()
    press(tuner, "start")
    press(tuner, "start")
    press(other, "start")
    until(run.inside.is_set)
    assert run.begun == 1
    run.last = 5
    run.gate.set()
    tuner.wait(SOON)
    until(lambda: other.controls.get_state() is not None and len(run.iterates) == 6)
    assert run.begun == 1
    tuner.close()
    other.close()


def test_case_22_a_slider_moved_after_the_end_starts_nothing(run: FakeRun) -> None:
    run.last = 2
    tuner = LiveTuner(run)
    press(tuner, "start")
    tuner.wait(SOON)
    begun, count = run.begun, len(run.iterates)
    sliders = HyperSliders(run)
    values = dict(sliders.values)
    name = next(name for name, value in values.items() if isinstance(value, float))
    sliders.set_state({"values": {**values, name: values[name] * 1.5}})
    assert (run.begun, len(run.iterates)) == (begun, count)
    for value in (float("nan"), float("inf"), "x", None, -1e400):
        before = dict(sliders.values)
        sliders.set_state({"values": {**before, name: value}})
        assert dict(sliders.values) == before
    tuner.close()


def test_case_22_a_cell_that_runs_again_ends_the_run_that_it_began(run: FakeRun) -> None:
    worker = cells.worker_of(run, ("cell", "first"))
    worker.start()
    until(lambda: len(run.iterates) > 0)
    (over,) = cells.end_stale(("cell", "second"))
    assert over.wait(SOON)
    assert run.iterates[-1].status.final
    assert cells.end_stale(("cell", "second")) == []


def test_case_23_a_page_that_is_opened_later_shows_the_whole_history(run: FakeRun) -> None:
    run.last = 8
    tuner = LiveTuner(run)
    press(tuner, "start")
    tuner.wait(SOON)
    tuner.close()
    later = LiveTuner(run)
    assert [iterate.number for iterate in later.run.iterates] == list(range(9))
    assert later.picture().startswith(b"\x89PNG")
    later.close()


# --- 24, 25: without a kernel; images of any shape -------------------------------------------------------------------


@pytest.mark.parametrize("view", [Explorer, LiveTuner, WeightBrowser, GraphEditor, FeaturizerBuilder])
def test_case_24_every_view_carries_a_picture_and_words_for_pages_without_a_kernel(view: Any) -> None:
    data = table()
    made = view(data) if view in (GraphEditor, FeaturizerBuilder) else view(lsat.tune(QUICK, data, progress=False))
    assert made.picture().startswith(b"\x89PNG")
    assert made.sentence().strip()
    assert "object at 0x" not in made.sentence()
    made.close()


SHAPES = {(8, 8): 64, (5, 7): 35, (4, 4, 3): 48, (6, 5, 1): 30}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("top", [1.0, 255])
def test_case_25_images_of_any_shape_are_shown_right(shape: tuple[int, ...], top: float) -> None:
    grey = np.random.default_rng(0).random((ROWS, *shape))
    grey[0].flat[:2] = 0, 1
    images = (grey * top).astype(np.uint8) if top == 255 else grey
    data = lsat.Data.from_splits((images, LABELS), (images, LABELS), image_shape=shape)
    flat = shape[:2] if shape[2:] == (1,) else shape
    np.testing.assert_allclose(data.images("train"), (grey * 255).reshape(ROWS, *flat), atol=2)
    browser = WeightBrowser(lsat.tune(QUICK, data, progress=False))
    assert browser.picture().startswith(b"\x89PNG")
    assert GraphEditor(data).picture().startswith(b"\x89PNG")
    assert FeaturizerBuilder(data).picture().startswith(b"\x89PNG")


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2), (0, 3), (1.5, 2), "ab", 3, (3, -1), (10**6, 10**6)], ids=str)
def test_case_25_a_shape_that_does_not_fit_is_refused_by_name(shape: Any) -> None:
    with pytest.raises(ValueError, match="image_shape"):
        table(image_shape=shape)


# --- 26: graphs ------------------------------------------------------------------------------------------------------

GRAPHS: dict[str, tuple[Callable[[], Any], str]] = {
    "a loop": (lambda: lsat.Graph(3, [(0, 1), (2, 2)]), r"Edge \(2, 2\) joins a node to itself"),
    "out of range": (lambda: lsat.Graph(3, [(0, 3)]), r"Edge \(0, 3\) leaves the graph: nodes are 0 to 2"),
    "a negative node": (lambda: lsat.Graph(3, [(-1, 0)]), r"leaves the graph"),
    "nan": (lambda: lsat.Graph(3, [(0, np.nan)]), "expected pairs of node numbers"),
    "triples": (lambda: lsat.Graph(3, [(0, 1, 2)]), "expected pairs of node numbers"),
    "words": (lambda: lsat.Graph(3, [("a", "b")]), "expected pairs of node numbers"),
    "ragged": (lambda: lsat.Graph(3, [(0, 1), (2,)]), "expected pairs of node numbers"),
    "no list": (lambda: lsat.Graph(3, 5), "expected pairs of node numbers"),
    "a fraction of a node": (lambda: lsat.Graph(2.5, []), "2.5"),
    "no nodes": (lambda: lsat.Graph(-1, []), "-1"),
    "names too few": (lambda: lsat.Graph(3, [], names=["a"]), "names"),
    "neighbours of nan": (lambda: lsat.graphs.nearest_neighbours(np.full((5, 2), np.nan), 1), "finite|columns"),
    "no networkx": (lambda: lsat.graphs.from_networkx([(0, 1)]), "Expected a networkx graph, got list"),
    "a loop of networkx": (lambda: lsat.graphs.from_networkx(networkx.Graph([("a", "a")])), "joins a node to itself"),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_case_26_a_graph_that_is_none_is_refused_in_a_sentence(case: str) -> None:
    make, message = GRAPHS[case]
    with pytest.raises(ValueError, match=message):
        make()


def test_case_26_graphs_are_normalised_with_a_message_and_keep_their_names() -> None:
    with pytest.warns(UserWarning, match="2 repeated edges were merged"):
        graph = lsat.Graph(3, [(0, 1), (1, 0), (0, 1)])
    assert graph.edges.tolist() == [[0, 1]]
    with pytest.warns(UserWarning, match="directed"):
        graph = lsat.graphs.from_networkx(networkx.DiGraph([("wind", "rain"), ("rain", "sun")]))
    assert graph.names == ("wind", "rain", "sun")
    assert GraphEditor(graph).graph == graph
    for other in (lsat.Graph(4, []), lsat.Graph(5, [(0, 1), (3, 4)])):
        GraphEditor(other).picture()  # libraries that are read for it may warn
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            assert GraphEditor(other).picture().startswith(b"\x89PNG")
        ridge = lsat.Stack(ridge=lsat.Ridge(), smooth=lsat.Smooth(other))
        Z = np.random.default_rng(0).normal(size=(ROWS, other.n))
        data = lsat.Data.from_splits((Z, Y), (Z, Y))
        recipe = lsat.Recipe(featurizer=lsat.Identity(), regularizer=ridge, method=QUICK.method)
        assert np.isfinite(lsat.tune(recipe, data, progress=False).model.predict(Z)).all()


# --- 27: a run that is interrupted -----------------------------------------------------------------------------------

INTERRUPTED = """
import os, signal, sys
import lsat_explorer as lsat
data = lsat.datasets.digits()
recipe = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=100_000, tolerance=0.0))
run = lsat.Run(recipe, data, checkpoint=lsat.Checkpoint(sys.argv[1], iterations=1))
for iterate in run.steps():
    if iterate.number == 6:
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
@pytest.mark.skipif(os.name != "posix", reason="signals of other systems")
def test_case_27_an_interrupted_run_goes_on_from_a_whole_checkpoint(name: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "run"), name]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode in (-getattr(signal, name), 1), done.stderr
    run = lsat.Run.resume(tmp_path / "run", lsat.datasets.digits())
    assert 5 <= run.iterates[-1].number <= 7
    assert all(np.isfinite(value.numpy()).all() for value in run.omega.values())
    before = len(run.iterates)
    next(iter(run.steps()))
    assert len(run.iterates) >= before
