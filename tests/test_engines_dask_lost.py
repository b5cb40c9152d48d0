"""Runs on a dask cluster that are stopped, find no room, or lose a worker, a scheduler or a client; idle workers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import lsat_explorer as lsat
from cluster import GRAPH, RECIPES, cluster, kill_at, on_disk, same, two_workers
from lsat_explorer.engines import Interrupted
from lsat_explorer.engines.room import NotEnoughMemory
from lsat_explorer.model.cluster import ClusterLost, connected


@pytest.fixture(scope="module")
def engine() -> Iterator[lsat.Dask]:
    yield from two_workers()


@pytest.fixture(scope="module")
def processes() -> lsat.Dask:
    """Two processes, which end with this one."""
    return lsat.Dask.local(workers=2)


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
    killed = kill_at(6, client, monkeypatch)
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


def test_workers_that_wait_look_at_themselves_seldom(processes: lsat.Dask) -> None:
    def how_often() -> set[str]:
        import dask.config

        names = ("admin.tick", "worker.profile", "admin.system-monitor")
        return {dask.config.get(f"distributed.{name}.interval") for name in names}

    found = connected(processes.address).run(how_often)
    assert list(found.values()) == 2 * [{"1s", "5s"}], "or they take 5 % of a core each"


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
