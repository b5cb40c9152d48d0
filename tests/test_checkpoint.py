"""Checkpoints: a run that was broken off goes on as if it never had been, to the last bit of every number."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import signal
import struct
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tqdm import tqdm

import lsat_explorer as lsat
from lsat_explorer import Checkpoint, Status
from lsat_explorer.solve.precision import SINGLE, Precision
from lsat_explorer.tune import iterates as iterates_module
from lsat_explorer.tune.checkpoint_file import NAME
from lsat_explorer.tune.iterate import COLUMNS, row_of
from test_methods import stopping_data
from test_problem import ARCHETYPES, STACK, make_data
from test_verdicts_file import nobody

WEIGHTS = {
    "data_weights": lsat.LogWeights(),
    "hyper_penalties": {"data_weights.log_weight": lsat.SumSquares(0.05) + lsat.ZeroSum()},
}
FULL = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, **WEIGHTS)
PLAIN = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK)
ENDLESS = {"tolerance": 0.0, "max_iterations": 14}
CASES = {
    "decrease": FULL.replace(method=lsat.ProximalGradient(step=300.0, **ENDLESS)),
    "armijo": FULL.replace(method=lsat.ProximalGradient(step=300.0, accept="armijo", **ENDLESS)),
    "goldstein": FULL.replace(method=lsat.ProximalGradient(step=0.1, accept="goldstein", **ENDLESS)),
    "line search": FULL.replace(method=lsat.LineSearch(**ENDLESS)),
    "l-bfgs": FULL.replace(method=lsat.LBFGS(**ENDLESS)),
    "many starts": PLAIN.replace(method=lsat.MultiStart(lsat.LBFGS(tolerance=1e-3, max_iterations=4), starts=3)),
    "many line searches": PLAIN.replace(method=lsat.MultiStart(lsat.LineSearch(max_iterations=3), starts=3)),
    "grid": lsat.Recipe(method=lsat.Grid(-2.0, 2.0, points=8)),
    "folds": FULL.replace(criterion=lsat.KFold(3), method=lsat.LineSearch(**ENDLESS)),
    "leave one out": lsat.Recipe(
        criterion=lsat.LeaveOneOut(), loss=lsat.SquaredError(), method=lsat.LineSearch(**ENDLESS)
    ),
    "chunks": FULL.replace(engine=lsat.Chunks(rows=16), method=lsat.LineSearch(**ENDLESS)),
    "single": FULL.replace(dtype="float32", method=lsat.LineSearch(**ENDLESS)),
    "temperature": FULL.replace(loss=lsat.CrossEntropy(temperature=True), method=lsat.LBFGS(**ENDLESS)),
    "selection": lsat.Recipe(
        featurizer=lsat.Concat(x=lsat.SelectFeatures(0.5), one=lsat.Constant()),
        regularizer=lsat.Ridge(),
        method=lsat.LineSearch(**ENDLESS),
    ),
    "frozen": FULL.replace(
        hyper_penalties={**WEIGHTS["hyper_penalties"], "regularizer.smooth.log_weight": lsat.Frozen()},
        method=lsat.LineSearch(**ENDLESS),
    ),
}
every_case = pytest.mark.parametrize("recipe", CASES.values(), ids=CASES)


def bits(iterate: lsat.Iterate) -> bytes:
    """Every number of an iterate and of its ω, but for the seconds and the mark of where a run was broken off."""
    numbers = [value for name, value in zip(COLUMNS, row_of(iterate), strict=True) if name not in ("seconds", "status")]
    omega = b"".join(name.encode() + value.numpy().tobytes() for name, value in iterate.omega.items())
    return np.array(numbers).tobytes() + omega


def same(run: lsat.Run, other: lsat.Run) -> None:
    """Assert that two runs are one: their iterates, what is kept of ω, how they ended."""
    assert len(run.iterates) == len(other.iterates)
    for a, b in zip(run.iterates, other.iterates, strict=True):
        assert bits(a) == bits(b), (a.number, a, b)
    assert run.status is other.status
    assert run.notes == other.notes
    assert run.kept.number == other.kept.number
    assert run.best.number == other.best.number
    whole, others = run.iterates.kept_whole(), other.iterates.kept_whole()
    assert [one.number for one in whole] == [one.number for one in others]
    assert run.limit == other.limit


@cache
def data_of(task: str = "classification") -> lsat.Data:
    """Data are frozen, so that one serves every test."""
    return make_data(task)


def kept_at(run: lsat.Run, folder: Path, numbers: set[int]) -> Iterator[tuple[int, Path]]:
    """Pull a run, and yield the folder that a process leaves which is killed right after an iterate."""
    for iterate in run.steps():
        if iterate.number in numbers:
            (folder / str(iterate.number)).mkdir(parents=True)
            shutil.copy(run.keeper.path, folder / str(iterate.number) / NAME)
    for number in sorted(numbers):
        yield number, folder / str(number)


def always(folder: Path) -> Checkpoint:
    return Checkpoint(folder, iterations=1, seconds=0.0)


def goes_on(whole: lsat.Run, folder: Path, after: int) -> lsat.Run:
    """Assert that what is in a folder goes on as a run that never was broken off."""
    run = lsat.Run.resume(folder, whole.data)
    assert run.status is Status.BROKEN_OFF
    assert len(run.iterates) == after + 1
    numbers = [iterate.number for iterate in run.steps()]
    assert numbers == list(range(after + 1, len(whole.iterates)))
    same(run, whole)
    return run


@every_case
def test_a_run_that_was_broken_off_goes_on_bit_for_bit(recipe, tmp_path):
    data = data_of("regression" if isinstance(recipe.loss, lsat.SquaredError) else "classification")
    whole = lsat.tune(recipe, data, progress=False)
    last = whole.iterates[-1].number
    kept = lsat.Run(recipe, data, checkpoint=always(tmp_path / "kept"))
    for after, folder in kept_at(kept, tmp_path, {0, last // 2, last - 1}):
        run = goes_on(whole, folder, after)
    same(kept, whole)
    assert torch.equal(run.model.theta, whole.model.theta)
    again = lsat.Run.resume(tmp_path / "kept", data)  # one that had ended has ended
    assert (again.status, len(again.iterates)) == (whole.status, len(whole.iterates))


def test_a_run_stopped_by_hand_goes_on_as_if_it_had_not_been(tmp_path):
    recipe = CASES["l-bfgs"]
    whole = lsat.tune(recipe, data_of(), progress=False)
    run = lsat.Run(recipe, data_of(), checkpoint=tmp_path)
    for iterate in run.steps():
        if iterate.number == 5:
            run.stop()
    assert run.status is Status.STOPPED_BY_USER
    elsewhere = lsat.Run.resume(tmp_path, data_of())
    assert elsewhere.status is Status.STOPPED_BY_USER
    for other in (run, elsewhere):
        assert [iterate.number for iterate in other.steps()] == list(range(6, 15))
        same(other, whole)


def test_another_recipe_in_the_middle_is_gone_on_with(tmp_path):
    recipe = CASES["line search"]
    name = "regularizer.smooth.log_weight"
    frozen = recipe.replace(hyper_penalties={**recipe.hyper_penalties, name: lsat.Frozen()})
    stronger = recipe.replace(
        hyper_penalties={**recipe.hyper_penalties, "regularizer.ridge.log_weight": lsat.SumSquares(2.0)}
    )
    for number, changed in enumerate((stronger, frozen, recipe.replace(method=lsat.LBFGS(**ENDLESS)))):

        def pulled(run, changed=changed):
            for iterate in run.steps():
                if iterate.number == 4:
                    run.change(changed)
            return run

        whole = pulled(lsat.Run(recipe, data_of()))
        kept = lsat.Run(recipe, data_of(), checkpoint=always(tmp_path / f"kept {number}"))
        steps = kept.steps
        kept.steps = lambda steps=steps, kept=kept, changed=changed: (
            (kept.change(changed) if i.number == 4 else None, i)[1] for i in steps()
        )
        for after, folder in kept_at(kept, tmp_path / str(number), {5, 9, 17}):
            assert goes_on(whole, folder, after).recipe == changed


def test_a_change_that_was_asked_for_and_not_begun_is_kept(tmp_path):
    run = lsat.Run(CASES["line search"], data_of(), checkpoint=tmp_path)
    other = run.recipe.replace(method=lsat.LineSearch(max_iterations=3))
    for iterate in run.steps():
        if iterate.number == 2:
            run.change(other)
            break
    resumed = lsat.Run.resume(tmp_path, data_of())
    assert (resumed.recipe, resumed.wanted) == (run.recipe, other)
    assert next(resumed.steps()).number == 3
    assert resumed.recipe == other
    assert resumed.limit == 6


def test_early_stopping_counts_on(tmp_path):
    method = lsat.ProximalGradient(tolerance=0.0, max_iterations=2000)
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), early_stopping=lsat.EarlyStopping(patience=6), method=method)
    whole = lsat.tune(recipe, stopping_data(), progress=False)
    assert whole.status is Status.STOPPED_EARLY
    last = whole.iterates[-1].number
    assert whole.kept.number < last - 1
    kept = lsat.Run(recipe, stopping_data(), checkpoint=always(tmp_path / "kept"))
    for after, folder in kept_at(kept, tmp_path, {2, last - 1}):
        run = goes_on(whole, folder, after)
        assert run.test().loss == whole.test().loss


@pytest.mark.parametrize("method", [lsat.LineSearch(**ENDLESS), lsat.LBFGS(**ENDLESS)], ids=lambda m: type(m).__name__)
def test_a_run_goes_on_in_the_precision_that_it_had_come_to(method, tmp_path, monkeypatch):
    rough = lambda self, objective: (0.02 if self is SINGLE else self.noise) * max(1.0, abs(objective))  # noqa: E731
    monkeypatch.setattr(Precision, "floor", rough)
    monkeypatch.setattr(lsat.LineSearch, "accepts", lambda self, change: change.decrease > 0.02)
    recipe = FULL.replace(dtype="float32", method=method)
    whole = lsat.tune(recipe, data_of(), progress=False)
    kept = lsat.Run(recipe, data_of(), checkpoint=always(tmp_path / "kept"))
    precise = []
    for after, folder in kept_at(kept, tmp_path, set(range(14))):
        precise.append(bool(load_file(folder / NAME)["memory.precise"]))
        if precise[-1] != precise[max(after - 1, 0)] or after == 1:
            goes_on(whole, folder, after)
    assert set(precise) == {False, True}


def test_a_long_run_keeps_what_it_had_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(iterates_module, "_MOST", 4)
    recipe = FULL.replace(method=lsat.ProximalGradient(step=0.01, tolerance=0.0, max_iterations=30))
    whole = lsat.tune(recipe, data_of(), progress=False)
    assert len(whole.iterates.kept_whole()) < 10
    kept = lsat.Run(recipe, data_of(), checkpoint=always(tmp_path / "kept"))
    for after, folder in kept_at(kept, tmp_path, {7, 26}):
        run = goes_on(whole, folder, after)
        assert run.branch(run.iterates.kept_whole()[2].number) is not None


def test_a_branch_that_was_broken_off_keeps_where_it_began(tmp_path):
    parent = lsat.tune(CASES["line search"], data_of(), progress=False)
    branch = lsat.Run(parent.recipe, data_of(), parent.iterates[6].omega, checkpoint=tmp_path)
    for iterate in branch.steps():
        if iterate.number == 3:
            break
    run = lsat.Run.resume(tmp_path, data_of())
    assert list(run.start) == list(branch.start)
    assert all(torch.equal(run.start[name], value) for name, value in branch.start.items())
    following = next(branch.steps()), next(run.steps())
    assert bits(following[0]) == bits(following[1])


def test_looks_and_the_times_of_the_checkpoint_are_kept(tmp_path):
    run = lsat.tune(CASES["grid"], data_of(), progress=False, checkpoint=Checkpoint(tmp_path, 7, 3.5))
    run.test()
    run.keeper.write(run)
    again = lsat.Run.resume(tmp_path / NAME, data_of())
    assert again.looks == 1
    assert again.keeper.checkpoint == Checkpoint(str(tmp_path), 7, 3.5)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("where", ["in an evaluation", "between iterates"])
def test_an_interrupt_of_the_kernel_keeps_the_last_accepted_iterate_and_the_run_goes_on(where, tmp_path, monkeypatch):
    """Case 27."""
    recipe = CASES["l-bfgs"]
    whole = lsat.tune(recipe, data_of(), progress=False)
    calls = itertools.count(1)

    def interrupted(function):
        def call(*args, **more):
            if next(calls) == 6:
                signal.raise_signal(signal.SIGINT)
            return function(*args, **more)

        return call

    with monkeypatch.context() as patched:
        if where == "in an evaluation":
            patched.setattr(lsat.Problem, "evaluate", interrupted(lsat.Problem.evaluate))
        else:
            patched.setattr(tqdm, "update", interrupted(tqdm.update))
        run = lsat.tune(recipe, data_of(), progress=False, checkpoint=tmp_path)
    assert run.status is Status.STOPPED_BY_USER
    assert 3 < len(run.iterates) < 8
    assert bits(run.iterates[-1]) == bits(whole.iterates[len(run.iterates) - 1])
    assert run.omega is run.iterates[-1].omega
    for other in (run, lsat.Run.resume(tmp_path, data_of())):
        for _ in other.steps():
            pass
        same(other, whole)


# --- when it is written ----------------------------------------------------------------------------------------------


def written(run: lsat.Run) -> list[int]:
    """The iterates after which a file was written."""
    numbers, keeper = [], run.keeper
    write = keeper.write
    keeper.write = lambda run: (numbers.append(run.iterates[-1].number), write(run))
    for _ in run.steps():
        pass
    return numbers


def test_a_file_comes_after_the_first_iterate_every_so_many_accepted_ones_and_the_last(tmp_path):
    recipe = FULL.replace(method=lsat.ProximalGradient(step=300.0, **ENDLESS))
    run = lsat.Run(recipe, data_of(), checkpoint=Checkpoint(tmp_path, iterations=3, seconds=1e6))
    numbers = written(run)
    accepted = [iterate.number for iterate in run.iterates if iterate.accepted][1:]
    assert len(accepted) < 14  # some are rejected
    assert numbers == sorted({0, *accepted[2::3], 14})


def test_a_file_comes_as_time_goes_by(tmp_path, monkeypatch):
    clock = itertools.count(0.0, 1.0)
    told = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr(import_module("lsat_explorer.tune.checkpoint"), "time", told)
    run = lsat.Run(CASES["line search"], data_of(), checkpoint=Checkpoint(tmp_path, iterations=10**6, seconds=4.0))
    numbers = written(run)
    assert numbers[:3] == [0, 4, 8]


# --- what cannot be written ------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no such permissions")
def test_in_a_folder_that_is_read_only_the_run_goes_on_and_says_so_once():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs"
        folder.mkdir()
        folder.chmod(0o555)
        Path(name).chmod(0o755)
        run = lsat.Run(CASES["line search"], data_of(), checkpoint=always(folder))
        with nobody():
            for iterate in run.steps():
                if iterate.number == 2:
                    assert "Permission denied" in run.unsaved
                    assert list(folder.iterdir()) == []
                    break
        assert run.message.count("could not be written") == 1
        folder.chmod(0o777)
        for _ in run.steps():  # the next one is tried
            pass
        assert run.unsaved == ""
        assert run.status is Status.MAX_ITERATIONS
        assert len(lsat.Run.resume(folder, data_of()).iterates) == len(run.iterates)
        assert [path.name for path in folder.iterdir()] == [NAME]


@pytest.mark.skipif(sys.platform == "win32", reason="this system sets no limit to the size of a file")
def test_on_a_full_disk_the_file_before_stays_and_the_run_goes_on(tmp_path):
    import resource

    run = lsat.Run(CASES["line search"], data_of(), checkpoint=always(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = b""
    for iterate in run.steps():
        if iterate.number == 3:
            old = (tmp_path / NAME).read_bytes()
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
        elif iterate.number == 6:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            assert (tmp_path / NAME).read_bytes() == old
            assert [path.name for path in tmp_path.iterdir()] == [NAME]
            assert "could not be written" in run.unsaved
    assert run.unsaved == ""
    assert len(lsat.Run.resume(tmp_path, data_of()).iterates) == len(run.iterates)


# --- what cannot be read ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    for iterate in lsat.Run(CASES["line search"], data_of(), checkpoint=always(folder)).steps():
        if iterate.number == 4:
            break
    return folder / NAME


def test_there_has_to_be_a_checkpoint(tmp_path):
    with pytest.raises(ValueError, match=r"holds no checkpoint: checkpoint\.safetensors is missing"):
        lsat.Run.resume(tmp_path, data_of())
    with pytest.raises(ValueError, match="data is a NoneType, expected Data"):
        lsat.Run.resume(tmp_path, None)


def test_other_data_are_refused_by_name(kept):
    with pytest.raises(ValueError, match=r"on other data \(Data\(.*\)\), not on Data\(.*: give the data that it"):
        lsat.Run.resume(kept.parent, make_data(seed=3))


def test_a_file_that_is_cut_off_is_refused_wherever_it_ends(kept, tmp_path):
    content = kept.read_bytes()
    for end in [0, 1, 7, 8, 9, 500, *range(1000, len(content), 1500), len(content) - 1]:
        (tmp_path / NAME).write_bytes(content[:end])
        with pytest.raises(ValueError, match="is cut off, or is no checkpoint"):
            lsat.Run.resume(tmp_path, data_of())


def spoilt(path: Path, folder: Path, **header: object) -> Path:
    """Write a checkpoint again with other texts in its header."""
    with safe_open(path, framework="pt") as file:
        texts = file.metadata()
    said = json.loads(texts["run"]) | header.pop("said", {})
    tensors = load_file(path) | header.pop("tensors", {})
    tensors = {name: value for name, value in tensors.items() if value is not None}
    save_file(tensors, folder / NAME, metadata={**texts, "run": json.dumps(said), **header})
    return folder


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": "lsat_explorer.checkpoint/2"}, r"has format 'lsat_explorer\.checkpoint/2', expected"),
        ({"format": "lsat_explorer.model/1"}, "has format 'lsat_explorer.model/1', expected"),
        ({"recipe": "{}"}, "is damaged: ValueError format is None"),
        ({"run": "[" * 100_000}, "is damaged: RecursionError"),
        ({"run": "5"}, "is damaged: TypeError"),
        ({"said": {"status": "asleep"}}, "'asleep' is not a valid Status"),
        ({"said": {"columns": ["number"]}}, "the table of iterates is"),
        ({"said": {"stride": 0}}, "keeps .* of its 5 iterates whole"),
        ({"said": {"leg": 99}}, "it set out after 99 of 5 iterates"),
        ({"said": {"every": ["x", 1]}}, "is damaged: ValueError"),
        ({"tensors": {"table": torch.zeros(5, 3)}}, "the table of iterates is"),
        ({"tensors": {"table": None}}, "is damaged: KeyError 'table'"),
        ({"tensors": {"whole": torch.tensor([0, 77])}}, "is damaged: IndexError"),
        ({"tensors": {"whole": torch.tensor([0, 1])}}, "the last not among them"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_does_not_belong_together_is_refused_in_a_sentence(kept, tmp_path, changes, why):
    with pytest.raises(ValueError, match=rf"checkpoint\.safetensors .*{why}"):
        lsat.Run.resume(spoilt(kept, tmp_path, **changes), data_of())


@pytest.mark.parametrize("name", ["line search", "l-bfgs", "many starts", "grid"])
def test_a_memory_that_is_none_of_the_methods_is_refused_in_a_sentence(name, tmp_path):
    for iterate in lsat.Run(CASES[name], data_of(), checkpoint=always(tmp_path)).steps():
        if iterate.number == 3:
            break
    lacking = {
        key: None for key in load_file(tmp_path / NAME) if key.startswith(("memory.last.row", "memory.best.row"))
    }
    with safe_open(tmp_path / NAME, framework="pt") as file:
        order = [key for key in json.loads(file.metadata()["run"])["order"] if key not in lacking]
    run = lsat.Run.resume(spoilt(tmp_path / NAME, tmp_path, tensors=lacking, said={"order": order}), data_of())
    with pytest.raises(ValueError, match=r"is damaged \(KeyError 'row'\): begin a new run, such as"):
        next(run.steps())
    assert next(lsat.Run(run.recipe, run.data, run.omega).steps()).number == 0


def test_a_header_that_lies_about_sizes_is_refused_before_memory_is_taken(kept, tmp_path):
    content = kept.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    for shape, offsets in [([10**9, 10**6], [0, 8 * 10**15]), ([10**12], None), ([2**62, 4], None)]:
        lying = {**header, "table": {**header["table"], "shape": shape}}
        lying["table"]["data_offsets"] = offsets or header["table"]["data_offsets"]
        text = json.dumps(lying).encode()
        (tmp_path / NAME).write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
        with pytest.raises(ValueError, match="is cut off, or is no checkpoint"):
            lsat.Run.resume(tmp_path, data_of())
    (tmp_path / NAME).write_bytes(struct.pack("<Q", 2**60) + content[8:])
    with pytest.raises(ValueError, match="is cut off, or is no checkpoint"):
        lsat.Run.resume(tmp_path, data_of())


def test_a_run_that_has_not_ended_is_not_replaced_by_another(kept, tmp_path):
    shutil.copy(kept, tmp_path / NAME)
    for status in ("running", "stopped_by_user"):
        spoilt(tmp_path / NAME, tmp_path, said={"status": status})
        there = (tmp_path / NAME).read_bytes()
        with pytest.raises(ValueError, match=r"holds a run that has not ended: lsat\.Run\.resume\("):
            lsat.tune(lsat.Recipe(), data_of(), progress=False, checkpoint=tmp_path)
        assert (tmp_path / NAME).read_bytes() == there
    run = lsat.tune(lsat.Recipe(), data_of(), progress=False, checkpoint=Checkpoint(tmp_path, replace=True))
    assert len(lsat.Run.resume(tmp_path, data_of()).iterates) == len(run.iterates)


def test_a_run_that_has_ended_is_replaced_by_itself_alone(tmp_path):
    recipe, data = lsat.Recipe(), data_of()
    first = lsat.tune(recipe, data, progress=False, checkpoint=tmp_path)
    again = lsat.tune(recipe, data, progress=False, checkpoint=tmp_path)  # the cell is run again
    assert [one.loss for one in again.iterates] == [one.loss for one in first.iterates]

    there = (tmp_path / NAME).read_bytes()
    other = lsat.Recipe(method=lsat.LBFGS(max_iterations=2))
    moved = {name: value + 1.0 for name, value in first.omega.items()}
    for recipe_of, data_then, omega in [(other, data, None), (recipe, make_data(seed=1), None), (recipe, data, moved)]:
        with pytest.raises(
            ValueError, match=r"holds another run \(converged\), which would be lost: give another folder"
        ):
            lsat.Run(recipe_of, data_then, omega, checkpoint=tmp_path)
    assert (tmp_path / NAME).read_bytes() == there

    again.change(other)
    list(again.steps())  # the run's own file, which its first recipe does not lead to any more
    with pytest.raises(ValueError, match="holds another run"):
        lsat.Run(again.recipe, data, checkpoint=tmp_path)


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file: give the name of a folder"):
        lsat.Run(lsat.Recipe(), data_of(), checkpoint=tmp_path / "file")
    for given, why in [(5, "checkpoint is 5"), (True, "checkpoint is True")]:
        with pytest.raises(ValueError, match=f"{why}, expected a folder or lsat.Checkpoint"):
            lsat.Run(lsat.Recipe(), data_of(), checkpoint=given)
    for given, why in [
        ({"folder": 5}, "folder is 5"),
        ({"folder": "a", "iterations": 0}, "iterations is 0"),
        ({"folder": "a", "seconds": -1}, "seconds is -1"),
        ({"folder": "a", "seconds": math.nan}, "seconds is nan"),
        ({"folder": "a", "replace": 1}, "replace is 1"),
    ]:
        with pytest.raises(ValueError, match=f"Checkpoint: {why}"):
            Checkpoint(**given)
    assert eval(repr(Checkpoint(tmp_path, 3, 2.0))) == Checkpoint(str(tmp_path), 3, 2.0)
