"""The FeaturizerBuilder as a user meets it: in JupyterLab, with a mouse and with keys."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator

from lab import Notebook

pytestmark = pytest.mark.browser

DIGITS = """
import torch
torch.set_num_threads(1)
import lsat_explorer as lsat
data = lsat.datasets.digits()
"""
SHOW = "builder = lsat.widgets.FeaturizerBuilder(data, {})\nbuilder"
BLOCKS = """lsat.Concat(
    bent=lsat.Chain(lsat.Scale(tuned=False), lsat.PowerTransform(exponent=0.6)),
    smooth=lsat.Chain(lsat.Scale(tuned=False), lsat.Spline(knots=4, basis="bspline")),
    archetypes=lsat.KMeansArchetypes(per_class=3, n_init=1), one=lsat.Constant())"""
VIEW = ".jp-OutputArea-output .lsat-features"

# Every visible text against the ground that it stands on, by WCAG 2: what lacks a ratio of 4.5, with its ratio.
PALE = """(root) => {
    const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (color) => {
        pen.clearRect(0, 0, 1, 1);
        pen.fillStyle = color;
        pen.fillRect(0, 0, 1, 1);
        return [...pen.getImageData(0, 0, 1, 1).data];
    };
    const over = ([r, g, b, a], ground) => [r, g, b].map((part, i) => part * a / 255 + ground[i] * (1 - a / 255));
    const ground = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const light = (color) => {
        const linear = (part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = color.map((part) => linear(part / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = [];
    for (const element of document.querySelectorAll(`${root} *`)) {
        const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join('');
        if (!text || element.disabled || !element.checkVisibility() || element.matches('title')) continue;
        const below = ground(element);
        const style = getComputedStyle(element);
        const drawn = over(rgba(element.namespaceURI.endsWith('svg') ? style.fill : style.color), below);
        const [a, b] = [light(drawn), light(below)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) found.push(`${text}: ${ratio.toFixed(2)}`);
    }
    return found;
}"""
# Controls without an accessible name, or without a tooltip that says what they mean.
NAMELESS = """(root) => {
    const text = (node) => node?.textContent.trim();
    const named = (node) => node.getAttribute('aria-label') || text(node.labels?.[0]) || text(node);
    const explained = (node) => node.title || node.querySelector('title')?.textContent;
    const kinds = ['button', 'input', 'select', '[role=slider]'].map((kind) => `${root} ${kind}`);
    return [...document.querySelectorAll(kinds)]
        .filter((node) => node.checkVisibility() && !(named(node) && explained(node)))
        .map((node) => node.outerHTML.slice(0, 120));
}"""

Open = Callable[..., Notebook]


def opened(notebook: Open, name: str, featurizer: str, **look: Any) -> Notebook:
    """Open a builder and wait until its steps have been tried."""
    page = notebook(f"{name}.ipynb", DIGITS, SHOW.format(featurizer), **look)
    until_tried(page)
    return page


def until_tried(page: Notebook) -> None:
    """Wait until the page shows what came of the last change."""
    page.run_code("builder.wait(60)")
    page.wait_for(
        f"""() => ['good', 'bad'].includes(document.querySelector('{VIEW} .lsat-dot')?.dataset.tone)
            && document.querySelector('{VIEW} .lsat-features-detail-head')?.textContent"""
    )


def featurizer(page: Notebook) -> str:
    """What the kernel holds, once it has been tried."""
    return page.run_code("print(builder.wait(60))")


def until_featurizer(page: Notebook, holds: str) -> str:
    """Wait until the kernel's featurizer holds a text, and return it."""
    end = time.monotonic() + 60
    while holds not in (found := featurizer(page)):
        assert time.monotonic() < end, f"no {holds!r} in {found}"
    return found


def find(page: Notebook, selector: str) -> Locator:
    """Return what is inside the view."""
    return page.page.locator(f"{VIEW} {selector}")


def clean(page: Notebook) -> None:
    """Fail if the page complained, asked anybody but its own server, or took a key for the notebook."""
    assert page.complaints == []
    assert page.strangers == []
    assert page.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == 2


def test_a_step_is_added_and_its_slider_moved_by_keys_and_undone(notebook: Open) -> None:
    page = opened(notebook, "steps", "lsat.Scale(tuned=False)")
    find(page, "button:has-text('+ Add a step')").click()
    find(page, "[data-key='kind:Scale']:focus").wait_for()
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")  # Power transform is the second
    until_featurizer(page, "PowerTransform()")
    find(page, ".lsat-features-kind:has-text('Power transform')").wait_for()
    slider = page.page.get_by_role("slider", name="exponent γ")
    slider.focus()
    for _ in range(3):
        page.page.keyboard.press("ArrowLeft")
    until_featurizer(page, "exponent=0.88")
    field = page.page.get_by_role("textbox", name="exponent γ, value")
    assert field.input_value() == "0.88"
    find(page, ".lsat-features-after").first.wait_for()
    find(page, "[data-key='up:1']").focus()
    page.page.keyboard.press("Enter")
    assert until_featurizer(page, "Chain(PowerTransform(exponent=0.88), Scale")
    find(page, "[data-key='down:0']:focus").wait_for()  # the focus stays with the step that moved
    page.page.keyboard.press("Control+z")
    until_featurizer(page, "Chain(Scale(tuned=False), PowerTransform(exponent=0.88))")
    page.page.keyboard.press("Control+z")  # the three presses were one move of the slider
    until_featurizer(page, "PowerTransform())")
    page.page.get_by_role("checkbox", name="exponent γ tuned").uncheck()
    until_featurizer(page, "PowerTransform())")
    assert page.run_code("print(list(builder.held))") == "['featurizer.power_transform.exponent']"
    clean(page)


def test_a_chosen_column_has_a_number_of_its_own_and_a_chosen_row_its_closeness(notebook: Open) -> None:
    page = opened(
        notebook, "chosen", "lsat.Concat(bent=lsat.PowerTransform(), near=lsat.KMeansArchetypes(per_class=2))"
    )
    page.page.get_by_label("Column", exact=True).select_option(index=20)
    page.wait_for(f"() => document.querySelector('{VIEW} .lsat-features-curve')")
    find(page, "[data-key='one:exponent']").click()
    page.wait_for(f"() => document.querySelector(`{VIEW} [data-key='one:exponent']`).ariaPressed === 'true'")
    field = page.page.get_by_role("textbox", name="exponent γ, value")
    field.fill("1.5")
    field.press("Enter")
    until_featurizer(page, "1.5, ")
    exponents = "print(sorted(set(builder.wait(60).members['bent'].exponent)), builder.column)"
    assert page.run_code(exponents) == "[1.0, 1.5] 20"
    find(page, "[data-key='all:exponent']").click()
    until_featurizer(page, "bent=PowerTransform(exponent=1.5)")

    find(page, ".lsat-features-choose:has-text('K-means')").click()
    page.wait_for(f"() => document.querySelectorAll('{VIEW} .lsat-features-tile').length === 20")
    shown = f"() => [...document.querySelectorAll('{VIEW} .lsat-features-tile')].map((one) => one.innerText).join()"
    before = page.page.evaluate(shown)
    row = page.page.get_by_label("Training row, counted from 0")
    row.fill("5")
    row.press("Enter")
    page.wait_for(f"(before) => ({shown})() !== before", before)
    assert page.run_code("print(builder.row)") == "5"
    clean(page)


def test_knots_are_dragged_and_moved_by_keys(notebook: Open) -> None:
    page = opened(notebook, "knots", "lsat.Spline(knots=3, degree=2, basis='bspline'), column=20")
    knots = page.page.get_by_role("slider", name=re.compile("^Knot "))
    knots.nth(2).wait_for()
    page.wait_for(f"() => document.querySelectorAll('{VIEW} .lsat-features-curve').length === 6")
    shares = "print(builder.wait(60).knots)"
    knots.first.focus()
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("ArrowRight")
    until_featurizer(page, "knots=(0.27, 0.5, 0.75)")
    assert find(page, "[data-key='share:0']").input_value() == "27"
    handle = knots.nth(2).locator("circle").last.bounding_box()
    plot = find(page, ".lsat-features-plot").bounding_box()
    assert handle is not None
    assert plot is not None
    x, y = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 0.06 * plot["width"], y, steps=5)
    page.page.mouse.up()
    end = time.monotonic() + 60
    while (moved := eval(page.run_code(shares)))[2] == 0.75:
        assert time.monotonic() < end, "the knot did not follow the mouse"
    assert moved[:2] == (0.27, 0.5)
    assert 0.75 < moved[2] < 1
    find(page, "[data-key='share:1']").fill("45")
    page.page.keyboard.press("Enter")
    until_featurizer(page, f"knots=(0.27, 0.45, {moved[2]})")
    page.page.keyboard.press("Tab")
    clean(page)


def test_a_wrong_place_of_a_knot_stays_where_it_was_typed_and_is_put_right(notebook: Open) -> None:
    page = opened(notebook, "places", "lsat.Spline(knots=(0.25, 0.5, 0.75), degree=2), column=20")
    second = page.page.get_by_role("textbox", name="Knot 2, per cent below")
    shown = f"() => [...document.querySelectorAll('{VIEW} [data-key^=share]')].map((field) => field.value).join(' ')"
    for typed, said in (
        ("120", "Spline: knot 2 is at 120 %: expected a percentage from 0.1 to 99.9."),
        ("10", "Spline: knot 2 is at 10 % and knot 1 at 25 %: expected each at least 0.1 % above the one before."),
        ("half", "Spline: knot 2 is 'half': expected a percentage from 0.1 to 99.9."),
    ):
        second.fill(typed)
        second.press("Enter")
        page.wait_for(f"(said) => document.querySelector('{VIEW} .lsat-features-problem')?.textContent === said", said)
        until_tried(page)
        assert page.page.evaluate(shown) == f"25 {typed} 75"
        assert featurizer(page) == "Spline(knots=(0.25, 0.5, 0.75), degree=2)"
    page.picture("places-wrong", VIEW)
    second.fill("45")
    second.press("Enter")
    until_featurizer(page, "Spline(knots=(0.25, 0.45, 0.75), degree=2)")
    find(page, ".lsat-features-problem").wait_for(state="detached")
    assert page.page.evaluate(shown) == "25 45 75"
    clean(page)


def test_a_wrong_number_of_one_column_is_put_right_in_that_column_alone(notebook: Open) -> None:
    page = opened(notebook, "one-column", "lsat.PowerTransform(exponent=(1.0,) * 64), column=20")
    field = page.page.get_by_role("textbox", name="exponent γ, value")
    field.fill("-3")
    field.press("Enter")
    find(page, ".lsat-features-problem").wait_for()
    until_tried(page)
    field.fill("0.5")
    field.press("Enter")
    find(page, ".lsat-features-problem").wait_for(state="detached")
    until_featurizer(page, "0.5")
    assert page.run_code("print(builder.featurizer.exponent.index(0.5), len(builder.featurizer.exponent))") == "20 64"
    clean(page)


def test_a_wrong_step_says_why_and_the_featurizer_stays(notebook: Open) -> None:
    page = opened(notebook, "wrong", "lsat.LowRank(5)")
    field = page.page.get_by_role("textbox", name="rank r, value")
    field.fill("500")
    field.press("Enter")
    said = "LowRank: rank is 500, but 898 rows of 64 columns have at most 64."
    find(page, ".lsat-features-problem").wait_for()
    assert find(page, ".lsat-features-problem").inner_text() == said
    assert featurizer(page) == "LowRank(rank=5)"
    field.fill("<img src=x onerror=alert(1)>")
    field.press("Enter")
    find(page, ".lsat-features-problem:has-text('<img src=x')").wait_for()
    assert find(page, "img").count() == 0
    field.fill("7")
    field.press("Enter")
    until_featurizer(page, "LowRank(rank=7)")
    find(page, ".lsat-features-problem").wait_for(state="detached")
    assert "7 features · 448 hyper-parameters, 448 tuned" in find(page, ".lsat-features-counts").inner_text()
    clean(page)


def test_a_second_view_and_a_page_that_is_loaded_again_show_the_same(notebook: Open) -> None:
    page = notebook("again.ipynb", DIGITS, SHOW.format(BLOCKS))
    until_tried(page)
    find(page, ".lsat-features-choose:has-text('K-means')").click()
    page.wait_for(f"() => document.querySelectorAll('{VIEW} .lsat-features-tile').length === 30")
    page.page.get_by_role("textbox", name="k per class, value").fill("2")
    page.page.keyboard.press("Enter")
    until_featurizer(page, "per_class=2")
    page.wait_for(f"() => document.querySelectorAll('{VIEW} .lsat-features-tile').length === 20")
    text = f"() => document.querySelector('{VIEW}')?.innerText"
    before = page.page.evaluate(text)
    page.save()
    page.page.reload()
    page.wait_for(f"(before) => ({text})() === before", before)
    image = f"() => getComputedStyle(document.querySelector('{VIEW} .lsat-features-image')).backgroundImage"
    page.wait_for(f"() => ({image})().startsWith('url(')")
    clean(page)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_it_fits_its_place_and_can_be_read(notebook: Open, theme: str, width: int) -> None:
    name = f"featurizer-{theme.split()[-1].lower()}-{width}"
    page = opened(notebook, name, BLOCKS, size=(width, 1300), theme=theme)
    for step, drawn in (("Power", "curve"), ("Spline", "knot"), ("K-means", "tile")):
        find(page, f".lsat-features-choose:has-text('{step}')").click()
        find(page, f".lsat-features-{drawn}").first.wait_for()
        page.wait_for(f"() => !document.querySelector('{VIEW} .lsat-features-old')")
        page.picture(f"{name}-{step.lower()}", VIEW)
        assert page.page.evaluate(PALE, VIEW) == []
        assert page.page.evaluate(NAMELESS, VIEW) == []
        for part in ("", " .lsat-features-detail", " .lsat-features-block"):
            box = page.page.locator(VIEW + part).first
            assert box.evaluate("el => el.scrollWidth - el.clientWidth") <= 1, part or "the whole"
    tree, detail = (find(page, part).bounding_box() for part in (".lsat-features-left", ".lsat-features-detail"))
    assert tree is not None
    assert detail is not None
    assert detail["x"] >= tree["x"] + tree["width"] or detail["y"] >= tree["y"] + tree["height"]
    find(page, "button:has-text('+ Add a block')").click()
    find(page, ".lsat-features-palette").wait_for()
    page.picture(f"{name}-palette", VIEW)
    assert page.page.evaluate(PALE, VIEW) == []
    clean(page)
