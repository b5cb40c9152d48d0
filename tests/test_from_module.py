"""Torch modules of one's own: they leave the data alone, are drawn the same each time, and are refused by name."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest
import torch
from torch import nn

import lsat_explorer as lsat
from lsat_explorer.report.words import omega
from test_featurizers import X, Y, generator
from test_problem import make_data

SHORT = lsat.Recipe(regularizer=lsat.Ridge(), method=lsat.ProximalGradient(max_iterations=3))


class Of(nn.Module):
    """A module that is one function."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def rectified(inplace: bool):
    return lambda d: nn.ReLU(inplace=inplace)


def rectified_and_tuned(inplace: bool):
    return lambda d: nn.Sequential(nn.ReLU(inplace=inplace), nn.Linear(d, 3), nn.ReLU(inplace=inplace))


def losses_with(factory, data: lsat.Data, **changes) -> list[float]:
    lsat.register_module("tried", factory)
    run = lsat.tune(SHORT.replace(featurizer=lsat.FromModule("tried"), **changes), data, progress=False)
    return [at.loss for at in run.iterates]


@pytest.mark.parametrize("made", [rectified, rectified_and_tuned])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("engine", ["memory", "chunks"])
def test_a_module_that_works_in_place_leaves_the_data_alone(engine, dtype, made):
    data = make_data("regression")
    before = [part.inputs.clone() for part in (data.train, data.validation)]
    found = losses_with(made(True), data, engine=engine, dtype=dtype)
    for part, inputs in zip((data.train, data.validation), before, strict=True):
        assert torch.equal(part.inputs, inputs)
    assert found == losses_with(made(False), data, engine=engine, dtype=dtype)


@pytest.mark.parametrize("made", [rectified, rectified_and_tuned])
def test_a_module_that_works_in_place_takes_rows_of_a_file_that_is_read_only(tmp_path, made):
    drawn = np.random.default_rng(0)
    inputs, targets = drawn.normal(size=(60, 4)), drawn.normal(size=(60, 1))
    for name, part in (("train", inputs[:40]), ("validation", inputs[40:])):
        np.save(tmp_path / f"{name}.npy", part)
    data = lsat.Data.from_rows((tmp_path / "train.npy", targets[:40]), (tmp_path / "validation.npy", targets[40:]))
    found = [losses_with(made(inplace), data, engine="chunks", dtype="float64") for inplace in (True, False)]
    assert found[0] == found[1]
    assert np.array_equal(np.load(tmp_path / "train.npy"), inputs[:40])


def test_lazy_parameters_are_drawn_with_the_recipes_seed_and_come_back():
    lsat.register_module("lazy", lambda d: nn.Sequential(nn.LazyLinear(6), nn.Tanh(), nn.LazyLinear(2)))
    piece = lsat.FromModule("lazy")
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.random.get_rng_state()
        states.append(piece.prepare(X, Y, generator()).state())
        restored = piece.restore(states[-1])
        assert torch.equal(torch.random.get_rng_state(), before)
        for name, value in restored.state().items():
            assert torch.equal(value, states[-1][name])
    for name, value in states[0].items():
        assert torch.equal(value, states[1][name])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (nn.Linear(4, 2), "'tried' is a module, Linear: expected a function that makes a fresh one for d columns"),
        (3, "'tried' is 3, expected a function"),
    ],
)
def test_what_makes_no_modules_is_not_registered(made, message):
    with pytest.raises(ValueError, match=message):
        lsat.register_module("tried", made)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda: nn.Linear(4, 2), "factory of 'tried' made no module for 4 columns, TypeError: .*takes 0 positional"),
        (lambda d: nn.Linear(d + 1, 2), r"'tried' fails on inputs of shape \(2, 4\), RuntimeError: mat1 and mat2"),
        (lambda d: Of(lambda x: x[:, :0]), r"to shape \(2, 0\): expected shape \(2, n\) of real numbers, n at least 1"),
        (lambda d: Of(lambda x: x.squeeze(0)), r"inputs of shape \(1, 4\) to shape \(4,\): expected shape \(1, n\)"),
        (lambda d: Of(lambda x: torch.complex(x, x)), r"to shape \(2, 4\) of torch.complex128: expected .* real"),
        (lambda d: nn.LSTM(d, 2), r"'tried' maps inputs of shape \(2, 4\) to \(tensor"),
    ],
)
def test_a_module_that_gives_no_features_is_refused_by_its_name(factory, message):
    lsat.register_module("tried", factory)
    with pytest.raises(ValueError, match=message):
        lsat.FromModule("tried").prepare(X[:, :4], Y, generator())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.softmax(x, 0),
        lambda x: x - x.mean(0),
        lambda x: x.sort(0).values,
        lambda x: x + torch.rand(()),
    ],
)
def test_a_module_that_looks_at_rows_together_is_refused(function):
    lsat.register_module("tried", lambda d: Of(function))
    with pytest.raises(ValueError, match="The module 'tried' works on rows together"):
        lsat.FromModule("tried").prepare(X, Y, generator())


