"""On from an earlier iterate: the same point, the same rows, another run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.engines import Interrupted

LAMBDA = {"data_weights.log_weight": lsat.SumSquares(0.5) + lsat.ZeroSum()}


@pytest.fixture(scope="module")
def run() -> lsat.Run:
    recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=1)
    return lsat.tune(
        recipe.replace(method=lsat.ProximalGradient(max_iterations=6)), lsat.datasets.digits(), progress=False
    )


def test_a_branch_begins_where_the_iterate_was(run: lsat.Run) -> None:
    branch = run.branch(4)
    first, second = (iterate for iterate, _ in zip(branch.steps(), range(2), strict=False))
    assert first.number == 0
    assert first.objective == pytest.approx(run.iterates[4].objective, rel=1e-12)
    assert first.loss == pytest.approx(run.iterates[4].loss, rel=1e-12)
    assert second.objective <= first.objective
    assert len(run.iterates) == 7
    assert branch.problem is not None
    assert run.problem is not None
    assert branch.problem.prepared is run.problem.prepared


def test_a_branch_takes_other_penalties_and_no_other_pieces(run: lsat.Run) -> None:
    branch = run.branch(4, run.recipe.replace(hyper_penalties=LAMBDA))
    first = next(iter(branch.steps()))
    assert first.loss == pytest.approx(run.iterates[4].loss, rel=1e-12)
    assert first.penalty == pytest.approx(500 * run.iterates[4].penalty, rel=1e-9)
    other = run.recipe.replace(seed=3)
    for recipe, names in ((other, "seed"), (other.replace(criterion=lsat.KFold(3)), "criterion, seed")):
        said = rf"branch\(\) takes other hyper-penalties, .* but this recipe differs in {names}: start a new Run\.$"
        with pytest.raises(ValueError, match=said):
            run.branch(4, recipe)


def test_what_is_frozen_in_a_branch_stays_at_its_value(run: lsat.Run) -> None:
    name = "featurizer.archetypes.log_scale"
    frozen = run.recipe.replace(hyper_penalties={**run.recipe.hyper_penalties, name: lsat.Frozen()})
    branch = run.branch(6, frozen)
    *_, last = branch.steps()
    assert torch.equal(last.omega[name], run.iterates[6].omega[name])
    back = branch.branch(0, run.recipe)  # and is tuned again from there
    assert next(iter(back.steps())).loss == pytest.approx(run.iterates[6].loss, rel=1e-9)


def test_stopping_a_branch_ends_its_iteration_and_no_other_run(run: lsat.Run) -> None:
    branch = run.branch(4)
    steps = branch.steps()
    next(steps)
    branch.stop()
    assert branch.problem is not None
    assert run.problem is not None
    branch._pulling = True
    with pytest.raises(Interrupted):
        branch.problem.evaluate(branch.iterates[0].omega)
    run.problem.evaluate(run.iterates[0].omega)
    branch._pulling = False
    assert next(steps).status is lsat.Status.STOPPED_BY_USER


def test_a_saved_branch_keeps_where_it_began(run: lsat.Run, tmp_path: Path) -> None:
    branch = run.branch(4)
    for _ in branch.steps():
        pass
    branch.save(tmp_path / "branch")
    loaded = lsat.Run.load(tmp_path / "branch", run.data)
    assert loaded.start is not None
    assert all(torch.equal(loaded.start[name], value) for name, value in run.iterates[4].omega.items())
    again = lsat.Run(loaded.recipe, run.data, loaded.start)
    assert next(iter(again.steps())).objective == pytest.approx(run.iterates[4].objective, rel=1e-12)
    run.save(tmp_path / "branch")
    assert lsat.Run.load(tmp_path / "branch").start is None


def test_a_branch_is_refused_where_there_is_nothing_to_begin_at(run: lsat.Run, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no iterate True: there"):
        run.branch(True)
    with pytest.raises(ValueError, match="no iterate 99: there are those from 0 to 6"):
        run.branch(99)
    with pytest.raises(ValueError, match="there are none yet"):
        lsat.Run(run.recipe, run.data).branch(0)
    for recipe in (5, 0):
        with pytest.raises(ValueError, match=rf"branch\(\) got {recipe}, expected a Recipe"):
            run.branch(2, recipe=recipe)
    run.save(tmp_path)
    loaded = lsat.Run.load(tmp_path, run.data)
    assert next(iter(loaded.branch(6).steps())).loss == pytest.approx(run.iterates[6].loss, rel=1e-9)
    with pytest.raises(ValueError, match=r"2 is kept without data_weights\.log_weight: .* branch from 6, the nearest"):
        loaded.branch(2)
    with pytest.raises(ValueError, match="loaded without its rows"):
        lsat.Run.load(tmp_path).branch(6)


def test_what_a_given_start_leaves_out_begins_where_the_recipe_begins(run: lsat.Run) -> None:
    name = "regularizer.smooth.log_weight"
    begun = next(iter(lsat.Run(run.recipe, run.data, {name: torch.tensor(-3.0, dtype=torch.float64)}).steps()))
    assert float(begun.omega[name]) == -3.0
    others = {other: value for other, value in begun.omega.items() if other != name}
    assert all(torch.equal(value, run.iterates[0].omega[other]) for other, value in others.items())


def test_a_run_knows_its_last_possible_iterate(run: lsat.Run) -> None:
    fresh = lsat.Run(run.recipe.replace(method=lsat.ProximalGradient(max_iterations=3, tolerance=0.0)), run.data)
    assert fresh.limit is None
    for _ in fresh.steps():
        pass
    assert fresh.limit == fresh.iterates[-1].number == 3
    next(iter(fresh.steps()))
    assert fresh.limit == 7


@pytest.mark.parametrize("loss", [lsat.CrossEntropy(), None], ids=repr)
def test_a_branch_takes_another_number_of_the_loss_and_its_new_entry_of_omega(loss: lsat.CrossEntropy | None) -> None:
    run = lsat.tune(lsat.Recipe(loss=loss), lsat.datasets.digits(), progress=False)
    warmer = run.recipe.replace(loss=lsat.CrossEntropy(temperature=True))
    first = next(iter(run.branch(1, warmer).steps()))
    assert first.loss == pytest.approx(run.iterates[1].loss, rel=1e-9)
    assert "loss.log_temperature" in first.omega
