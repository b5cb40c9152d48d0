"""Checkpoints: a run that was broken off goes on as if it never had been, to the last bit of every number."""

from __future__ import annotations

import itertools
import signal

import pytest
import torch
from safetensors.torch import load_file
from tqdm import tqdm

import lsat_explorer as lsat
from checkpoints import CASES, ENDLESS, FULL, always, bits, data_of, goes_on, kept_at, same
from lsat_explorer import Checkpoint, Status
from lsat_explorer.solve.precision import SINGLE, Precision
from lsat_explorer.tune import iterates as iterates_module
from lsat_explorer.tune.checkpoint_file import NAME
from test_methods import stopping_data

every_case = pytest.mark.parametrize("recipe", CASES.values(), ids=CASES)


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
    def rough(self, objective, unit=1.0):
        return (0.045 if self is SINGLE else self.noise) * max(unit, abs(objective))

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