@pytest.mark.parametrize(
    "factory",
    [
        nn.LayerNorm,
        lambda d: nn.Sequential(nn.BatchNorm1d(d), nn.Linear(d, 4), nn.Softmax(dim=1)),
        lambda d: Of(lambda x: x / 0),
        lambda d: nn.Sequential(Of(lambda x: x.long()), nn.Embedding(2, 3), nn.Flatten()),
        lambda d: nn.Sequential(nn.Unflatten(1, (1, d)), nn.Conv1d(1, 2, 3), nn.Flatten()),
    ],
)
def test_modules_that_work_row_by_row_are_taken(factory):
    lsat.register_module("tried", factory)
    assert lsat.FromModule("tried").prepare(X, Y, generator()).columns()[""].stop > 0


def test_threads_that_use_one_module_have_their_own_parameters():
    """A reader of `run.model` has another ω than the run that goes on meanwhile."""
    inside, go_on = threading.Event(), threading.Event()

    class Slow(nn.Linear):
        def forward(self, rows):
            if waits:
                waits.pop()
                inside.set()
                go_on.wait(20)
            return super().forward(rows)

    waits: list[bool] = []
    lsat.register_module("slow", lambda d: Slow(d, 2))
    block = lsat.FromModule("slow").prepare(X, Y, generator()).parts[""]
    one = block.init()
    other = {name: value + 1 for name, value in one.items()}
    expected = [block.features(omega, X) for omega in (one, other)]
    waits.append(True)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(block.features, one, X)
        assert inside.wait(20)
        second = threads.submit(block.features, other, X)
        second_done = wait([second], timeout=0.2).done
        go_on.set()
        found = [first.result(), second.result()]
    assert not second_done
    for mine, its in zip(found, expected, strict=True):
        assert torch.equal(mine, its)


class Fourier(nn.Module):
    """Random Fourier features, of which a file of the parameters tells nothing."""

    def __init__(self, d, draw, kept):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        if kept:
            self.register_buffer("W", draw(d), persistent=kept == "buffer")
        else:
            self.W = draw(d).double()

    def forward(self, rows):
        return torch.cos(self.scale * rows @ self.W.to(rows.dtype))


@pytest.mark.parametrize("kept", ["buffer", "hidden buffer", ""])
def test_a_saved_model_predicts_the_same_with_what_its_module_draws_at_random(tmp_path, kept):
    lsat.register_module("fourier", lambda d: Fourier(d, lambda d: torch.randn(d, 8), kept))
    data = make_data("regression")
    run = lsat.tune(SHORT.replace(featurizer=lsat.FromModule("fourier")), data, progress=False)
    run.model.save(tmp_path / "model.safetensors")
    torch.manual_seed(7)
    loaded = lsat.FittedModel.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.predict(data.test.inputs), run.model.predict(data.test.inputs))
    loaded.save(tmp_path / "again.safetensors")
    again = lsat.FittedModel.load(tmp_path / "again.safetensors")
    assert np.array_equal(again.predict(data.test.inputs), run.model.predict(data.test.inputs))


@pytest.mark.parametrize("kept", ["hidden buffer", ""])
def test_a_module_that_gives_other_features_than_when_it_was_saved_is_refused(tmp_path, kept):
    drawn = np.random.default_rng(0)  # which no seed of torch sets back
    lsat.register_module("fourier", lambda d: Fourier(d, lambda d: torch.from_numpy(drawn.normal(size=(d, 8))), kept))
    data = make_data("regression")
    run = lsat.tune(SHORT.replace(featurizer=lsat.FromModule("fourier")), data, progress=False)
    run.model.save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"'fourier' is not the one that was saved: .* other features .*persistent"):
        lsat.FittedModel.load(tmp_path / "model.safetensors")


def test_saved_features_may_be_rounded_otherwise_and_may_be_infinite():
    lsat.register_module("logarithm", lambda d: Of(lambda rows: rows.log()))
    piece = lsat.FromModule("logarithm")
    state = piece.prepare(X, Y, generator()).state()
    assert state["tried"].isfinite().all()
    rounded = {**state, "tried": state["tried"] * (1 + 1e-9)}
    assert torch.equal(piece.restore(rounded).state()["tried"], rounded["tried"])
    with pytest.raises(ValueError, match="'logarithm' is not the one that was saved"):
        piece.restore({**state, "tried": state["tried"] * (1 + 1e-4)})


