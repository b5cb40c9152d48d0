"""A kernel that is gone: what an Explorer kept of its runs beside the notebook, another one takes up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lsat_explorer as lsat
from kept_runs import RECIPE, explorers, in_notebook, losses, run_to_the_end
from lsat_explorer.widgets import restoring
from test_problem import make_data


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the notebook."""
    in_notebook(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def data() -> lsat.Data:
    return make_data()


@pytest.fixture
def made(data: lsat.Data) -> Iterator[Any]:
    """Make Explorers, which are closed in the end."""
    yield from explorers(data)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_another_kernel_finds_recipe_runs_names_notes_and_verdicts(made, data, folder):
    before = made()
    assert list(folder.iterdir()) == []  # nothing before there is a run
    run_to_the_end(before)
    before.restart(RECIPE.replace(method=lsat.ProximalGradient(step=5.0, max_iterations=4)))
    before.tuner.wait(60)
    before.branch(2)
    before.tuner.wait(60)
    before.runs[0].name, before.runs[1].note = "all <b>weights", "too slow \ud800"
    before.recipe = before.recipe.replace(regularizer=lsat.Diagonal())
    before.last_look.look()
    before.browser.verdicts.drop(data.train.rows[:2])
    expected = [(kept.name, kept.note, losses(kept.run)) for kept in before.runs]
    assert [len(kept.run.iterates) > 3 for kept in before.runs] == [True] * 3
    recipe, words = before.recipe, before.table.rows
    before.close()

    after = made(data)
    restored = after.restore()
    assert [(kept.name, kept.note, losses(kept.run)) for kept in restored] == [
        (name, note.replace("\ud800", "?"), values) for name, note, values in expected
    ]
    assert list(after.runs) == restored
    assert after.recipe == recipe
    assert after.run is restored[-1].run
    assert after.run.looks == 1
    assert len(after.browser.verdicts) == 2
    shown = [(row["name"], row["differs"], row["loss"], row["iterations"]) for row in after.table.rows]
    assert shown == [(row["name"], row["differs"], row["loss"], row["iterations"]) for row in words]
    assert after.model.predict(data.validation.inputs).shape == (len(data.validation),)

    after.restart()  # and what comes is kept with the others
    after.tuner.wait(60)
    after.close()
    assert [kept.name for kept in made(data).restore()] == [*(name for name, *_ in expected), "Run 4"]
    (session,) = (folder / "lsat-runs-data" if (folder / "lsat-runs-data").exists() else folder / "lsat-runs").iterdir()
    assert json.loads((session / "runs.json").read_text())["format"] == 1


PROGRAM = """
import os, signal, sys
import lsat_explorer as lsat
from lsat_explorer.tune.stepping import Keeper
from lsat_explorer.widgets import Explorer
from kept_runs import RECIPE, run_to_the_end
from test_problem import make_data

data = make_data()
explorer = Explorer(data, RECIPE.replace(method=lsat.ProximalGradient(max_iterations=3)))
run_to_the_end(explorer)
explorer.runs[0].name = "first"
write = Keeper.write

def kept(keeper, run):
    write(keeper, run)
    if len(run.iterates) == 6:
        os.kill(os.getpid(), signal.SIGKILL)

Keeper.write = kept
after = Keeper.after
Keeper.after = lambda keeper, run, iterate: keeper.write(run)
explorer.restart(RECIPE)
explorer.tuner.wait(60)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_a_run_that_a_killed_kernel_left_goes_on_as_if_it_had_not_been_broken_off(made, data):
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {name: value for name, value in os.environ.items() if name != "LSAT_RUNS"} | {"PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    explorer = made(data)
    first, second = explorer.restore()
    assert (first.name, first.run.status) == ("first", lsat.Status.MAX_ITERATIONS)
    assert (len(second.run.iterates), second.run.status) == (6, lsat.Status.BROKEN_OFF)
    assert explorer.recipe == RECIPE
    assert "Broken off" in explorer.tuner.controls.sentence
    state = explorer.tuner.controls.get_state()
    assert (state["activity"], state["can_go_on"]) == ("ended", True)  # the button says Go on
    run_to_the_end(explorer)
    assert losses(second.run) == pytest.approx(losses(lsat.tune(RECIPE, data, progress=False)), rel=1e-12)
    assert list(explorer.runs) == [first, second]


def test_two_explorers_two_notebooks_and_two_data_sets_do_not_mix(made, data, monkeypatch):
    other = make_data(seed=3)
    monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
    one, two, three = made(), made(), made(other, RECIPE)
    for number, explorer in enumerate((one, two, three)):
        run_to_the_end(explorer)
        explorer.runs[0].name = f"run of {number}"
    with pytest.raises(ValueError, match="There are no runs on Data"):
        made(data).restore()  # they are open
    with pytest.raises(ValueError, match="has runs already"):
        one.restore()
    for explorer in (one, two, three):
        explorer.close()
    monkeypatch.setenv("JPY_SESSION_NAME", "b.ipynb")
    with pytest.raises(ValueError, match="There are no runs on Data"):
        made(data).restore()
    monkeypatch.setenv("JPY_SESSION_NAME", "folder/a.ipynb")
    names = [made(data).restore()[0].name for _ in range(2)]
    assert sorted(names) == ["run of 0", "run of 1"]
    assert made(other).restore()[0].name == "run of 2"
    with pytest.raises(ValueError, match="There are no runs on Data"):
        made(data).restore()


def test_the_same_cell_takes_up_its_own_also_when_it_is_run_again(made, data, monkeypatch):
    for cell in ("a", "b"):
        monkeypatch.setattr(restoring, "this_cell", lambda cell=cell: (cell, "1"))
        run_to_the_end(explorer := made())
        explorer.runs[0].name = cell
    for execution in ("2", "3"):  # the first Explorer is still there: nobody has closed it
        monkeypatch.setattr(restoring, "this_cell", lambda execution=execution: ("a", execution))
        assert made(data).restore()[0].name == "a"


def test_cards_and_times_of_restored_runs_are_as_they_were(made, data):
    before = made()
    run_to_the_end(before)
    time = before.table.rows[0]["seconds"]
    assert time == before.run.iterates[-1].seconds > 0
    before.recipe = before.recipe.replace(regularizer=lsat.Diagonal())
    before.close()
    after = made(data)
    after.restore()
    assert after.table.rows[0]["seconds"] == after.tuner.worker.seconds == time
    assert after.panel.recipe == after.recipe
    assert not after.panel.tabs.fixed


def test_a_run_that_was_taken_up_again_is_restored_as_the_one_that_the_buttons_steer(made, data):
    before = made()
    run_to_the_end(before)
    before.branch(2)
    before.tuner.wait(60)
    before.table.chosen = 1
    before.go_on()
    before.tuner.wait(60)
    assert before.recipe == before.sliders.recipe == before.runs[1].run.recipe
    assert [kept.name for kept in before.runs] == ["Run 2", "Run 1"]
    before.close()
    after = made(data)
    branch, first = after.restore()
    assert (branch.name, first.name) == ("Run 2", "Run 1")
    assert branch.origin == (first, 2)
    assert after.run is first.run


def test_what_is_damaged_is_left_alone_and_the_rest_is_found(made, data, folder):
    explorer = made()
    run_to_the_end(explorer)
    explorer.restart(RECIPE.replace(seed=3))
    explorer.tuner.wait(60)
    explorer.close()
    kept = sorted(folder.rglob("checkpoint.safetensors"))
    kept[0].write_bytes(kept[0].read_bytes()[:999])
    stranger = next(folder.glob("lsat-runs*")) / "from a stranger"
    shutil.copytree(kept[0].parents[1], stranger)
    about = json.loads((stranger / "runs.json").read_text())
    about["runs"][0]["folder"] = "../../elsewhere"
    (stranger / "runs.json").write_text(json.dumps(about))
    for number, text in enumerate(("", "[", "5", "{}", '{"format": 9}', "[" * 100_000)):
        (stranger.parent / f"spoilt {number}").mkdir()
        (stranger.parent / f"spoilt {number}" / "runs.json").write_text(text)
    before = files(folder)
    again = made(data)
    (second,) = again.restore()
    assert second.run.recipe.seed == 3
    changed = {name for name, content in files(folder).items() if before.get(name) != content}
    again.close()
    own = kept[0].parents[1] / "runs.json"
    assert changed <= {str(own.relative_to(folder))}
    assert [entry["folder"] for entry in json.loads(own.read_text())["runs"]] == ["1", "2"]  # somebody may mend it
    shutil.rmtree(kept[0].parents[1])
    with pytest.raises(ValueError, match=r"There are no runs on Data.* is damaged: a run is"):
        made(data).restore()


MAKE = """
import time
import lsat_explorer as lsat
from kept_runs import RECIPE
from test_problem import make_data
explorer = lsat.widgets.Explorer(make_data(), RECIPE.replace(method=lsat.ProximalGradient(tolerance=0.0,
    step=1e-3, grow=1.0, max_iterations=10**6)))
"""


@pytest.mark.slow
def test_a_kernel_that_is_killed_while_it_runs_and_started_again_has_lost_nothing(folder, monkeypatch):
    from jupyter_client.manager import start_new_kernel

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    manager, client = start_new_kernel(cwd=str(folder))

    def do(code: str) -> str:
        said = []
        reply = client.execute_interactive(code, timeout=120, output_hook=lambda m: said.append(m["content"]))
        assert reply["content"]["status"] == "ok", "\n".join(reply["content"].get("traceback", []))
        return "".join(content.get("text", "") for content in said)

    try:
        do(MAKE)
        do("explorer.start()\nwhile len(explorer.run.iterates) < 250: time.sleep(0.01)")
        do("explorer.runs[0].name = 'mine'")
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=120)
        do(MAKE)
        said = do("kept, = explorer.restore(); print(kept.name, kept.run.status.value, len(kept.run.iterates))")
        name, status, count = said.split()
        assert (name, status) == ("mine", "broken_off")
        assert int(count) > 250 - 100 - 10  # a file comes every 100 accepted ones
        do("explorer.start()\nwhile len(explorer.run.iterates) < 300: time.sleep(0.01)\nexplorer.close()")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
