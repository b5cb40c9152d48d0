"""The graph editor's preview of its penalty, and its picture for where there is no kernel."""

from __future__ import annotations

import base64
import io
import threading
from typing import Any

import numpy as np
import pytest
from PIL import Image

import lsat_explorer as lsat
from graph_asks import GRAPHS, PNG, SOON, ask, sent
from lsat_explorer.tune.quick_fit import QuickFit
from lsat_explorer.widgets import GraphEditor

# --- the preview


def test_the_preview_is_the_quick_fit_without_and_with_the_penalty(digits: lsat.Data) -> None:
    editor = GraphEditor(lsat.Stack(r=lsat.Ridge(log_weight=1.5), s=lsat.Smooth(lsat.graphs.grid(8, 8))), data=digits)
    ask(editor, "weigh", log_weight=2.5)
    editor.set_state({"_class": 3})
    assert editor._preview.wait(SOON)
    quick = QuickFit(digits)
    before = quick.fit(lsat.Ridge(log_weight=1.5))
    after = quick.fit(lsat.Ridge(log_weight=1.5), lsat.Smooth(lsat.graphs.grid(8, 8), log_weight=2.5))
    thetas = np.frombuffer(sent(editor, "_theta"), dtype=np.float32).reshape(2, 64)
    np.testing.assert_allclose(thetas, [r.theta[:, 3].numpy() for r in (before, after)], rtol=1e-5, atol=1e-9)
    words = sent(editor, "_effect")
    assert words["state"] == "ready"
    assert words["captions"] == ["ridge 20.09", "ridge and s 148.4"]
    assert words["shape"] == [8, 8]
    rough = [float(((lsat.graphs.grid(8, 8).incidence() @ t) ** 2).sum()) for t in thetas]
    assert words["facts"] == [
        ["Σ (θᵢ − θⱼ)² over edges", *(f"{value:.3g}" for value in rough)],
        ["validation error", *(f"{100 * r.error:.1f} %" for r in (before, after))],
    ]


def test_a_preview_that_cannot_be_says_why(digits: lsat.Data) -> None:
    editor = GraphEditor(lsat.graphs.path(5))
    assert sent(editor, "_effect")["words"].startswith("Give data=")
    editor.data = digits
    assert "the data have 64 features, the graph 5 nodes" in sent(editor, "_effect")["words"]
    editor.graph = lsat.graphs.grid(8, 8)
    assert editor._preview.wait(SOON)
    assert sent(editor, "_effect")["state"] == "ready"
    ask(editor, "weigh", log_weight=400.0)
    assert editor._preview.wait(SOON)
    failed = sent(editor, "_effect")
    assert "failed" in failed["words"]
    assert bytes(sent(editor, "_theta")) == b""
    editor.data = None
    assert sent(editor, "_effect")["words"].startswith("Give data=")


def test_rows_that_are_no_images_are_previewed_as_curves() -> None:
    rng = np.random.default_rng(0)
    data = lsat.Data.from_arrays(rng.standard_normal((60, 12)), rng.standard_normal((60, 2)))
    editor = GraphEditor(lsat.graphs.path(12), data=data)
    assert editor._preview.wait(SOON)
    words = sent(editor, "_effect")
    assert (words["shape"], words["outputs"], words["noun"]) == ([], ["0", "1"], "output")
    assert words["facts"][1][0] == "validation RMSE"
    assert editor.picture().startswith(PNG)


def test_waiting_gives_the_regularizer_once_its_preview_is_shown(digits: lsat.Data) -> None:
    editor = GraphEditor(lsat.Graph(64, ()), data=digits)
    editor.graph = lsat.graphs.grid(8, 8)
    assert editor.wait(SOON) == editor.regularizer
    words = sent(editor, "_effect")
    assert words["state"] == "ready"
    assert float(words["facts"][0][1]) > float(words["facts"][0][2]) > 0  # of the grid, not of no edges
    editor.close()


def test_editing_never_waits_for_the_preview_and_the_newest_question_is_answered(
    digits: lsat.Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, asked, real = threading.Event(), [], QuickFit.fit

    def slow(self: QuickFit, *penalties: Any) -> Any:
        go.wait(SOON)
        asked.append(penalties)
        return real(self, *penalties)

    monkeypatch.setattr(QuickFit, "fit", slow)
    editor = GraphEditor(digits)
    for log_weight in np.linspace(0, 1, 20):
        ask(editor, "weigh", log_weight=float(log_weight))
    assert sent(editor, "_effect")["state"] == "busy"
    go.set()
    assert editor._preview.wait(SOON)
    assert sent(editor, "_effect")["captions"][1] == "ridge and smooth 7.389"
    assert len(asked) <= 4  # the ridge, the first, the last


def test_an_answer_that_came_too_late_is_not_shown(digits: lsat.Data, monkeypatch: pytest.MonkeyPatch) -> None:
    go, begun, real = threading.Event(), threading.Event(), QuickFit.fit

    def slow(self: QuickFit, *penalties: Any) -> Any:
        begun.set()
        go.wait(SOON)
        return real(self, *penalties)

    monkeypatch.setattr(QuickFit, "fit", slow)
    editor = GraphEditor(digits)
    assert begun.wait(SOON)
    editor.graph = lsat.graphs.path(5)
    said = sent(editor, "_effect")
    go.set()
    assert editor._preview.wait(SOON)
    assert sent(editor, "_effect") == said
    assert "5 nodes" in said["words"]


# --- without a kernel


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("placement", ["line", "circle", "networkx"])
def test_a_picture_is_drawn_of_every_graph(name: str, placement: str) -> None:
    editor = GraphEditor({"first": GRAPHS[name], "second": lsat.Graph(GRAPHS[name].n, ())})
    problem = ask(editor, "place", placement=placement)
    assert not problem or "hang together" in problem
    with Image.open(io.BytesIO(editor.picture())) as image:
        assert image.size == (1040, 572)


def test_a_saved_notebook_keeps_a_picture_and_constant_words(digits: lsat.Data) -> None:
    editor = GraphEditor(digits)
    data, metadata = editor._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(PNG)
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "text/html" not in data
    assert metadata["image/png"]["width"] <= 1040
    ask(editor, "pattern", pattern="ring")
    assert editor._repr_mimebundle_()[0]["text/plain"] == data["text/plain"]
    assert editor._repr_mimebundle_()[0]["image/png"] != data["image/png"]


def test_the_saved_picture_follows_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *_, **more: published.append(data))
    monkeypatch.setattr("lsat_explorer.widgets.shown._REST", 0.05)
    editor = GraphEditor(lsat.graphs.path(9))
    editor._ipython_display_()
    del published[:]
    for node in range(2, 8):
        ask(editor, "toggle", a=0, b=node)
    assert editor._resting is not None
    editor._resting.join(SOON)
    assert [set(data) for data in published] == [{"image/png", "text/plain"}]
    editor.close()
