"""The sliders of the hyper-hyper-parameters as a user meets them: by mouse and by keys, with their values typed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator

from lab import Notebook
from test_assembly_page import until
from test_explorer import clean

pytestmark = pytest.mark.browser

SETUP = """
import lsat_explorer as lsat
recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=2).replace(
    hyper_penalties={
        "data_weights.log_weight": lsat.SumSquares(1e-3) + lsat.ZeroSum(),
        "featurizer.archetypes.log_scale": lsat.Box(-2.0, 5.0),
    },
    early_stopping=lsat.EarlyStopping(patience=7),
)
sliders = lsat.widgets.HyperSliders(recipe)
"""
VIEW = ".jp-OutputArea-output .lsat-sliders"
SAME = """([path, text]) => {
    const fields = [...document.querySelectorAll(`.lsat-sliders [data-path='${path}'] input[type=text]`)];
    return fields.length === 2 && fields.every((field) => field.value === text);
}"""

Open = Callable[..., Notebook]


@pytest.fixture
def page(notebook: Open) -> Notebook:
    page = notebook("sliders.ipynb", SETUP, "sliders", "sliders")
    page.page.locator(VIEW).nth(1).locator("input[type=range]").first.wait_for()
    return page


def lines(page: Notebook) -> dict[str, Locator]:
    """The line of each number in the first view, by its path."""
    view = page.page.locator(VIEW).first
    paths = view.locator(".lsat-knob").evaluate_all("all => all.map((one) => one.dataset.path)")
    assert sorted(paths) == sorted(eval(page.run_code("print(list(sliders.values))")))
    return {path: view.locator(f"[data-path='{path}']") for path in paths}


def test_every_number_is_moved_and_put_back_by_keys_in_two_views(page: Notebook) -> None:
    for path, line in lines(page).items():
        before = page.run_code(f"print(sliders.values['{path}'])")
        if line.get_by_role("slider").count() == 0:
            continue
        slider, field, reset = (line.get_by_role(role) for role in ("slider", "textbox", "button"))
        assert reset.is_disabled()
        typed = field.input_value()
        for key in ("ArrowLeft", "PageUp", "ArrowRight", "ArrowDown", "PageDown", "ArrowLeft"):
            last = field.input_value()
            slider.press(key)
            assert field.input_value() != last, f"{path}, {key}"  # a key is never lost to rounding
        page.wait_for(SAME, [path, field.input_value()])
        until(page, f"print(abs(sliders.values['{path}'] / {field.input_value()} - 1) < 1e-3)", "True")
        reset.press("Enter")
        until(page, f"print(sliders.values['{path}'])", before)
        page.wait_for(SAME, [path, typed])
    assert page.run_code("print(sliders.recipe == recipe)") == "True"
    assert page.page.locator(".jp-mod-editMode").count() == 0  # the notebook took no key
    assert page.page.locator(".jp-Notebook .jp-Cell").count() == 3
    clean(page)


def test_the_temperature_is_switched_on_and_off(page: Notebook) -> None:
    box = page.page.locator(VIEW).first.get_by_role("checkbox", name="tuned temperature")
    other = page.page.locator(VIEW).nth(1).get_by_role("checkbox", name="tuned temperature")
    for on in (True, False):
        box.press(" ")
        until(page, "print(sliders.recipe.loss.temperature)", str(on))
        page.wait_for(
            f"(on) => [...document.querySelectorAll('{VIEW} input[type=checkbox]')].every((box) => box.checked === on)",
            on,
        )
        assert other.is_checked() == on
    clean(page)


def test_a_value_is_typed_and_a_wrong_one_is_answered_in_place(page: Notebook) -> None:
    line = lines(page)["method/tolerance"]
    field, view = line.get_by_role("textbox"), page.page.locator(VIEW).first
    field.fill("0,002")  # a comma is a point
    field.press("Enter")
    until(page, "print(sliders.recipe.method.tolerance)", "0.002")
    field.fill("soon")
    field.press("Enter")
    view.get_by_role("alert").get_by_text('tolerance is "soon": expected a number such as 0.002; type one.').wait_for()
    assert field.input_value() == "0.002"
    field.fill("-1")
    field.press("Enter")
    view.get_by_role("alert").filter(has_text="tolerance").filter(has_text="-1").wait_for()
    page.wait_for(
        "(path) => document.querySelector(`[data-path='${path}'] input[type=text]`).value === '0.002'",
        "method/tolerance",
    )
    assert page.run_code("print(sliders.recipe.method.tolerance)") == "0.002"
    field.fill("0.5")
    field.press("Escape")
    assert field.input_value() == "0.002"
    field.fill("3")
    field.press("Enter")  # beyond the usual range: the slider widens
    until(page, "print(sliders.recipe.method.tolerance)", "3.0")
    page.wait_for(f"() => document.querySelector('{VIEW} [role=alert]').hidden")
    steps = lines(page)["method/max_iterations"].get_by_role("textbox")
    for text, value in (("1,000", 1000), ("10000", 10000)):  # the second is beyond the slider: its ends move
        steps.fill(text)
        steps.press("Enter")
        until(page, "print(sliders.recipe.method.max_iterations)", str(value))
        page.wait_for(SAME, ["method/max_iterations", str(value)])
        assert steps.evaluate("el => el === document.activeElement")
    clean(page)


def test_what_a_run_cannot_take_up_is_held_and_says_why(notebook: Open) -> None:
    start = "recipe = lsat.Recipe(criterion=lsat.KFold(), method=lsat.MultiStart())\nrun = lsat.Run(recipe, data)"
    page = notebook(
        "sliders-held.ipynb",
        f"{SETUP}data = lsat.datasets.digits()\n{start}",
        "sliders = lsat.widgets.HyperSliders(run)\nsliders",
    )
    line = page.page.locator(f"{VIEW} [data-path='criterion/folds']")
    line.get_by_text("folds, held").wait_for()
    for role in ("slider", "textbox", "button"):
        assert line.get_by_role(role).is_disabled()
    assert "Held while the run goes on" in (line.get_by_role("slider").get_attribute("title") or "")
    starts = page.page.locator(f"{VIEW} [data-path='method/starts']").get_by_role("textbox")
    starts.fill("12")
    starts.press("Enter")
    until(page, "print(run.wanted.method.starts)", "12")
    page.run_code("sliders.hold(False)")
    line.get_by_text("folds", exact=True).wait_for()
    assert line.get_by_role("slider").is_enabled()
    clean(page)
