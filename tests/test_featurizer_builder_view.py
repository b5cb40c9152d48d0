"""The featurizer builder as a view: trials in the background, state in traits, a picture without a kernel."""

from __future__ import annotations

import base64
import threading
from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from building import SOON, do, node, send, shown
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.widgets import FeaturizerBuilder
from lsat_explorer.widgets.featurizer_draft import Step, built
from lsat_explorer.widgets.featurizer_trial import Trials
from lsat_explorer.widgets.latest import Latest
from pieces import COLUMNS
from test_problem import make_data


@pytest.fixture(scope="module")
def data() -> lsat.Data:
    return make_data(d=COLUMNS)


# --- in the background --------------------------------------------------------------------------------------------


def test_a_change_returns_at_once_and_the_newest_one_wins(data: lsat.Data) -> None:
    gate, begun, made = threading.Event(), threading.Event(), []

    def slow(d: int) -> torch.nn.Module:
        begun.set()
        assert gate.wait(SOON)
        made.append(d)
        return torch.nn.Linear(d, 2)

    lsat.register_module("slow", slow)
    builder = FeaturizerBuilder(data, lsat.Scale())
    builder.wait(SOON)
    builder.featurizer = lsat.Chain(lsat.FromModule("slow"), lsat.Scale())
    assert begun.wait(SOON)
    for rank in range(1, 6):  # while the module is being made
        send(builder, "add", [], kind="LowRank") if rank == 1 else None
        send(builder, "set", [2], field="rank", value=2 if rank == 5 else rank + 100)
        assert shown(builder)["tone"] == "busy"
    with pytest.raises(TimeoutError):
        builder.wait(0.01)
    gate.set()
    assert builder.wait(SOON) == lsat.Chain(lsat.FromModule("slow"), lsat.Scale(), lsat.LowRank(2))
    assert made == [12]  # what did not change was made once
    assert shown(builder)["tone"] == "good"


def test_knots_that_would_keep_everybody_waiting_are_refused_before_any_work(
    digits: lsat.Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: Any) -> Any:
        raise AssertionError("a spline was prepared")

    builder = FeaturizerBuilder(digits, lsat.Spline(knots=3))
    assert builder.wait(SOON) == lsat.Spline(knots=3)
    monkeypatch.setattr(lsat.Spline, "block", never)
    said = "Spline: 1,000 knots for 64 columns take too long to try here: choose at most 133, or the basis bspline"
    for knots, count in ((1000, "1,000"), ([round(0.004 * place, 3) for place in range(1, 200)], "199")):
        assert do(builder, "set", [], field="knots", value=knots) == lsat.Spline(knots=3)
        assert node(builder)["problem"].startswith(said.replace("1,000", count))
    monkeypatch.undo()
    assert do(builder, "set", [], field="basis", value="bspline").basis == "bspline"
    assert do(builder, "set", [], field="knots", value=1000) == lsat.Spline(knots=1000, basis="bspline")
    builder.close()


def test_whoever_observes_the_featurizer_sees_only_what_fits(builder: FeaturizerBuilder) -> None:
    builder.wait(SOON)
    seen: list[Featurizer] = []
    builder.observe(lambda change: seen.append(change["new"]), "featurizer")
    do(builder, "set", [0, 2], field="rank", value=2)
    do(builder, "set", [0, 2], field="rank", value=500)
    do(builder, "set", [0, 2], field="rank", value=3)
    assert [found.members["bent"].members["low_rank"].rank for found in seen] == [2, 3]


def test_latest_works_on_the_newest_wish_alone() -> None:
    gate, done, stale_at = threading.Event(), [], []

    def work(wish: int, stale: Any) -> None:
        assert gate.wait(SOON)
        stale_at.append(stale())
        done.append(wish)
        assert latest.wait(0.0)  # whoever works does not wait for himself

    latest: Latest[int] = Latest(work)
    latest.ask(1)
    for wish in (2, 3, 4):
        latest.ask(wish)
    assert latest.busy
    assert not latest.wait(0.01)
    gate.set()
    assert latest.wait(SOON)
    assert (done[-1], len(done) <= 2, stale_at[-1]) == (4, True, False)
    latest.close()
    latest.ask(5)
    assert latest.wait(SOON)
    assert done[-1] == 4


def test_latest_goes_on_after_work_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, done, raised = threading.Event(), [], []
    monkeypatch.setattr(threading, "excepthook", lambda found: raised.append(found.exc_type))

    def work(wish: int, stale: Any) -> None:
        assert gate.wait(SOON)
        done.append(1 // wish)

    latest: Latest[int] = Latest(work, "failing")
    latest.ask(0)
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "failing")
    gate.set()
    thread.join(SOON)
    assert latest.wait(SOON)
    assert raised == [ZeroDivisionError]
    latest.ask(1)
    assert latest.wait(SOON)
    assert done == [1]


def test_of_many_rows_some_are_tried_and_it_is_said() -> None:
    draw = np.random.default_rng(0).normal(size=(24_000, 2))
    data = lsat.Data.from_arrays(draw, draw[:, 0], task="regression", validation=0.3, test=0.2)
    assert len(data.train) == 12_000
    builder = FeaturizerBuilder(data, lsat.Scale())
    builder.wait(SOON)
    assert shown(builder)["sentence"] == "Fits the 12,000 training rows, tried on 10,000 of them."
    trials = Trials(data)
    assert trials.places.unique().numel() == 10_000
    assert torch.equal(trials.inputs, data.train.inputs[trials.places])


# --- as a view ----------------------------------------------------------------------------------------------------


def test_the_state_of_a_page_is_in_traits(builder: FeaturizerBuilder) -> None:
    do(builder, "set", [0, 1], field="exponent", value=0.5)
    state = builder.get_state()
    assert built(Step.from_text(state["_draft"]))[0] == builder.featurizer
    assert state["_chosen"] == [0, 1] or state["_chosen"] == [0, 0]
    public = {name for name in FeaturizerBuilder.class_own_traits() if not name.startswith("_")}
    assert public == {"featurizer", "held", "column", "row"}
    builder.set_state({"_chosen": [7, 7]})  # a page that is behind
    builder.wait(SOON)
    assert builder._chosen == [0, 0]


def test_a_saved_notebook_keeps_a_picture_and_constant_words(builder: FeaturizerBuilder) -> None:
    first, metadata = builder._repr_mimebundle_()
    assert base64.b64decode(first["image/png"])[:4] == b"\x89PNG"
    assert "text/html" not in first
    assert metadata["image/png"]["width"] <= 1000
    do(builder, "set", [0, 2], field="rank", value=2)
    second, _ = builder._repr_mimebundle_()
    assert second["text/plain"] == first["text/plain"]
    assert second["image/png"] != first["image/png"]


def test_the_saved_picture_follows_the_state(builder: FeaturizerBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *_, **more: published.append(data))
    builder._ipython_display_()
    before = published[-1]["image/png"]
    do(builder, "set", [0, 2], field="rank", value=1)
    assert "image/png" in published[-1]
    assert published[-1]["image/png"] != before


def test_nothing_is_tried_before_the_page_knows_of_the_view(digits: lsat.Data, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = []
    real = FeaturizerBuilder.open

    def opened(self: FeaturizerBuilder) -> None:
        opening.append(self._latest)
        real(self)

    monkeypatch.setattr(FeaturizerBuilder, "open", opened)
    builder = FeaturizerBuilder(digits, lsat.Scale())
    assert builder.wait() == lsat.Scale()
    assert opening == [None]
    builder.close()
