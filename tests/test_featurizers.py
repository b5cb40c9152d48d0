"""What holds for every featurizer: gradients through the whole F, rows in chunks, training rows only, files."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.model.piece import within
from lsat_explorer.model.prepared import Featurizer
from pieces import COLUMNS, examples
from test_problem import make_data, moved


def short(piece: object) -> str:
    return repr(piece)[:70]


FEATURIZERS = examples(Featurizer)
every = pytest.mark.parametrize("featurizer", FEATURIZERS, ids=short)
X = torch.from_numpy(np.random.default_rng(5).normal(size=(60, COLUMNS)) * np.linspace(0.5, 2, COLUMNS) + 1)
Y = torch.nn.functional.one_hot(torch.arange(60) % 3).double()


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def recipe_for(featurizer: Featurizer, **changes) -> lsat.Recipe:
    return lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge(), **changes)


def check_gradients(recipe: lsat.Recipe, data: lsat.Data) -> None:
    """Case 18: the directional difference of F for every entry of ω, one at a time and all together, to 1e-5."""
    problem = lsat.Problem(recipe, data)
    omega = moved(problem.init(), 1)
    gradient = problem.gradient(problem.evaluate(omega))
    assert set(gradient) == set(problem.tuned) == set(omega)
    draw = torch.Generator().manual_seed(2)
    direction = {k: torch.randn(v.shape, generator=draw, dtype=torch.float64) for k, v in omega.items()}
    h = 1e-5
    for names in [*([name] for name in omega), list(omega)]:
        ahead, behind = (
            problem.evaluate({k: v + s * h * direction[k] if k in names else v for k, v in omega.items()}).loss
            for s in (1, -1)
        )
        found = sum(float((gradient[name] * direction[name]).sum()) for name in names)
        assert found == pytest.approx((ahead - behind) / (2 * h), rel=1e-5, abs=1e-8), names


@every
def test_gradients_of_featurizers(featurizer):
    check_gradients(recipe_for(featurizer), make_data(d=COLUMNS))


@every
def test_gradients_of_featurizers_in_float32_agree_with_float64(featurizer):
    data = make_data("regression", d=COLUMNS)
    exact, single = (lsat.Problem(recipe_for(featurizer, dtype=dtype), data) for dtype in ("float64", "float32"))
    omega = moved(exact.init(), 1)
    a, b = exact.evaluate(omega), single.evaluate(omega)
    assert b.loss == pytest.approx(a.loss, rel=1e-4)
    for name, value in exact.gradient(a).items():
        assert (single.gradient(b)[name] - value).norm() <= 1e-2 * value.norm() + 1e-4, name


@pytest.mark.cuda
@every
def test_gradients_of_featurizers_on_cuda_agree_with_the_cpu(featurizer):
    data = make_data(d=COLUMNS)
    here, there = (lsat.Problem(recipe_for(featurizer, device=device), data) for device in ("cpu", "cuda"))
    omega = moved(here.init(), 1)
    a, b = here.evaluate(omega), there.evaluate({name: value.cuda() for name, value in omega.items()})
    assert b.loss == pytest.approx(a.loss, rel=1e-9)
    for name, value in here.gradient(a).items():
        assert torch.allclose(there.gradient(b)[name].cpu(), value, rtol=1e-6, atol=1e-9), name


@every
def test_features_act_row_by_row_and_keep_the_dtype(featurizer):
    prepared = featurizer.prepare(X, Y, generator())
    omega = moved(prepared.init(), 0)
    whole = torch.cat(list(prepared.blocks(omega, X).values()), 1)
    parts = [torch.cat(list(prepared.blocks(omega, chunk).values()), 1) for chunk in X.split(7)]
    assert torch.allclose(whole, torch.cat(parts), atol=1e-12)
    assert whole.shape == (60, max(columns.stop for columns in prepared.columns().values()))
    assert torch.isfinite(whole).all()
    for name, block in prepared.parts.items():
        local = {k.removeprefix(f"{name}."): v for k, v in omega.items() if not name or k.startswith(f"{name}.")}
        assert block.features(local, block.precompute(X).float()).dtype == torch.float32


@every
def test_features_that_are_written_to_a_place_are_the_same_bits(featurizer):
    prepared = featurizer.prepare(X, Y, generator())
    omega = moved(prepared.init(), 0)
    for name, block in prepared.parts.items():
        local, computed = within(name, omega), block.precompute(X).float()
        place = torch.full((len(X) + 2, block.width), torch.nan, dtype=torch.float32)
        before = computed.clone()
        block.write(local, computed, place[1:-1])
        assert torch.equal(place[1:-1], block.features(local, computed))
        assert torch.equal(computed, before)
        assert bool(place[[0, -1]].isnan().all())


@every
def test_preparation_is_the_same_for_the_same_seed_and_leaves_inputs_alone(featurizer):
    before = X.clone()
    a, b = (featurizer.prepare(X, Y, generator()).state() for _ in range(2))
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert torch.equal(X, before)


@every
def test_featurizers_are_prepared_on_training_rows_only(featurizer):
    data = make_data(d=COLUMNS)
    other = data.validation
    shifted = lsat.Split(100 * other.inputs + 7, other.targets, other.labels, other.rows)
    elsewhere = lsat.Data(
        data.train, shifted, None, task=data.task, classes=data.classes, feature_names=data.feature_names
    )
    a, b = (lsat.Problem(recipe_for(featurizer), d).prepared.state() for d in (data, elsewhere))
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


@every
def test_the_names_of_blocks_are_known_before_they_are_prepared(featurizer):
    for one in (featurizer, lsat.Concat(outer=lsat.Concat(inner=featurizer, one=lsat.Constant()), raw=lsat.Identity())):
        assert one.block_names() == tuple(one.prepare(X, Y, generator()).parts)


def test_an_unknown_block_is_refused_before_features_are_prepared(monkeypatch):
    def never(*given):
        raise AssertionError("the features were prepared")

    monkeypatch.setattr(lsat.LowRank, "block", never)
    featurizer = lsat.Concat(outer=lsat.Concat(map=lsat.LowRank(2)), one=lsat.Constant())
    recipe = lsat.Recipe(featurizer=featurizer, regularizer=lsat.Stack(ridge=lsat.Ridge(block="outer.mapp")))
    with pytest.raises(ValueError, match=r"There is no block 'outer.mapp'.*'outer.map'"):
        lsat.Problem(recipe, make_data(d=COLUMNS))


@every
def test_fitted_models_round_trip_through_a_file(featurizer, tmp_path):
    data = make_data(d=COLUMNS)
    run = lsat.tune(recipe_for(featurizer, method=lsat.ProximalGradient(max_iterations=2)), data, progress=False)
    run.model.save(tmp_path / "model.safetensors")
    again = lsat.FittedModel.load(tmp_path / "model.safetensors")
    inputs = data.validation.inputs.numpy()
    assert np.array_equal(again.decision_function(inputs), run.model.decision_function(inputs))
    assert again.blocks == run.model.blocks
    start = run.problem.prepared.init()
    assert again.prepared.init().keys() == start.keys()
    assert all(torch.equal(again.prepared.init()[name], start[name]) for name in start)


@every
def test_tuning_never_raises_the_objective(featurizer):
    run = lsat.tune(
        recipe_for(featurizer, method=lsat.ProximalGradient(max_iterations=5)), make_data(d=COLUMNS), progress=False
    )
    assert np.isfinite([iterate.objective for iterate in run.iterates]).all()
    assert run.iterates[-1].objective <= run.iterates[0].objective


def test_a_row_that_is_an_archetype_has_finite_gradients_in_a_chain():
    featurizer = lsat.Chain(lsat.Scale(), lsat.KMeansArchetypes(per_class=60))
    problem = lsat.Problem(recipe_for(featurizer), make_data(d=COLUMNS))
    gradient = problem.gradient(problem.evaluate(problem.init()))
    assert all(torch.isfinite(value).all() for value in gradient.values())


def test_a_chain_inside_a_concat_is_a_block_that_a_regularizer_can_name():
    featurizer = lsat.Concat(bent=lsat.Chain(lsat.Scale(tuned=False), lsat.PowerTransform()), one=lsat.Constant())
    recipe = lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge(block="bent"))
    problem = lsat.Problem(recipe, make_data(d=COLUMNS))
    assert problem.tuned == (
        "featurizer.bent.power_transform.centre",
        "featurizer.bent.power_transform.exponent",
        "regularizer.log_weight",
    )
    check_gradients(recipe, make_data(d=COLUMNS))
    held = recipe.replace(hyper_penalties={name: lsat.Frozen() for name in problem.tuned[:2]})
    check = lsat.Problem(held, make_data(d=COLUMNS))
    assert check.evaluate(check.init()).loss == pytest.approx(problem.evaluate(problem.init()).loss, rel=1e-12)
