"""Figures of a run draw what they are given: every curve, every number in words, ticks that are few and inside."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from boxes import overlapping
from histories import CASES, history, size_of, texts_of
from lsat_explorer import plots
from lsat_explorer.plots.curves import Curve, curves, number_text, value_text
from lsat_explorer.plots.ticks import integer_ticks, linear_ticks, log_ticks
from lsat_explorer.plots.words import weight_text
from lsat_explorer.widgets.cards import cards

TRACES = {"validation loss", "training loss", "step size", "stopping residual", "tolerance", "rejected"}


@pytest.mark.parametrize(
    ("case", "tolerance"), [*((case, 1e-4) for case in CASES), *(("many", other) for other in (None, 0.0, math.nan))]
)
def test_any_history_is_drawn_by_both_libraries(case: str, tolerance: float | None) -> None:
    still = plots.run_figure(CASES[case], tolerance)
    assert len(still.axes) == 3
    size_of(still.png(dpi=40))
    live = plots.run_plotly(CASES[case], tolerance)
    assert {trace.name for trace in live.data} >= TRACES
    json.loads(live.to_json())


def test_curves_leave_out_what_cannot_be_drawn() -> None:
    drawn = curves(history(5, loss=[2.0, np.nan, 1.5, np.inf, 1.0], step=[1.0, 0.0, -1.0, 2.0, 4.0]))
    assert drawn.loss.x.tolist() == [0, 2, 4]
    assert drawn.step.y.tolist() == [1.0, 2.0, 4.0]
    assert drawn.residual.x.tolist() == [1, 2, 3]
    assert drawn.rejected.tolist() == [4]
    assert drawn.last == 4


def test_a_long_history_keeps_its_ends_and_its_extremes() -> None:
    rows = 30_000
    loss = np.ones(rows)
    loss[[12_345, 23_456]] = 9.0, -9.0
    drawn = curves(history(rows, loss=loss))
    assert len(drawn.loss) <= 2_000
    assert (drawn.loss.y.max(), drawn.loss.y.min()) == (9.0, -9.0)
    assert drawn.loss.x[[0, -1]].tolist() == [0, rows - 1]
    assert len(drawn.rejected) <= 2_000


def test_a_history_without_a_column_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no column 'step'"):
        plots.run_figure(history(3).drop(columns="step"))
    with pytest.raises(ValueError, match="3 rows and 2 values of 'loss'"):
        curves({**history(3).to_dict("list"), "loss": [1.0, 2.0]})


@pytest.mark.parametrize("given", [None, np.zeros((3, 4)), lsat.Run(lsat.Recipe(), lsat.datasets.digits())], ids=type)
def test_what_is_no_table_is_refused_in_place_of_a_history(given: Any) -> None:
    sentence = rf"history is a {type(given).__name__}, expected a table: pass run\.history\(\)\."
    figure = plots.run_plotly(history(3))
    for draw in (plots.run_figure, plots.run_plotly, lambda found: plots.update_run(figure, found)):
        with pytest.raises(ValueError, match=sentence):
            draw(given)


def test_the_still_figure_says_the_present_values() -> None:
    texts = texts_of(plots.run_figure(history(60), tolerance=1e-4))
    assert {"Validation loss", "Step size t", "Stopping residual", "rejected", "tolerance dashed"} <= set(texts)
    assert {"1.5001", value_text(1.2**59, "step")} <= set(texts)
    empty = texts_of(plots.run_figure(pd.DataFrame()))
    assert sorted(empty) == ["Step size t", "Stopping residual", "Validation loss", "no iteration yet"]


@pytest.mark.parametrize("tolerance", [1e-4, 2e-3, 0.05, 0.1, 3.0])
@pytest.mark.parametrize("case", CASES)
def test_no_word_of_the_still_figure_lies_over_another(case: str, tolerance: float) -> None:
    figure = plots.run_figure(CASES[case], tolerance)
    figure.draw_without_rendering()
    ticks = [text for axes in figure.axes for text in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    words = [text for text in (*ticks, *(text for axes in figure.axes for text in axes.texts)) if text.get_text()]
    boxes = [text.get_window_extent() for text in words]
    corners = [[(b.x0, b.y0), (b.x1, b.y0), (b.x1, b.y1), (b.x0, b.y1)] for b in boxes]
    over = [(words[a].get_text(), words[b].get_text()) for a, b in overlapping(corners, 0.0)]
    assert over == []


def test_numbers_of_curves_ticks_and_cards_have_one_form() -> None:
    assert (value_text(1e-4, "residual"), log_ticks([1e-4, 1e-2])[1][0]) == ("1.0e-4", "1e-4")
    assert [value_text(8.64e-5, "residual"), value_text(4.7e12, "step"), value_text(-1.5e-7)] == [
        "8.6e-5",
        "4.7e12",
        "-1.5e-7",
    ]
    assert log_ticks([900.0, 4000.0])[1] == ["1e3", "2e3"]
    assert number_text(1e-100, ".1e") == "1.0e-100"
    recipe = lsat.Recipe(regularizer=lsat.Ridge(log_weight=-6.0))
    (card,) = cards(recipe)["Regularizers"]
    assert (card.facts[0][1], weight_text(6.144e-6)) == ("6.144e-6", "6.1e−6")
    templates = [trace.hovertemplate for trace in plots.run_plotly(history(3)).data if trace.hovertemplate]
    assert not [template for template in templates if "5g" in template]  # digits that end in zeros are d3's


def test_the_live_figure_follows_a_run_from_nothing() -> None:
    figure = plots.run_plotly(pd.DataFrame(), 1e-4)
    assert figure.layout.annotations[6].text == "no iteration yet"
    assert all(len(trace.x) == 0 for trace in figure.data)
    plots.update_run(figure, history(60), 1e-4)
    points = {trace.name: trace for trace in figure.data}
    assert points["validation loss"].x.dtype == points["rejected"].x.dtype == np.float64
    assert points["rejected"].x.tolist() == list(range(4, 60, 5))
    assert points["current loss"].y.tolist() == [points["validation loss"].y[-1]]
    assert points["tolerance"].y.tolist() == [1e-4, 1e-4]
    said = [note.text for note in figure.layout.annotations[3:6]]
    assert [re.sub("<[^>]*>", "", text) for text in said] == ["1.5001", "4.7e4", "1.2e-3"]
    assert figure.layout.annotations[6].text == ""


def test_a_figure_that_is_told_what_was_said_ends_as_one_that_is_drawn_afresh() -> None:
    figure, said = plots.run_plotly({}), {}
    beside = {1: ("beside", history(90))}
    for drawn in ((history(3), 1e-4), (history(60), 1e-4, beside, 7), (history(60), None), ({}, 1e-4)):
        fresh = plots.run_plotly({})
        said = plots.update_run(figure, *drawn, said=said)
        assert said == plots.update_run(fresh, *drawn)
        assert figure.layout == fresh.layout


def test_a_figure_that_is_told_what_was_said_sets_no_more_than_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = plots.run_plotly({})
    said = plots.update_run(figure, history(60), 1e-4)
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(figure, "plotly_update", lambda _points, layout, _traces: sent.append(layout))
    plots.update_run(figure, history(60), 1e-4, said=said)
    plots.update_run(figure, history(60), 1e-3, said=said)
    assert sent[0] == {}
    assert 0 < len(sent[1]) < len(said) / 3
    assert sent[1].items() <= plots.update_run(figure, history(60), 1e-3).items()


def test_the_live_figure_takes_its_width_and_colours_from_the_page() -> None:
    figure = plots.run_plotly(history(4), height=321)
    assert figure.layout.height == 321
    assert figure.layout.width is None
    assert figure.layout.autosize
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert {trace.type for trace in figure.data} == {"scatter"}  # none of these needs WebGL
    assert "$" not in figure.layout.to_plotly_json().__repr__()


def test_traces_come_by_name_for_a_figure_that_lives_elsewhere() -> None:
    traces = plots.run_traces(history(7), 1e-3)
    assert set(traces) == {trace.name for trace in plots.run_plotly({}).data}
    assert all(isinstance(curve, Curve) and len(curve.x) == len(curve.y) for curve in traces.values())


@pytest.mark.parametrize("value", [0.0, 1e-12, 0.5, 1.0, 7.0, 123456.0, 1e30])
@pytest.mark.parametrize("span", [0.0, 1e-9, 1e-3, 1.0, 1e6])
def test_ticks_are_few_distinct_and_inside(value: float, span: float) -> None:
    values = np.array([value, value + span])
    for positions, texts in (linear_ticks(values), *([log_ticks(values)] if value > 0 else [])):
        assert 1 <= len(positions) == len(texts) == len(set(texts)) <= 6
        assert positions.min() >= values.min() - 1e-6 * abs(values).max()
        assert positions.max() <= values.max() + 1e-6 * abs(values).max()


def test_ticks_read_as_expected() -> None:
    assert log_ticks([1.0, 640.0])[1] == ["1e0", "1e1", "1e2"]
    assert log_ticks([1e-4])[1] == ["1e-4"]
    assert log_ticks([1.0, 2.07])[1] == ["1", "2"]
    assert log_ticks([0.00164, 0.0818])[1] == ["0.002", "0.01", "0.05"]
    assert log_ticks([0.0365, 0.0412])[1] == ["0.0365", "0.0412"]
    assert linear_ticks([1.503, 1.623])[1] == ["1.525", "1.550", "1.575", "1.600"]
    assert linear_ticks([0.0, 0.0007])[1] == ["0.0000", "0.0002", "0.0004", "0.0006"]
    assert integer_ticks(0).tolist() == [0]
    assert integer_ticks(-1).tolist() == []
    assert integer_ticks(250).tolist() == [0, 50, 100, 150, 200, 250]


def test_figures_show_in_a_notebook_without_pyplot_and_plotly() -> None:
    code = (
        "import sys; from lsat_explorer import plots; figure = plots.run_figure({});"
        "assert figure._repr_png_()[:4] == b'\\x89PNG';"
        "print(sorted(name for name in ('matplotlib.pyplot', 'plotly', 'ipywidgets') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_figure_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="run_figur"):
        _ = plots.run_figur
