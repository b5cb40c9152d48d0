"""Iterates on their way to TensorBoard and MLflow: by stand-ins of both, for neither need be installed."""

from __future__ import annotations

import math
import subprocess
import sys
from types import ModuleType

import pytest

import lsat_explorer as lsat
from lsat_explorer import streams

RECIPE = lsat.Recipe(method=lsat.LBFGS(max_iterations=3))


class Writer:
    """A SummaryWriter that remembers."""

    made: list[Writer]

    def __init__(self, folder: str = "") -> None:
        self.folder, self.closed = folder, False
        self.scalars: dict[tuple[str, int], float] = {}
        Writer.made.append(self)

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars[name, step] = value

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def tensorboard(monkeypatch):
    Writer.made = []
    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    return Writer.made


@pytest.fixture
def mlflow(monkeypatch):
    logged: dict[int, dict[str, float]] = {}
    module = ModuleType("mlflow")
    module.log_metrics = lambda metrics, step: logged.__setitem__(step, dict(metrics))
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return logged


def check(found: dict[str, float], iterate: lsat.Iterate) -> None:
    assert found["objective"] == iterate.objective
    assert found["loss"] == iterate.loss
    assert found["omega/regularizer.log_weight"] == float(iterate.omega["regularizer.log_weight"])
    assert found["accepted"] == iterate.accepted
    assert "featurizer.shift" not in str(found)  # a number for each column is no curve
    assert all(math.isfinite(value) for value in found.values())


def test_every_iterate_is_written_and_passed_on(tensorboard, mlflow, digits, tmp_path):
    run = lsat.Run(RECIPE, digits)
    passed = list(streams.to_mlflow(streams.to_tensorboard(run.steps(), tmp_path / "events")))
    assert passed == list(run.iterates)
    assert [iterate.number for iterate in passed] == list(range(len(passed)))
    assert len(passed) > 2
    (writer,) = tensorboard
    assert (writer.folder, writer.closed) == (str(tmp_path / "events"), True)
    for iterate in passed:
        check(mlflow[iterate.number], iterate)
        check({name: value for (name, step), value in writer.scalars.items() if step == iterate.number}, iterate)


def test_a_writer_of_ones_own_stays_open_and_a_loop_may_be_left(tensorboard, digits):
    mine = Writer("mine")
    run = lsat.Run(RECIPE, digits)
    for iterate in streams.to_tensorboard(run.steps(), mine):
        if iterate.number == 1:
            break
    assert {step for _, step in mine.scalars} == {0, 1}
    assert not mine.closed
    for _ in (steps := streams.to_tensorboard(run.steps(), "events")):
        break
    steps.close()
    assert tensorboard[-1].closed


@pytest.mark.parametrize("start", [lambda steps: streams.to_tensorboard(steps, "events"), streams.to_mlflow])
def test_what_are_no_iterates_is_refused(start, tensorboard, mlflow, digits):
    with pytest.raises(TypeError, match=r"^steps is a Run, expected the iterates of a run: pass run.steps\(\)\.$"):
        next(start(lsat.Run(RECIPE, digits)))
    assert tensorboard == []
    with pytest.raises(TypeError, match=r"^steps gave a float, expected the iterates of a run"):
        next(start([0.5]))
    assert all(writer.closed for writer in tensorboard)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("torch.utils.tensorboard", lambda: streams.to_tensorboard([], "events")),
        ("mlflow", lambda: streams.to_mlflow([])),
    ],
)
def test_without_the_package_it_is_named(name, start, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {name.rpartition('.')[2]}"):
        next(start())


def test_neither_is_loaded_with_the_streams():
    program = (
        "import sys, lsat_explorer as lsat; lsat.streams; print('mlflow' in sys.modules, 'tensorboard' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
