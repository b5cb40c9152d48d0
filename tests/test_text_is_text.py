"""Names and words of strangers stay text: no script makes markup of them, and no plot reads them as its own signs."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from hostile import HOSTILE
from lsat_explorer.plots import theta_plotly, thumbnails_plotly
from lsat_explorer.plots.curves import short
from lsat_explorer.plots.maps import escape
from machine import ROOT

ASKERS = re.compile(r"https?://(?!www\.w3\.org)|\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon")
SCRIPTS = sorted((ROOT / "lsat_explorer" / "widgets" / "static").glob("*.js"))
# What makes elements or code of a text. An address is set in one place, from the bytes of a picture or of a file.
MAKERS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|srcdoc|createContextualFragment|DOMParser|document\.write"
    r"|\beval\b|new Function|Function\(|import\((?!url\))|setTimeout\(\s*[\"'`]|setInterval\(\s*[\"'`]"
    r"|setAttribute\(\s*[\"']on|javascript:|window\.open|location\s*=|postMessage"
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_or_code_of_text(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if MAKERS.search(line)] == []
    # an address comes from an object of the page itself, and no view asks anybody for anything
    assert [
        line for line in lines if re.search(r"https?://(?!www\.w3\.org)|\bfetch\(|XMLHttpRequest|WebSocket", line)
    ] == []


@pytest.mark.parametrize(
    "line", ["el.innerHTML = name", "const f = new Function(text)", 'node.setAttribute("onclick", text)', "eval(text)"]
)
def test_what_makes_markup_is_noticed(line):
    assert MAKERS.search(line)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_plot_shows_a_name_as_it_is(name):
    shown = escape(name)
    assert not set("<>$%") & set(shown)
    assert html.unescape(shown) == short(name, 60)


def test_no_figure_reads_a_name_as_a_template():
    pictures = thumbnails_plotly(np.zeros((len(HOSTILE), 4, 4)), HOSTILE, HOSTILE[7])
    maps = theta_plotly(np.zeros((16, len(HOSTILE))), (4, 4), HOSTILE)
    for figure in (pictures, maps):
        for trace in figure.data:
            assert re.fullmatch(r"[^%<>$]*|%\{z:\.3g\}", trace.hovertemplate.removesuffix("<extra></extra>"))
        assert not re.search(r"[<>%$]", "".join(note.text for note in figure.layout.annotations))
    assert not re.search(r"[<>%$]", pictures.layout.title.text)


def test_signs_that_turn_what_follows_are_spelt():
    assert short("user\u202etxt.exe 12") == r"user\u202etxt.exe 12"
    assert short("a\x00b\x1b[2J") == r"a\x00b\x1b[2J"
    assert short("שלום 👩‍👩‍👧‍👦") == "שלום 👩‍👩‍👧‍👦"  # what has a direction of its own, and joined signs, stay
