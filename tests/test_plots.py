"""Figures draw what they are given: every curve, every number in words, and text from data as text."""

from __future__ import annotations

import io
import json
import math
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import lsat_explorer as lsat
from boxes import overlapping
from lsat_explorer import plots
from lsat_explorer.plots.contact import contact_sheet
from lsat_explorer.plots.curves import Curve, curves, number_text, short, value_text, weight_bins
from lsat_explorer.plots.maps import escape
from lsat_explorer.plots.ticks import integer_ticks, linear_ticks, log_ticks
from lsat_explorer.widgets.cards import cards
from lsat_explorer.widgets.rows import weight_text

HOSTILE = ["<img src=x onerror=alert(1)>", r"$\frac{1}{0}$", "$", "🎉 émoji", "n" * 300, "", "two\nlines", 3]
TRACES = {"validation loss", "training loss", "step size", "stopping residual", "tolerance", "rejected"}


def history(rows: int, **changes: Any) -> pd.DataFrame:
    """Return a history like a run's: the first residual is NaN, every fifth step is rejected."""
    number = np.arange(rows)
    accepted = (number % 5 != 4) | (number == 0)
    columns: dict[str, Any] = {
        "number": number,
        "loss": 1.5 + 0.1 * np.exp(-number / 9),
        "training_loss": 1.4 + 0.1 * np.exp(-number / 9),
        "step": 1.2**number if rows < 500 else np.ones(rows),
        "residual": np.where(accepted & (number > 0), 0.1 * np.exp(-number / 13), np.nan),
        "accepted": accepted,
        "seconds": 0.1 * number,
    }
    return pd.DataFrame(columns | changes)


CASES = {
    "none": pd.DataFrame(),
    "no rows": history(0),
    "one": history(1),
    "two": history(2),
    "many": history(60),
    "all NaN": history(5, loss=np.full(5, np.nan), residual=np.full(5, np.nan)),
    "infinite": history(5, loss=[1.0, np.inf, 1.0, -np.inf, 1.0]),
    "flat": history(6, loss=np.ones(6), training_loss=np.ones(6), step=np.ones(6)),
    "zero step": history(4, step=np.zeros(4)),
    "large": history(4, loss=[1e9, 1e8, 1e7, -3e6]),
    "without training loss": history(9).drop(columns="training_loss"),
}


def size_of(png: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(png)) as image:
        image.load()
        return image.size


def texts_of(figure: Any) -> list[str]:
    return [text.get_text() for text in (*figure.texts, *(text for axes in figure.axes for text in axes.texts))]


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


def test_the_still_figure_says_the_present_values() -> None:
    texts = texts_of(plots.run_figure(history(60), tolerance=1e-4))
    assert {"Validation loss", "Step size t", "Stopping residual", "rejected", "tolerance dashed"} <= set(texts)
    assert {"1.5001", value_text(1.2**59, "step")} <= set(texts)
    assert "no iteration yet" in texts_of(plots.run_figure(pd.DataFrame()))


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
    assert (card.facts[0][1], weight_text(6.144e-6)) == ("6.144e-6", "6.1e-6")
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


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([0.29, 1.0, 4.13], "0.29 to 4.13 over 3 rows"),
        ([1.0, 1.0], "all 1 over 2 rows"),
        ([1.0], "all 1 over 1 row"),
        ([0.0, 0.0], "all 0 over 2 rows"),
        ([0.0, 2.0], "0 to 2 over 2 rows"),
        ([np.nan, np.inf], "no rows"),
        ([], "no rows"),
    ],
)
def test_weights_say_their_range(weights: list[float], said: str) -> None:
    figure = plots.weights_figure(weights)
    assert said in texts_of(figure)
    size_of(figure.png(dpi=40))
    json.loads(plots.weights_plotly(weights).to_json())


def test_every_weight_is_counted_once() -> None:
    weights = np.exp(0.3 * np.random.default_rng(0).standard_normal(1000))
    edges, counts = weight_bins(weights)
    assert counts.sum() == 1000
    assert (edges[0], edges[-1]) == (weights.min(), weights.max())
    with pytest.raises(ValueError, match="bins is 0"):
        weight_bins(weights, bins=0)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 1), (4, 3, 3)])
