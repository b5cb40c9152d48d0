"""The curves of runs without a browser: runs beside the shown one, ω on demand, the loss that stops a run early."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from fake_run import FakeRun
from live import end, opened, rows, send, slower, trace, weighting
from lsat_explorer import plots
from lsat_explorer.plots.omega import MOST_NAMES, hide_omega, show_omega, update_omega
from lsat_explorer.tune.iterates import Iterates
from lsat_explorer.widgets import LiveTuner
from lsat_explorer.widgets.history import OmegaColumns
from lsat_explorer.widgets.live_curves import LiveCurves
from lsat_explorer.widgets.run_list import MOST_OVERLAID, RunList
from lsat_explorer.widgets.run_table import RunTable
from waiting import until


@pytest.fixture
def recipe() -> lsat.Recipe:
    return weighting(5)


@pytest.fixture
def tuner(data: lsat.Data, recipe: lsat.Recipe) -> Iterator[LiveTuner]:
    yield from opened(data, recipe)


def test_chosen_runs_are_drawn_beside_the_shown_one_under_their_names(tuner: LiveTuner) -> None:
    end(tuner)
    first = tuner.run
    tuner.restart(slower(tuner, 0.5))
    tuner.wait(60)
    tuner.runs[0].name = "100 %{y} <b>"
    send(tuner.table, command="overlay", run=1, on=True)
    beside = trace(tuner, "overlay 0")
    assert beside.y.tolist() == [iterate.loss for iterate in first.iterates]
    assert beside.hovertemplate == "100 &#37;{y} &lt;b&gt; %{y:.5~g}<extra></extra>"
    assert (rows(tuner, "slot"), tuner.runs.overlaid) == ([None, 0], [tuner.runs[0]])
    tuner.table.set_state({"chosen": 1})
    assert len(trace(tuner, "overlay 0").x) == 0  # it is the shown one now
    tuner.table.set_state({"chosen": 0})
    send(tuner.table, command="overlay", run=1, on=False)
    assert len(trace(tuner, "overlay 0").x) == 0


def test_the_tolerance_of_a_run_that_is_over_is_the_one_that_it_used(
    tuner: LiveTuner, recipe: lsat.Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def line() -> float:
        return float(trace(tuner, "tolerance").y[0])

    def coarser(tolerance: float) -> lsat.Recipe:
        return recipe.replace(method=lsat.ProximalGradient(max_iterations=5, tolerance=tolerance))

    drawn: list[float] = []
    monkeypatch.setattr(plots, "explorer_picture", lambda _curves, tolerance, *_, **__: drawn.append(tolerance))
    tuner.step()
    until(lambda: tuner.worker.resting)
    tuner.change(coarser(0.002))
    assert line() == 0.002  # the run takes it up
    end(tuner)
    tuner.change(coarser(1e-7))
    assert line() == 0.002
    tuner.picture()
    assert drawn == [0.002]
    tuner.restart()
    tuner.wait(60)
    assert line() == 1e-7


def test_at_most_six_runs_lie_beside_the_shown_one_each_in_its_colour(data: lsat.Data) -> None:
    runs = RunList()
    table = RunTable(runs)
    runs.changed = table.edited
    for step in range(MOST_OVERLAID + 2):
        run = FakeRun(lsat.Recipe(method=lsat.ProximalGradient(step=step + 1.0)), data, last=1)
        list(run.steps())
        runs.follow(run, run.recipe, 1.0)
    table.refresh(False)
    for index in range(MOST_OVERLAID):
        runs.overlay(index)
    send(table, command="overlay", run=7, on=True)
    assert "at most 6 can be told apart" in table.problem
    assert not any(row["room"] for row in table.rows)
    runs.overlay(2, False)
    runs.overlay(6)
    assert [kept.slot for kept in runs] == [0, 1, None, 3, 4, 5, 2, None]
    del runs[0]
    runs.overlay(1)
    runs.undo()  # its colour is taken
    assert [kept.slot for kept in runs][:3] == [None, 1, 0]


def test_an_overlaid_run_widens_the_axes() -> None:
    long = {n: np.arange(40.0) for n in ("number", "loss", "step", "residual", "accepted")}
    short = {n: v[:3] + (n == "accepted") for n, v in long.items()}
    figure = plots.run_plotly({})
    plots.update_run(figure, short, None, {2: ("longer", long)}, 1)
    assert figure.layout.xaxis.tickvals[-1] > 10
    assert figure.layout.yaxis.tickvals[-1] > 10
    points = {t.name: t.x.tolist() for t in figure.data}
    assert points["overlay 2"] == list(range(40))
    assert points["marked"] == [1.0]


def test_omega_is_drawn_when_asked_for(tuner: LiveTuner) -> None:
    end(tuner)
    count, height = len(tuner.plot.data), tuner.plot.layout.height
    assert [t.name for t in tuner.plot.data if t.meta] == ["last look"]
    tuner.controls.set_state({"with_omega": True})
    drawn = {(t.name, t.meta.split()[-1]): t for t in tuner.plot.data if t.meta}
    smooth, weights = drawn["smooth log weight", "median"], drawn["log row weights", "greatest"]
    assert smooth.y.tolist() == [float(i.omega["regularizer.smooth.log_weight"]) for i in tuner.run.iterates]
    assert weights.y[-1] == float(tuner.run.omega["data_weights.log_weight"].max())
    assert drawn["gradient norm", "gradient"].y[-1] == tuner.run.iterates[-1].gradient_norm
    assert tuner.plot.layout.height > height
    assert tuner.plot.layout.xaxis.anchor == "y6"
    tuner.branch(2)  # and follows the next run
    tuner.wait(60)
    assert len(drawn["smooth log weight", "median"].x) == len(tuner.run.iterates)
    tuner.controls.set_state({"with_omega": False})
    assert tuner.plot.layout.height == height
    assert tuner.plot.layout.xaxis.anchor == "y3"
    assert len([t for t in tuner.plot.data if t.visible is not False]) == count


def test_the_panels_lie_where_they_lay_once_omega_is_gone() -> None:
    figure = plots.run_plotly({})
    before = figure.layout.to_plotly_json()
    show_omega(figure)
    places = [figure.layout[axis].domain for axis in ("yaxis", "yaxis2", "yaxis4", "yaxis3", "yaxis5", "yaxis6")]
    assert all(0 <= low < high <= 1 for low, high in places)
    assert all(upper[0] > lower[1] for upper, lower in pairwise(places))
    hide_omega(figure)
    after = figure.layout.to_plotly_json()
    for axis in ("yaxis", "yaxis2", "yaxis3", "yaxis4"):
        assert after[axis]["domain"] == pytest.approx(before[axis]["domain"])
    assert [a["y"] for a in after["annotations"]] == pytest.approx([a["y"] for a in before["annotations"]])


def test_of_many_hyper_parameters_those_that_moved_most_are_drawn() -> None:
    figure = plots.run_plotly({})
    show_omega(figure)
    number = np.arange(4.0)
    moving = {f"weight {k}": k * number for k in range(12)}
    update_omega(figure, {"number": number, "gradient_norm": number + 1, **moving})
    names = [t.name for t in figure.data if t.meta and t.showlegend]
    assert names == [f"weight {k}" for k in range(12 - MOST_NAMES, 12)]
    assert "8 of 12, those that moved most" in figure.layout.annotations[8].text
    update_omega(figure, {"number": number[:0], "gradient_norm": number[:0]})
    assert not figure.layout.annotations[8].text
    assert all(len(t.x) == 0 for t in figure.data)


def test_few_columns_are_drawn_each_by_its_name_and_many_by_their_ends() -> None:
    recipe = lsat.Recipe(regularizer=lsat.Diagonal(block="features"), method=lsat.ProximalGradient(max_iterations=3))
    targets = np.random.default_rng(0).normal(size=40)
    for count in (3, MOST_NAMES + 1):
        X = np.random.default_rng(1).normal(size=(40, count))
        names = [f"<i>{k}</i>" for k in range(count)]
        data = lsat.Data.from_arrays(X, targets, task="regression", feature_names=names)
        run = lsat.tune(recipe, data, progress=False)
        curves = LiveCurves(lambda number: None)
        curves.with_omega(True)
        curves.draw(run, recipe, [], None)
        shown = [t for t in curves.figure.data if t.meta and t.showlegend]
        said = " ".join(t.name for t in shown)
        assert all((f"&lt;i&gt;{k}&lt;/i&gt;" in said) == (count == 3) for k in range(count)), said
        if count == 3:
            for k, trace in enumerate(shown):
                expected = [float(one.omega["regularizer.log_weight"][k]) for one in run.iterates]
                np.testing.assert_allclose(np.interp(range(len(expected)), trace.x, trace.y), expected)
        curves.close()


def test_omega_of_a_loaded_run_has_gaps_where_it_was_not_saved() -> None:
    whole = {"data_weights.log_weight": torch.arange(5.0), "regularizer.log_weight": torch.tensor(2.0)}
    iterates = [lsat.Iterate(k, 1.0, 1.0, 0.0, 1.0, whole) for k in range(3)]
    iterates[0] = lsat.Iterate(0, 1.0, 1.0, 0.0, 1.0, {"regularizer.log_weight": torch.tensor(1.0)})
    columns, loaded = OmegaColumns(), Iterates(iterates)
    columns.of(Iterates(iterates[:1]))
    assert np.isnan(OmegaColumns().of(loaded)["log row weights"][0]).all()
    assert OmegaColumns().of(loaded)["log row weights"][1:].tolist() == [[0.0, 2.0, 4.0]] * 2
    assert columns.of(loaded)["log weight"].tolist() == [1.0, 2.0, 2.0]


def test_the_loss_of_the_rows_that_stop_a_run_early_is_drawn(data: lsat.Data, recipe: lsat.Recipe) -> None:
    tuner = LiveTuner(data, recipe.replace(early_stopping=lsat.EarlyStopping(patience=50)))
    end(tuner)
    assert trace(tuner, "early-stopping loss").y.tolist() == [i.stopping_loss for i in tuner.run.iterates]
    assert "early stopping dash-dotted" in tuner.plot.layout.annotations[0].text
    tuner.close()