def test_a_file_of_an_earlier_version_without_those_features_is_read():
    lsat.register_module("linear", lambda d: nn.Linear(d, 3))
    prepared = lsat.FromModule("linear").prepare(X, Y, generator())
    earlier = {name: value for name, value in prepared.state().items() if name not in ("seed", "tried")}
    restored = lsat.FromModule("linear").restore(earlier)
    assert torch.equal(restored.blocks(restored.init(), X)[""], prepared.blocks(prepared.init(), X)[""])
    assert restored.state().keys() == earlier.keys()


class HeadOnly(nn.Module):
    """A module of which the user froze all but the last layer; it also picks columns by a whole-number parameter."""

    def __init__(self, d):
        super().__init__()
        self.pick = nn.Parameter(torch.tensor([0, 1]), requires_grad=False)
        self.backbone = nn.Linear(2, 6)
        self.backbone.requires_grad_(False)
        self.head = nn.Linear(6, 3)

    def forward(self, rows):
        return torch.tanh(self.head(torch.tanh(self.backbone(rows[:, self.pick]))))


FROZEN = ["featurizer.backbone.weight", "featurizer.backbone.bias"]
HEAD = ["featurizer.head.weight", "featurizer.head.bias"]


@pytest.fixture
def head_only():
    lsat.register_module("head only", HeadOnly)
    return SHORT.replace(featurizer=lsat.FromModule("head only"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("engine", ["memory", "chunks"])
def test_what_the_user_froze_in_a_module_stays_and_the_rest_is_tuned(tmp_path, head_only, engine, dtype):
    data = make_data("regression")
    run = lsat.tune(head_only.replace(engine=engine, dtype=dtype), data, progress=False)
    assert sorted(run.problem.tuned) == sorted([*HEAD, "regularizer.log_weight"])
    for name in HEAD:
        assert not torch.equal(run.omega[name], run.iterates[0].omega[name])
    for name in FROZEN:
        assert torch.equal(run.omega[name], run.iterates[0].omega[name])
    assert "featurizer.pick" not in run.omega
    run.save(tmp_path / "run")
    loaded = lsat.FittedModel.load(tmp_path / "run" / "model.safetensors")
    assert np.array_equal(loaded.predict(data.test.inputs), run.model.predict(data.test.inputs))
    again = lsat.Run.load(tmp_path / "run", data)
    assert np.array_equal(again.model.predict(data.test.inputs), run.model.predict(data.test.inputs))
    told = [{row[:3] for row in omega(one)} for one in (run, lsat.Run.load(tmp_path / "run"))]
    assert ("featurizer", "backbone", "weight, held") in told[0]
    assert told[0] == told[1]


def test_a_recipe_says_what_is_tuned_of_a_module_whatever_the_module_says(head_only):
    given = {"featurizer.backbone.bias": lsat.SumSquares(0.1), "featurizer.head.bias": lsat.Frozen()}
    problem = lsat.Problem(head_only.replace(hyper_penalties=given), make_data("regression"))
    expected = ["featurizer.backbone.bias", "featurizer.head.weight", "regularizer.log_weight"]
    assert sorted(problem.tuned) == expected


def test_a_run_that_tuned_what_is_now_frozen_goes_on_from_where_it_was(tmp_path, head_only):
    """Earlier versions tuned every parameter of a module."""
    data = make_data("regression")
    earlier = dict.fromkeys(FROZEN, lsat.SumSquares(1e-3))
    run = lsat.tune(head_only.replace(hyper_penalties=earlier), data, progress=False)
    run.save(tmp_path)
    (tmp_path / "recipe.json").write_text(head_only.to_json(), encoding="utf-8")
    again = lsat.Run.load(tmp_path, data)
    assert np.array_equal(again.model.predict(data.test.inputs), run.model.predict(data.test.inputs))
    for name in FROZEN:
        assert not torch.equal(again.omega[name], run.iterates[0].omega[name])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_module_of_torchscript_is_refused_in_the_usual_words():
    lsat.register_module("script", lambda d: torch.jit.script(nn.Linear(d, 2)))
    with pytest.raises(ValueError, match=r"The module 'script' fails on inputs of shape \(2, 12\), "):
        lsat.FromModule("script").prepare(X, Y, generator())