def test_theta_is_drawn_around_zero(shape: tuple[int, ...]) -> None:
    theta = np.random.default_rng(0).standard_normal((math.prod(shape), 8))
    theta[0] = np.nan
    figure = plots.theta_figure(theta, shape, HOSTILE)
    images = [axes.images[0] for axes in figure.axes if axes.images]
    assert len(images) == 8
    low, high = images[0].get_clim()
    assert low == -high < 0
    assert {image.get_clim() for image in images} == {(low, high)}
    size_of(figure.png(dpi=40))
    live = plots.theta_plotly(theta, shape, HOSTILE)
    assert live.layout.coloraxis.cmin == -live.layout.coloraxis.cmax


def test_theta_of_zeros_and_of_one_output_is_drawn() -> None:
    size_of(plots.theta_figure(np.zeros(12), (4, 3)).png(dpi=40))


@pytest.mark.parametrize(
    ("theta", "classes", "said"),
    [
        (np.zeros((885, 10)), None, r"\(885, 10\).*\(784, m\)"),
        (np.zeros((784, 10)), ["a"], "10 columns and classes 1"),
        (np.zeros((784, 0)), None, r"\(784, 0\)"),
    ],
)
def test_theta_of_another_shape_is_refused(theta: np.ndarray, classes: list[str] | None, said: str) -> None:
    for draw in (plots.theta_figure, plots.theta_plotly):
        with pytest.raises(ValueError, match=said):
            draw(theta, (28, 28), classes)


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((12, 8, 8), np.uint8),
        np.zeros((1, 8, 8, 3), np.uint8),
        np.zeros((3, 8, 8, 1)),
        np.linspace(-2, 2, 2 * 8 * 4).reshape(2, 8, 4),
        np.full((2, 3, 3), np.nan),
        np.zeros((0, 8, 8), np.uint8),
        [],
    ],
)
def test_thumbnails_of_any_image_are_drawn(images: Any) -> None:
    captions = [(HOSTILE[i % len(HOSTILE)], "0.29", 59467) for i in range(len(images))]
    figure = plots.thumbnails_figure(images, captions, title="$ <b>rows</b>")
    assert [len(axes.images) for axes in figure.axes] == [len(images)]
    assert "$ <b>rows</b>" in texts_of(figure)
    assert ("no rows" in texts_of(figure)) == (len(images) == 0)
    size_of(figure.png(dpi=40))


def test_pixels_between_zero_and_one_keep_their_brightness() -> None:
    figure = plots.thumbnails_figure([[[0.0, 0.5]]])
    assert figure.axes[0].images[0].get_array().tolist() == [[[0] * 3, [128] * 3]]


def test_thumbnails_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="2 rows to draw and 1 captions"):
        plots.thumbnails_figure(np.zeros((2, 3, 3)), ["one"])
    with pytest.raises(ValueError, match=r"shape \(5,\)"):
        plots.thumbnails_figure([np.zeros(5)])


