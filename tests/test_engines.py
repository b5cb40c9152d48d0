"""The engines give the same numbers, hold no more than they say, and say what to do where memory runs out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.engines import ChunkRows, Interrupted
from lsat_explorer.engines.loaded import rows_to_prepare
from lsat_explorer.engines.memory import MemoryRows
from lsat_explorer.engines.room import NotEnoughMemory
from lsat_explorer.model.piece import within

CHUNKS = lsat.Chunks(rows=37)


@pytest.fixture(scope="module")
def data() -> lsat.Data:
    generator = np.random.default_rng(0)
    classes = generator.integers(0, 3, size=400)
    X = np.clip(generator.uniform(size=(3, 12))[classes] + 0.4 * generator.normal(size=(400, 12)), 0, None)
    return lsat.Data.from_arrays(X, classes, validation=0.3, test=0.2, seed=0)


MOVING = lsat.Concat(
    x=lsat.Scale(tuned=False),
    archetypes=lsat.KMeansArchetypes(per_class=3),
    power=lsat.PowerTransform(),
    one=lsat.Constant(),
)
RECIPES = {
    "default": lsat.Recipe(),
    "moving": lsat.Recipe(
        featurizer=MOVING,
        regularizer=lsat.Stack(a=lsat.Ridge(block="x"), b=lsat.Ridge(block="archetypes"), c=lsat.Ridge(block="power")),
    ),
    "weighted": lsat.Recipe(data_weights=lsat.LogWeights()),
    "fixed weights": lsat.Recipe(data_weights=lsat.FixedWeights(tuple(0.5 + 0.01 * i for i in range(200)))),
    "both": lsat.Recipe(
        featurizer=MOVING,
        data_weights=lsat.LogWeights(),
        regularizer=lsat.Stack(a=lsat.Ridge(block="x"), b=lsat.Ridge(block="archetypes"), c=lsat.Ridge(block="power")),
    ),
    "k-fold": lsat.Recipe(criterion=lsat.KFold(4), data_weights=lsat.LogWeights()),
    "leave-one-out": lsat.Recipe(criterion=lsat.LeaveOneOut(), loss=lsat.SquaredError()),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", RECIPES)
def test_chunks_give_what_memory_gives(data: lsat.Data, name: str, dtype: str) -> None:
    if name == "fixed weights":
        weights = lsat.FixedWeights(tuple(0.5 + 0.01 * i for i in range(len(data.train))))
        recipe = RECIPES[name].replace(data_weights=weights, dtype=dtype)
    else:
        recipe = RECIPES[name].replace(dtype=dtype)
    whole, parts = (lsat.Problem(recipe.replace(engine=engine), data) for engine in ("memory", CHUNKS))
    omega = {k: v + 0.1 * torch.sin(torch.arange(v.numel()).double()).reshape(v.shape) for k, v in whole.init().items()}
    tolerance = 1e-10 if dtype == "float64" else 2e-5
    ours, theirs = parts.evaluate(omega), whole.evaluate(omega)
    assert ours.objective == pytest.approx(theirs.objective, rel=tolerance)
    for key, value in whole.gradient(theirs).items():
        torch.testing.assert_close(parts.gradient(ours)[key], value, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(parts.coefficients(omega)[0], whole.coefficients(omega)[0], rtol=1e-6, atol=1e-8)
    assert parts.training_loss(ours) == pytest.approx(whole.training_loss(theirs), rel=tolerance)


def test_a_run_by_chunks_ends_where_one_in_memory_ends(data: lsat.Data) -> None:
    recipe = RECIPES["both"].replace(method=lsat.LineSearch(max_iterations=12))
    runs = [lsat.tune(recipe.replace(engine=engine), data, progress=False) for engine in ("memory", CHUNKS)]
    assert runs[1].iterates[-1].objective == pytest.approx(runs[0].iterates[-1].objective, rel=1e-6)
    np.testing.assert_allclose(
        runs[1].model.decision_function(data.test.inputs), runs[0].model.decision_function(data.test.inputs), atol=1e-5
    )


def test_no_more_rows_than_a_chunk_are_held(data: lsat.Data, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    made = MemoryRows.__init__

    def noted(self, prepared, inputs, *rest, **how) -> None:  # type: ignore[no-untyped-def]
        sizes.append(len(inputs))
        made(self, prepared, inputs, *rest, **how)

    monkeypatch.setattr(MemoryRows, "__init__", noted)
    problem = lsat.Problem(RECIPES["both"].replace(engine=CHUNKS), data)
    problem.gradient(problem.evaluate(problem.init()))
    assert all(isinstance(part.rows, ChunkRows) for part in problem.parts)
    assert set(sizes) == {37, len(data.train) % 37, len(data.validation) % 37}


@pytest.mark.parametrize("name", ["weighted", "both"])
def test_an_evaluation_reads_each_chunk_once_and_forms_what_it_needs(data, monkeypatch, name) -> None:
    problem = lsat.Problem(RECIPES[name].replace(engine=CHUNKS), data)
    at = problem.evaluate(problem.init())  # what stands still is summed once
    read, formed = [], []
    parts, forms = ChunkRows._part, MemoryRows._formed
    monkeypatch.setattr(ChunkRows, "_part", lambda self, *how: read.append(len(self)) or parts(self, *how))
    monkeypatch.setattr(MemoryRows, "_formed", lambda self, block: formed.append(block) or forms(self, block))
    problem.evaluate(problem.init())
    assert read == [len(data.train)] * 6 + [len(data.validation)] * 4
    assert len(formed) == 10 * len(problem.columns)
    moving = problem.parts[0].rows.moving(within("featurizer", at.omega))
    formed.clear()
    problem.parts[0].rows.still_sum(False)
    assert set(formed) == set(problem.parts[0].rows.still)
    formed.clear()
    zeros = torch.zeros(len(data.train), 1, dtype=torch.float64)
    factors = {name: [(zeros, zeros[: problem.prepared.parts[name].width])] for name in problem.parts[0].rows.moves}
    problem.parts[0].rows.pull_back(moving, factors)
    assert set(formed) == set(problem.parts[0].rows.moves)


def test_inputs_mapped_from_a_file_are_left_there(tmp_path, data: lsat.Data) -> None:
    np.save(tmp_path / "X.npy", data.train.inputs.numpy())
    mapped = torch.from_numpy(np.load(tmp_path / "X.npy", mmap_mode="r+"))
    assert torch.equal(mapped, data.train.inputs)
    data_on_disk = replace(data, train=replace(data.train, inputs=mapped))
    problem = lsat.Problem(lsat.Recipe(engine="chunks"), data_on_disk)
    assert problem.parts[0].rows._inputs.data_ptr() == mapped.data_ptr()
    in_memory = lsat.Problem(lsat.Recipe(), data)
    start = in_memory.init()
    assert problem.evaluate(start).objective == pytest.approx(in_memory.evaluate(start).objective, rel=1e-12)


def test_a_stop_is_heard_between_chunks(data: lsat.Data) -> None:
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise Interrupted

    problem = lsat.Problem(RECIPES["default"].replace(engine=CHUNKS), data, check)
    with pytest.raises(Interrupted):
        problem.evaluate(problem.init())
    assert calls == 4


@pytest.mark.parametrize(
    ("engine", "now", "advice"),
    [
        (lsat.Memory(), "all 200 rows of 13 features at once", "rows=64"),
        (lsat.Chunks(rows=37), "Chunks(rows=37)", "rows=16"),
        (lsat.Chunks(rows=10**6), "Chunks(rows=1000000)", "rows=64"),
        (lsat.Chunks(memory="1 GB"), 'Chunks(memory="1 GB")', "rows=64"),
    ],
)
@pytest.mark.parametrize(
    "error",
    [
        torch.cuda.OutOfMemoryError("CUDA out of memory."),
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"),
    ],
    ids=["card", "python", "torch on a CPU"],
)
def test_memory_that_runs_out_names_the_chunk_to_set(data, monkeypatch, engine, now, advice, error) -> None:
    problem = lsat.Problem(lsat.Recipe(engine=engine), data)

    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(MemoryRows, "predict", full)
    with pytest.raises(NotEnoughMemory) as told:
        problem.evaluate(problem.init())
    assert str(told.value) == f"cpu has no room left with {now}: set Recipe(engine=Chunks({advice}))."
    assert isinstance(told.value, MemoryError)


def test_another_error_is_left_as_it_is(data, monkeypatch) -> None:
    problem = lsat.Problem(lsat.Recipe(), data)

    def broken(*_: object) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(MemoryRows, "predict", broken)
    with pytest.raises(RuntimeError, match="something else"):
        problem.evaluate(problem.init())


def test_the_engine_is_one_word() -> None:
    assert lsat.Recipe(engine="chunks") == lsat.Recipe(engine=lsat.Chunks())
    recipe = lsat.Recipe(engine=lsat.Chunks(rows=5))
    assert lsat.Recipe.from_json(recipe.to_json()) == recipe
    assert (
        lsat.Recipe.from_json(lsat.Recipe().to_json().replace('{\n    "type": "Memory"\n  }', '"memory"'))
        == lsat.Recipe()
    )
    with pytest.raises(ValueError, match="engine is 'cloud'"):
        lsat.Recipe(engine="cloud")
    with pytest.raises(ValueError, match="rows is 0"):
        lsat.Chunks(rows=0)


def test_a_featurizer_of_very_many_chunks_is_prepared_on_some_rows(monkeypatch) -> None:
    monkeypatch.setattr("lsat_explorer.engines.loaded._PREPARED", 50)
    rows = torch.arange(300.0)[:, None]
    train = lsat.Data.from_splits(train=(rows, rows), validation=(rows, rows), task="regression").train
    some, targets = rows_to_prepare(lsat.Chunks(rows=9), train, 3)
    assert len(some) == 50
    assert torch.equal(some, targets)
    assert torch.equal(some, rows_to_prepare(lsat.Chunks(rows=9), train, 3)[0])
    assert not torch.equal(some, rows_to_prepare(lsat.Chunks(rows=9), train, 4)[0])
    assert rows_to_prepare(lsat.Memory(), train, 3)[0] is train.inputs
    assert len(rows_to_prepare(lsat.Chunks(memory="0.2 kB"), train, 3)[0]) == 10
    assert len(rows_to_prepare(lsat.Chunks(memory="400 kB"), train, 3)[0]) == 50


def test_a_chunk_takes_the_memory_that_it_may(data: lsat.Data) -> None:
    # a row: twice 12 inputs of 8 bytes, and twice 13 features of 8
    problem = lsat.Problem(lsat.Recipe(engine=lsat.Chunks(memory="20 kB")), data)
    assert [cut.stop - cut.start for cut in problem.parts[0].rows._reads] == [50, 50, 50, 50]
    with pytest.raises(ValueError, match="memory is '512', expected a size"):
        lsat.Chunks(memory="512")
    with pytest.raises(ValueError, match="give one of them"):
        lsat.Chunks(rows=7, memory="1 GB")
    assert [lsat.Chunks(memory=size).rows_of(1000) for size in ("2kB", "1.5 MB", "1 GiB")] == [2, 1500, 1073741]


@pytest.mark.parametrize("engine", [lsat.Memory(), CHUNKS, lsat.Chunks(rows=150)], ids=repr)
@pytest.mark.parametrize("name", ["default", "moving", "weighted"])
def test_an_evaluation_that_is_broken_off_anywhere_leaves_nothing_behind(data, engine, name):
    recipe = RECIPES[name].replace(engine=engine)
    expected = lsat.Problem(recipe, data)
    omega = expected.init()
    loss, gradient = expected.evaluate(omega).loss, expected.gradient(expected.evaluate(omega))
    left = [0]

    def check() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Interrupted

    broken = 0
    for after in range(1, 1000):
        left[0] = 0
        problem = lsat.Problem(recipe, data, check)
        left[0] = after
        try:
            problem.evaluate(omega)
        except Interrupted:
            broken += 1
        finished, left[0] = left[0] > 0, 0
        again = problem.evaluate(omega)
        assert again.loss == loss
        assert all(torch.equal(value, gradient[key]) for key, value in problem.gradient(again).items())
        if finished:
            break
    assert broken > 0


def test_a_run_is_the_same_where_another_thread_runs_a_branch_of_it():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(6000, 20))
    y = X @ generator.normal(size=20) + generator.normal(size=6000)
    data = lsat.Data.from_arrays(X, y, validation=0.3, test=None)
    method = lsat.LineSearch(max_iterations=6, tolerance=0.0)
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), method=method)
    alone = lsat.Run(recipe, data)
    expected = [at.objective for at in alone.steps()]
    run = lsat.Run(recipe, data)
    steps = run.steps()
    next(steps)
    branches = [run.branch(0) for _ in range(2)]
    with ThreadPoolExecutor(2) as others:
        found = [others.submit(lambda branch: list(branch.steps()), branch) for branch in branches]
        for _ in steps:
            pass
        ended = [len(future.result()) for future in found]
    assert [at.objective for at in run.iterates] == expected
    assert min(ended) > 1
    for branch in branches:
        assert branch.iterates[-1].objective == expected[-1]
