"""Figures of weights, coefficients and rows draw what they are given, and text from data as text."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from PIL import Image

from histories import CASES, HOSTILE, history, size_of, texts_of
from lsat_explorer import plots
from lsat_explorer.plots.contact import contact_sheet
from lsat_explorer.plots.curves import short, weight_bins
from lsat_explorer.plots.maps import escape


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


def test_a_run_or_a_model_in_the_place_of_numbers_is_refused() -> None:
    for draw in (plots.weights_figure, plots.weights_plotly):
        with pytest.raises(ValueError, match=r"weights is a object, .* such as run.weights\(\)"):
            draw(object())
        with pytest.raises(ValueError, match="weights is a NoneType, expected an array of numbers"):
            draw(None)
    for draw in (plots.theta_figure, plots.theta_plotly):
        with pytest.raises(ValueError, match=r"theta is a object, .* such as model.theta.cpu\(\)"):
            draw(object(), (4, 3))
        with pytest.raises(ValueError, match=r"image_shape is None, expected \(h, w\)"):
            draw(np.zeros(12), None)


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


@pytest.mark.parametrize(
    ("title", "least", "most"), [("Rows", 400, 400), ("Rows of class 8 " * 5, 500, 900), ("n" * 300, 980, 996)]
)
def test_a_contact_sheet_of_few_rows_is_as_wide_as_its_title_needs(title: str, least: int, most: int) -> None:
    with Image.open(io.BytesIO(contact_sheet(np.full((1, 5, 5), 90), [("8", "", "")], title))) as image:
        sheet = np.asarray(image.convert("L"))
    assert round(1.3 * least) <= sheet.shape[1] <= round(1.3 * most)
    written = np.flatnonzero((sheet[: round(1.3 * 36)] < 80).any(0))
    assert written.max() < sheet.shape[1] - 5  # nothing is cut off at the right
    assert (written.max() > 0.95 * sheet.shape[1]) == (title != "Rows")


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