def test_graphs_stand_in_for_rows_without_images() -> None:
    figure = plots.graphs_figure([[0.0, 1.0, -3.0], [0.1] * 40, [0.5]], HOSTILE[:3])
    assert len(figure.axes[0].collections) == 2  # bars of the two that have few numbers
    assert len(figure.axes[0].patches) == 3
    size_of(figure.png(dpi=40))


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("count", [0, 1, 13, 30])
def test_a_contact_sheet_holds_every_row_in_its_place(graphs: bool, count: int) -> None:
    captions = [(short(HOSTILE[i % len(HOSTILE)]), "0.29", "59467") for i in range(count)]
    values = [[2.0] * (3 if i % 2 else 30) for i in range(count)]
    tiles = values if graphs else np.full((count, 5, 5), 90, np.uint8)
    with Image.open(io.BytesIO(contact_sheet(tiles, captions, HOSTILE[0], graphs=graphs))) as image:
        sheet = np.asarray(image.convert("RGB")).astype(int)
    across = min(10, count) or 10
    assert sheet.shape[1] == round(1.3 * max(98 * across + 16, 400))
    for place in range(count):
        top, left = 38 + 128 * (place // across), 8 + 98 * (place % across)
        tile = sheet[
            round(1.3 * top) + 2 : round(1.3 * (top + 90)) - 2, round(1.3 * left) + 2 : round(1.3 * (left + 90)) - 2
        ]
        if graphs:
            upper, lower = tile[:50, :, 0], tile[65:, :, 0]
            assert upper.min() < 120 < 200 < lower.min()  # two deviations above the mean, none below
        else:
            assert (tile == 90).all()
        words = sheet[round(1.3 * (top + 92)) : round(1.3 * (top + 124)), round(1.3 * left) : round(1.3 * (left + 90))]
        assert words.min() < 80
    assert (sheet[: round(1.3 * 36)] < 80).any()


def test_a_contact_sheet_takes_no_matplotlib_and_refuses_what_is_no_image() -> None:
    code = "import sys; from lsat_explorer.plots.contact import contact_sheet; contact_sheet([[[1]]], ['abc'], 'c')"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'matplotlib' not in sys.modules"], check=True)
    with pytest.raises(ValueError, match="2 rows to draw and 1 captions"):
        contact_sheet(np.zeros((2, 3, 3)), [("a", "b", "c")], "")
    with pytest.raises(ValueError, match=r"shape \(5,\)"):
        contact_sheet([np.zeros(5)], [("a", "b", "c")], "")


@pytest.mark.parametrize("name", HOSTILE)
def test_text_from_data_stays_text(name: object) -> None:
    shown = escape(name)
    assert "<" not in shown
    assert "$" not in shown
    figure = plots.thumbnails_figure([np.zeros((2, 2))], [(name, "1.00", name)], title=name)
    assert short(name, 40)[:20] in texts_of(figure)[0]
    assert all(not text.get_parse_math() for text in figure.texts)
    size_of(figure.png(dpi=40))


def test_the_picture_of_an_explorer_is_wide_light_and_small() -> None:
    images = np.random.default_rng(0).integers(0, 255, (30, 28, 28, 3)).astype(np.uint8)
    captions = [(HOSTILE[i % 8], "0.29", i) for i in range(30)]
    sentence = "Converged: the residual is below 1e-4. " * 20
    png = plots.explorer_picture(
        history(60), 1e-4, images, captions, sentence, HOSTILE[4], groups=("Lightest", "Heaviest")
    )
    assert size_of(png)[0] >= 1000
    assert len(png) < 150_000
    with Image.open(io.BytesIO(png)) as image:
        assert image.convert("RGB").getpixel((2, 2)) == (255, 255, 255)


@pytest.mark.parametrize("case", CASES)
def test_the_picture_of_an_explorer_shows_any_history_without_images(case: str) -> None:
    assert size_of(plots.explorer_picture(CASES[case], None, None, (), "", ""))[0] >= 1000


def test_the_picture_of_an_explorer_wants_a_caption_for_each_image() -> None:
    with pytest.raises(ValueError, match="1 images and 0 captions"):
        plots.explorer_picture(history(3), None, np.zeros((1, 4, 4)), (), "", "")


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


def test_thumbnails_of_plotly_show_each_image_under_its_caption() -> None:
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8), dtype=np.uint8)
    figure = plots.thumbnails_plotly(images, [f"{i} <b>" for i in range(12)], title="<i>rows")
    assert len(figure.data) == 12
    assert np.array_equal(np.asarray(figure.data[3].z)[..., 0], images[3])
    assert [note.text for note in figure.layout.annotations][3] == "3 &lt;b&gt;"
    assert figure.layout.title.text == "&lt;i&gt;rows"
    assert len(plots.thumbnails_plotly([]).data) == 0
    with pytest.raises(ValueError, match="12 images and 1 captions"):
        plots.thumbnails_plotly(images, ["a"])
