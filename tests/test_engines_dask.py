"""Workers of a dask cluster give the numbers of one process, keep features to themselves, and may be lost."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from cluster import Counted, cluster, elsewhere, on_disk, received
from lsat_explorer.data.on_disk import RowsOnDisk
from lsat_explorer.engines import ChunkRows, DaskRows, Interrupted
from lsat_explorer.engines.room import NotEnoughMemory
from lsat_explorer.engines.share import Question, Share, Stretch
from lsat_explorer.model.cluster import ClusterLost, connected


@pytest.fixture(scope="module")
def engine() -> Iterator[lsat.Dask]:
    """Two workers in this process."""
    with cluster() as workers:
        engine = lsat.Dask(workers)
        yield engine
        connected(engine.address).close()


@pytest.fixture(scope="module")
def processes() -> lsat.Dask:
    """Two processes, which end with this one."""
    return lsat.Dask.local(workers=2)


GRAPH = lsat.Recipe(
    featurizer=lsat.Concat(x=lsat.Identity(), one=lsat.Constant()),
    regularizer=lsat.Stack(ridge=lsat.Ridge(block="x"), smooth=lsat.Smooth(lsat.graphs.grid(8, 8), block="x")),
)
FEATURES = lsat.Recipe(
    featurizer=lsat.Concat(x=lsat.Scale(), near=lsat.KMeansArchetypes(per_class=2), one=lsat.Constant()),
    regularizer=lsat.Stack(a=lsat.Ridge(block="x"), b=lsat.Ridge(block="near")),
)
RECIPES = {
    "ridge and graph": GRAPH,
    "features": FEATURES,
    "row weights": GRAPH.replace(data_weights=lsat.LogWeights()),
    "row weights and features": FEATURES.replace(data_weights=lsat.LogWeights()),
    "k-fold": GRAPH.replace(criterion=lsat.KFold(3), data_weights=lsat.LogWeights()),
    "leave-one-out": GRAPH.replace(criterion=lsat.LeaveOneOut(), data_weights=lsat.LogWeights()),
    "leave-one-out and features": FEATURES.replace(criterion=lsat.LeaveOneOut(), loss=lsat.SquaredError()),
    "leave-one-out, features and weights": FEATURES.replace(
        criterion=lsat.LeaveOneOut(), data_weights=lsat.LogWeights(), loss=lsat.CrossEntropy(temperature=True)
    ),
    "generalized cross-validation": GRAPH.replace(criterion=lsat.GCV(), loss=lsat.SquaredError()),
    "generalized cross-validation and features": FEATURES.replace(criterion=lsat.GCV(), loss=lsat.SquaredError()),
}


def same(recipe: lsat.Recipe, engine: lsat.Dask | lsat.Chunks, data: lsat.Data, tolerance: float) -> None:
    ours, theirs = (lsat.Problem(recipe.replace(engine=each), data) for each in (engine, lsat.Memory()))
    omega = elsewhere(theirs)
    here, there = ours.evaluate(omega), theirs.evaluate(omega)
    kind = DaskRows if isinstance(engine, lsat.Dask) else ChunkRows
    assert all(isinstance(part.rows, kind) for part in ours.parts)
    assert here.objective == pytest.approx(there.objective, rel=tolerance)
    scored = ours.parts[-1].rows.predict(here.moving[-1], here.solutions[-1].theta)
    expected = theirs.parts[-1].rows.predict(there.moving[-1], there.solutions[-1].theta)
    torch.testing.assert_close(scored, expected, rtol=0, atol=tolerance)
    assert here.error == pytest.approx(there.error, rel=tolerance)
    found, expected = ours.gradient(here), theirs.gradient(there)
    assert list(found) == list(expected)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=tolerance * max(1, float(value.abs().max())))
    torch.testing.assert_close(ours.coefficients(omega)[0], theirs.coefficients(omega)[0], rtol=0, atol=tolerance)
    assert ours.training_loss(here) == pytest.approx(theirs.training_loss(there), rel=tolerance)


@pytest.mark.parametrize("name", RECIPES)
def test_workers_give_what_memory_gives(digits: lsat.Data, engine: lsat.Dask, name: str) -> None:
    same(RECIPES[name], engine, digits, 1e-10)


@pytest.mark.parametrize("name", [name for name in RECIPES if "cross-validation" in name or "leave-one-out" in name])
def test_rows_that_are_left_out_by_chunks_give_what_memory_gives(digits: lsat.Data, name: str) -> None:
    same(RECIPES[name], lsat.Chunks(rows=300), digits, 1e-10)


@pytest.mark.parametrize("memory", [None, "100 kB"])
def test_folds_of_a_file_are_read_by_the_workers(digits, engine, tmp_path, monkeypatch, memory) -> None:
    data = on_disk(digits, tmp_path)
    monkeypatch.setattr(connected(engine.address), "scatter", None)
    monkeypatch.setattr(RowsOnDisk, "__reduce_ex__", None)
    same(RECIPES["k-fold"], replace(engine, memory=memory), data, 1e-10)


def test_what_needs_all_predictions_here_is_refused_where_none_is_to_travel(digits: lsat.Data) -> None:
    lsat.model.register_loss("largest", lambda predictions, targets: (predictions - targets).abs().amax())
    apart = lsat.Dask("tcp://10.0.0.1:8786", weights="workers")
    with pytest.raises(ValueError, match=r"CustomLoss needs the predictions of all scored rows .* weights='here'"):
        lsat.Problem(GRAPH.replace(engine=apart, loss=lsat.CustomLoss("largest")), digits)
    counts = tuple(1.0 + i % 2 for i in range(len(digits.validation)))
    with pytest.raises(ValueError, match="Counted needs the predictions of all scored rows"):
        lsat.Problem(GRAPH.replace(engine=apart, criterion=lsat.Counted(lsat.HeldOut(), counts)), digits)


def test_workers_may_hold_a_chunk_at_a_time(digits: lsat.Data, engine: lsat.Dask) -> None:
    same(RECIPES["row weights and features"], replace(engine, memory="200 kB"), digits, 1e-10)


@pytest.mark.mnist
@pytest.mark.parametrize("recipe", ["paper_ls", "paper_reg2", "paper_feat", "paper_weighting"])
@pytest.mark.parametrize("chunks", [None, lsat.Chunks(rows=300)], ids=repr)
def test_the_papers_recipes_on_small_mnist(mnist_folder, engine: lsat.Dask, recipe: str, chunks: Any) -> None:
    data = lsat.datasets.mnist(mnist_folder, size=1000, scale="unit")
    same(getattr(lsat.model.recipes, recipe)().replace(dtype="float64"), chunks or engine, data, 1e-6)


def test_a_run_ends_with_the_weights_and_predictions_of_one_in_memory(digits: lsat.Data, engine: lsat.Dask) -> None:
    recipe = RECIPES["row weights"].replace(method=lsat.LineSearch(max_iterations=4))
    ours, theirs = (lsat.tune(recipe.replace(engine=each), digits, progress=False) for each in (engine, "memory"))
    np.testing.assert_allclose(ours.weights(), theirs.weights(), rtol=1e-10)
    rows = digits.test.inputs
    np.testing.assert_allclose(ours.model.decision_function(rows), theirs.model.decision_function(rows), atol=1e-10)


@pytest.mark.parametrize("memory", [None, "100 kB"])
def test_workers_read_rows_on_disk_and_are_told_where_only(digits, engine, tmp_path, monkeypatch, memory) -> None:
    data = on_disk(digits, tmp_path)
    expected = lsat.Problem(GRAPH, data)
    monkeypatch.setattr(RowsOnDisk, "__reduce_ex__", None)
    client = connected(engine.address)
    monkeypatch.setattr(client, "scatter", None)
    problem = lsat.Problem(GRAPH.replace(engine=replace(engine, memory=memory)), data)
    assert isinstance(data.train.inputs, RowsOnDisk)
    at = problem.evaluate(problem.init())
    assert at.objective == pytest.approx(expected.evaluate(expected.init()).objective, rel=1e-10)
    assert len(pickle.dumps(Stretch.of(data.train.inputs, slice(5, 500)))) < 1000


def test_a_file_that_a_worker_does_not_see_is_named(digits, engine, tmp_path) -> None:
    data = on_disk(digits, tmp_path)
    (tmp_path / "train.npy").rename(tmp_path / "elsewhere.npy")
    with pytest.raises(ValueError, match=r"sees no file .*train.npy, which holds rows: put .* where every worker"):
        lsat.Problem(GRAPH.replace(engine=engine), data)
    inputs: Any = data.train.inputs
    rows = RowsOnDisk(tmp_path / "elsewhere.npy", tuple(inputs.shape), np.float64, inputs.offset)
    (tmp_path / "elsewhere.npy").write_bytes((tmp_path / "elsewhere.npy").read_bytes()[:9999])
    with pytest.raises(ValueError, match="it is cut off"):
        lsat.Problem(GRAPH.replace(engine=engine), replace(data, train=replace(data.train, inputs=rows)))


@pytest.mark.parametrize(
    ("name", "trips", "matrices"),
    [
        ("ridge and graph", (1, 1), 3),
        ("row weights", (1, 1), 3),
        ("features", (1, 1), 3),
        ("generalized cross-validation", (1, 1), 3),
        ("leave-one-out", (2, 1), 6),
        ("leave-one-out and features", (2, 1), 6),
        ("generalized cross-validation and features", (2, 1), 6),
    ],
)
def test_an_iteration_moves_sums_and_weights(
    engine, monkeypatch, name: str, trips: tuple[int, int], matrices: int
) -> None:
    k, v, d = 3001, 1003, 64
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(k + v, d)), generator.normal(size=k + v)
    data = lsat.Data.from_splits((X[:k], y[:k]), (X[k:], y[k:]))
    features = lsat.Concat(x=lsat.Scale(), one=lsat.Constant())
    tuned = lsat.Recipe(featurizer=features, regularizer=lsat.Ridge(block="x"))
    chosen = RECIPES[name]
    if "features" in name:
        chosen = tuned.replace(criterion=chosen.criterion)
    problem = lsat.Problem(chosen.replace(engine=engine), data)
    problem.evaluate(problem.init())
    before, counted = received(engine), Counted(monkeypatch)
    at = problem.evaluate(elsewhere(problem))
    assert counted.trips == trips[0]
    problem.gradient(at)
    problem.training_loss(at)
    assert counted.trips == sum(trips)
    n, workers = d + 1, 2
    assert counted.other + received(engine) - before <= workers * matrices * 8 * n**2
    # Of a row that is weighed: its log weight, once, and the slope of it.
    assert counted.by_row == (8 * k * 2 if problem.recipe.data_weights is not None else 0)


def test_a_part_moves_a_block_once_an_omega(digits: lsat.Data, engine: lsat.Dask, monkeypatch) -> None:
    formed: list[int] = []
    moving = lsat.engines.MemoryRows.moving
    monkeypatch.setattr(
        lsat.engines.MemoryRows, "moving", lambda self, omega: formed.append(len(self)) or moving(self, omega)
    )
    problem = lsat.Problem(RECIPES["row weights and features"].replace(engine=engine), digits)
    problem.gradient(problem.evaluate(problem.init()))
    assert len(formed) == 4  # two parts of training and two of validation rows
    problem.evaluate(elsewhere(problem))
    assert len(formed) == 8


def test_a_part_says_how_large_it_is(digits: lsat.Data) -> None:
    rows = lsat.Problem(GRAPH, digits).parts[0].rows
    assert Share(rows, 12345).__sizeof__() == 12345
    assert Question("predict", False, None, ()).omega is None


def test_a_stop_is_heard_while_workers_work(digits: lsat.Data, engine: lsat.Dask) -> None:
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise Interrupted

    problem = lsat.Problem(GRAPH.replace(engine=engine), digits, check)
    calls = 4
    with pytest.raises(Interrupted):
        problem.evaluate(problem.init())


def test_a_worker_without_room_is_told(digits: lsat.Data, engine: lsat.Dask, monkeypatch) -> None:
    problem = lsat.Problem(GRAPH.replace(engine=engine), digits)

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("lsat_explorer.engines.memory.MemoryRows.predict", full)
    with pytest.raises(NotEnoughMemory, match=r"A worker of Dask\(address=.* has no room left: start more workers"):
        problem.evaluate(problem.init())


@pytest.mark.slow
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_worker_killed_in_the_middle_changes_no_number(digits, processes, tmp_path, monkeypatch, where) -> None:
    data = digits if where == "memory" else on_disk(digits, tmp_path)
    recipe = RECIPES["row weights"].replace(engine=processes, method=lsat.LineSearch(max_iterations=3))
    client = connected(processes.address)
    client.wait_for_workers(2)
    expected = lsat.tune(recipe, data, progress=False)
    client.wait_for_workers(2)
    asks, killed = 0, []
    asked = DaskRows._asked

    def ask(rows: DaskRows, *how: Any, **more: Any) -> Any:
        nonlocal asks
        asks += 1
        futures = asked(rows, *how, **more)
        if asks == 6:
            killed.append(client.run(os.getpid, workers=sorted(client.nthreads())[:1]).popitem()[1])
            os.kill(killed[0], signal.SIGKILL)
        return futures

    monkeypatch.setattr(DaskRows, "_asked", ask)
    found = lsat.tune(recipe, data, progress=False)
    assert killed
    assert [iterate.objective for iterate in found.iterates] == [iterate.objective for iterate in expected.iterates]
    assert torch.equal(found.omega["data_weights.log_weight"], expected.omega["data_weights.log_weight"])


def test_a_scheduler_that_is_gone_ends_the_run_with_its_last_iterate(digits: lsat.Data) -> None:
    workers = cluster()
    run = lsat.Run(GRAPH.replace(engine=lsat.Dask(workers)), digits)
    steps = run.steps()
    kept = [next(steps), next(steps)][-1]
    workers.close()
    with pytest.raises(ClusterLost, match=r"The scheduler of dask at inproc://.* is gone: the last accepted iterate"):
        list(steps)
    assert run.iterates[-1].number == kept.number
    assert run.status is lsat.Status.STOPPED_BY_USER
    with pytest.raises(ClusterLost, match="No scheduler of dask answers"):
        lsat.Problem(run.recipe, digits)
    again = lsat.Run(run.recipe.replace(engine="memory"), digits, run.omega)
    assert next(again.steps()).objective == pytest.approx(kept.objective)


@pytest.mark.slow
def test_a_scheduler_that_is_killed_leaves_the_last_iterate_to_go_on_from(digits: lsat.Data, tmp_path) -> None:
    file, started = tmp_path / "scheduler.json", []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for kind, words in (("scheduler", ["--port", "0", "--no-dashboard"]), ("worker", ["--nthreads", "1"])):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(file), *words]
        command += ["--host", "127.0.0.1"]
        started.append(subprocess.Popen(command, **quiet))  # type: ignore[call-overload]
        while not file.exists() and started[0].poll() is None:
            threading.Event().wait(0.02)
    try:
        address = json.loads(file.read_text())["address"]
        run = lsat.Run(RECIPES["row weights"].replace(engine=lsat.Dask(address)), digits)
        steps = run.steps()
        kept = [next(steps), next(steps)][-1]
        started[0].kill()
        with pytest.raises(ClusterLost, match=rf"The scheduler of dask at {address} is gone: the last accepted"):
            list(steps)
        assert run.iterates[-1].number == kept.number
        again = lsat.Run(run.recipe.replace(engine="chunks"), digits, run.omega)
        assert next(again.steps()).objective == pytest.approx(kept.objective, rel=1e-6)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def test_the_engine_is_its_address(engine: lsat.Dask) -> None:
    client = connected(engine.address)
    assert lsat.Dask(client) == engine
    recipe = lsat.Recipe(engine=lsat.Dask(client, memory="1 MB"))
    assert lsat.Recipe.from_json(recipe.to_json()) == recipe
    assert lsat.Recipe(engine="dask").engine == lsat.Dask()
    assert engine.dashboard.startswith("http")
    for wrong in (3, "", lsat):
        with pytest.raises(ValueError, match="expected that of a scheduler"):
            lsat.Dask(wrong)
    with pytest.raises(ValueError, match="expected a size"):
        lsat.Dask("tcp://10.0.0.1:8786", memory="much")
    with pytest.raises(ValueError, match="workers is 0"):
        lsat.Dask.local(workers=0)


def test_workers_that_wait_look_at_themselves_seldom(processes: lsat.Dask) -> None:
    def how_often() -> set[str]:
        import dask.config

        names = ("admin.tick", "worker.profile", "admin.system-monitor")
        return {dask.config.get(f"distributed.{name}.interval") for name in names}

    found = connected(processes.address).run(how_often)
    assert list(found.values()) == 2 * [{"1s", "5s"}], "or they take 5 % of a core each"


@pytest.mark.slow
def test_bench_scale_prints_what_workers_take(command, tmp_path) -> None:
    words = ("--rows", "400", "--columns", "5", "--cases", "still", "--repeat", "1", "--folder", str(tmp_path))
    code, out, error = command("bench", "scale", *words, "--workers", "1")
    assert code == 0, error
    lines = out.splitlines()
    assert lines[-2].startswith("workers  iteration s  share of ideal")
    assert lines[-1].split()[0] == "1"
    assert lines[-1].split()[2] == "1.00"


def test_a_live_run_links_to_the_page_of_its_cluster(digits: lsat.Data, engine: lsat.Dask) -> None:
    recipe = GRAPH.replace(engine=engine, method=lsat.LineSearch(max_iterations=1))
    tuner = lsat.widgets.LiveTuner(digits, recipe)
    tuner.start()
    tuner.wait(60)
    assert tuner.controls.dashboard == engine.dashboard
    tuner.restart(recipe.replace(engine="memory"))
    assert tuner.controls.dashboard == ""
    tuner.close()


def test_a_client_that_is_killed_leaves_the_workers_to_the_next(digits: lsat.Data, processes: lsat.Dask) -> None:
    client = connected(processes.address)
    client.wait_for_workers(2)
    script = (
        "import sys, time, lsat_explorer as lsat\n"
        "problem = lsat.Problem(lsat.Recipe(engine=lsat.Dask(sys.argv[1])), lsat.datasets.digits())\n"
        "problem.evaluate(problem.init())\n"
        "print('evaluated', flush=True)\n"
        "time.sleep(600)\n"
    )
    held = set(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))
    with subprocess.Popen(
        [sys.executable, "-c", script, processes.address], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "evaluated\n"
        assert set(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))) - held
        other.kill()
    same(RECIPES["row weights"], processes, digits, 1e-10)

    def left(dask_scheduler: Any) -> list[str]:
        return [str(key) for key in dask_scheduler.tasks if key not in held and str(key).startswith("loaded")]

    deadline = time.monotonic() + 60
    while client.run_on_scheduler(left) and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    assert client.run_on_scheduler(left) == []
