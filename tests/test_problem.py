"""F, its gradient against finite differences of F, and its value against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.metrics import log_loss

import lsat_explorer as lsat
from lsat_explorer.engines.memory import MemoryRows
from lsat_explorer.solve.gram import CHUNK, READ
from lsat_explorer.solve.precision import DOUBLE, SINGLE


def make_data(task: str = "classification", rows: int = 90, d: int = 6, seed: int = 0) -> lsat.Data:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, d)) * np.linspace(0.5, 3.0, d) + np.arange(d)
    score = X @ generator.normal(size=(d, 3)) + generator.normal(size=(rows, 3))
    y = np.array(["red", "green", "blue"])[score.argmax(1)] if task == "classification" else score[:, :2]
    return lsat.Data.from_arrays(X, y, task=task, validation=0.3, test=0.2, seed=seed)


ARCHETYPES = lsat.Concat(x=lsat.Identity(), archetypes=lsat.KMeansArchetypes(per_class=2), one=lsat.Constant())
STACK = lsat.Stack(
    ridge=lsat.Ridge(block="x", log_weight=0.2),
    archetype_ridge=lsat.Ridge(block="archetypes", log_weight=-0.5),
    smooth=lsat.Smooth(lsat.graphs.path(6), block="x", log_weight=0.1),
)
WEIGHTED = {"data_weights": lsat.LogWeights(), "hyper_penalties": {}}
CASES = {
    "ridge": (lsat.Recipe(), "classification"),
    "regression": (lsat.Recipe(), "regression"),
    "scale": (
        lsat.Recipe(featurizer=lsat.Concat(x=lsat.Scale(), one=lsat.Constant()), regularizer=lsat.Ridge(block="x")),
        "classification",
    ),
    "temperature": (lsat.Recipe(loss=lsat.CrossEntropy(temperature=True)), "classification"),
    "archetypes": (lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK), "classification"),
    "archetypes of all rows": (lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK), "regression"),
    "two blocks that move": (
        lsat.Recipe(
            featurizer=lsat.Concat(x=lsat.Scale(), archetypes=lsat.KMeansArchetypes(per_class=2), raw=lsat.Identity()),
            regularizer=lsat.Ridge(),
        ),
        "classification",
    ),
    "row weights": (lsat.Recipe(**WEIGHTED), "classification"),
    "row weights and archetypes": (lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, **WEIGHTED), "regression"),
    "no constant": (lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge()), "regression"),
}
cases = pytest.mark.parametrize(("recipe", "task"), CASES.values(), ids=CASES)


def moved(omega: dict[str, torch.Tensor], seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {k: v + 0.1 * torch.randn(v.shape, generator=generator, dtype=torch.float64) for k, v in omega.items()}


@cases
def test_gradients_against_a_directional_difference_of_the_loss(recipe, task):
    """Case 18: every entry of ω, one at a time and all together, to 1e-6 relative."""
    problem = lsat.Problem(recipe, make_data(task))
    omega = moved(problem.init(), 1)
    gradient = problem.gradient(problem.evaluate(omega))
    assert set(gradient) == set(problem.tuned) == set(omega)
    generator = torch.Generator().manual_seed(2)
    direction = {k: torch.randn(v.shape, generator=generator, dtype=torch.float64) for k, v in omega.items()}
    h = 1e-5
    for names in [*([name] for name in omega), list(omega)]:
        ahead, behind = (
            problem.evaluate({k: v + s * h * direction[k] if k in names else v for k, v in omega.items()}).loss
            for s in (1, -1)
        )
        expected = (ahead - behind) / (2 * h)
        found = sum(float((gradient[name] * direction[name]).sum()) for name in names)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-8), names


@cases
def test_gradients_in_float32_agree_with_float64(recipe, task):
    data = make_data(task)
    exact, single = lsat.Problem(recipe, data), lsat.Problem(recipe.replace(dtype="float32"), data)
    omega = moved(exact.init(), 1)
    a, b = exact.evaluate(omega), single.evaluate(omega)
    assert b.loss == pytest.approx(a.loss, rel=1e-5)
    for name, value in exact.gradient(a).items():
        assert (single.gradient(b)[name] - value).norm() <= 1e-3 * value.norm() + 1e-6, name


def test_oracle_scikit_learn():
    data = make_data()
    problem = lsat.Problem(lsat.Recipe(), data)
    omega = {"regularizer.log_weight": torch.tensor(0.4, dtype=torch.float64)}
    at = problem.evaluate(omega)
    X, V = data.train.inputs.numpy(), data.validation.inputs.numpy()
    mean, deviation = X.mean(0), X.std(0)
    ridge = SklearnRidge(alpha=np.exp(0.8)).fit((X - mean) / deviation, data.train.targets.numpy())
    scores = ridge.predict((V - mean) / deviation)
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert at.loss == pytest.approx(log_loss(data.validation.targets.argmax(1), p), rel=1e-12)
    assert at.error == np.mean(scores.argmax(1) != data.validation.targets.argmax(1).numpy())
    assert np.allclose(at.predictions.numpy(), scores, atol=1e-12)


def test_features_are_prepared_on_training_rows_only():
    data = make_data()
    shifted = lsat.Data(
        data.train,
        lsat.Split(data.validation.inputs + 100, data.validation.targets, data.validation.labels, data.validation.rows),
        None,
        task=data.task,
        classes=data.classes,
        feature_names=data.feature_names,
    )
    for featurizer in (ARCHETYPES, lsat.Concat(x=lsat.Scale(), archetypes=lsat.Constant())):
        recipe = lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge())
        a, b = (lsat.Problem(recipe, d).prepared.state() for d in (data, shifted))
        assert a.keys() == b.keys()
        assert all(torch.equal(a[name], b[name]) for name in a)


def test_frozen_entries_have_no_gradient_and_do_not_move():
    recipe = lsat.Recipe(
        featurizer=ARCHETYPES,
        regularizer=STACK,
        hyper_penalties={
            "featurizer.archetypes.log_scale": lsat.Frozen(),
            "regularizer.ridge.log_weight": lsat.Frozen(),
        },
    )
    problem = lsat.Problem(recipe, make_data())
    assert problem.tuned == ("regularizer.archetype_ridge.log_weight", "regularizer.smooth.log_weight")
    at = problem.evaluate(problem.init())
    assert not any(moving.blocks for moving in at.moving)
    free = lsat.Problem(recipe.replace(hyper_penalties={}), make_data())
    assert at.loss == pytest.approx(free.evaluate(free.init()).loss, rel=1e-12)


def test_log_units_are_boxed_around_their_start():
    problem = lsat.Problem(lsat.Recipe(), make_data())
    far = problem.prox({"regularizer.log_weight": torch.tensor(50.0, dtype=torch.float64)}, 1.0)
    assert float(far["regularizer.log_weight"]) == 8.0


def test_a_failed_solve_is_an_infinite_objective_with_advice():
    # Case 1: ridge weights of e^{-40} on dependent columns.
    data = make_data()
    recipe = lsat.Recipe(
        featurizer=lsat.Concat(a=lsat.Identity(), b=lsat.Identity()),
        regularizer=lsat.Ridge(log_weight=-20.0),
    )
    at = lsat.Problem(recipe, data).evaluate({"regularizer.log_weight": torch.tensor(-20.0, dtype=torch.float64)})
    assert at.objective == np.inf
    assert "raise regularizer.log_weight" in at.outcome.sentence


def test_noise_free_data_are_fitted_exactly_with_a_tiny_ridge():
    # Case 1: λ = e^{-36} ≈ 2e-16.
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 5))
    data = lsat.Data.from_arrays(X, X @ generator.normal(size=5), task="regression")
    recipe = lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge(log_weight=-18.0))
    at = lsat.Problem(recipe, data).evaluate({"regularizer.log_weight": torch.tensor(-18.0, dtype=torch.float64)})
    assert at.error < 1e-8


def test_rows_in_several_chunks_give_the_same_sums():
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(2 * CHUNK + 77, 5, generator=generator, dtype=torch.float64)
    Y = torch.randn(len(X), 2, generator=generator, dtype=torch.float64)
    w = 0.2 * torch.randn(len(X), generator=generator, dtype=torch.float64)
    featurizer = lsat.Concat(x=lsat.Identity(), archetypes=lsat.KMeansArchetypes(per_class=3, n_init=1))
    prepared = featurizer.prepare(X, Y, torch.Generator().manual_seed(0))
    omega = prepared.init()
    features = torch.cat(list(prepared.blocks(omega, X).values()), 1)
    for moving in (set(), {"archetypes"}):
        rows = MemoryRows(prepared, X, Y, omega, moving, precision=DOUBLE, device=torch.device("cpu"))
        at = rows.moving(omega)
        for log_weight in (None, w):
            scaled = features if log_weight is None else features * log_weight.exp()[:, None]
            target = Y if log_weight is None else Y * log_weight.exp()[:, None]
            moments = rows.moments(at, log_weight)
            assert torch.allclose(moments.gram, scaled.mT @ scaled, rtol=1e-11)
            assert torch.allclose(moments.cross, scaled.mT @ target, rtol=1e-9, atol=1e-9)
        theta = torch.randn(features.shape[1], 2, generator=generator, dtype=torch.float64)
        assert torch.allclose(rows.predict(at, theta), features @ theta)
        assert torch.allclose(rows.transposed(at, Y), features.mT @ Y)
        weighted = (2 * w).exp()[:, None] * (Y - features @ theta)
        assert torch.allclose(rows.normal_residual(at, theta, w), features.mT @ weighted)


@pytest.mark.parametrize("weights", [None, 0.3], ids=["rows that weigh one", "row weights"])
def test_rows_that_are_seldom_read_are_the_same_rows_without_a_copy(weights):
    generator = torch.Generator().manual_seed(0)
    X = 50 + 3 * torch.randn(READ + 77, 5, generator=generator, dtype=torch.float32)
    Y = torch.randn(len(X), 2, generator=generator, dtype=torch.float64)
    featurizer = lsat.Concat(x=lsat.Scale(tuned=False), raw=lsat.Identity(), one=lsat.Constant())
    prepared = featurizer.prepare(X, Y, generator)
    log_weight = None if weights is None else weights * torch.randn(len(X), generator=generator, dtype=torch.float64)
    options = {"precision": DOUBLE, "device": torch.device("cpu"), "log_weight": log_weight}
    stored, read = (MemoryRows(prepared, X, Y, {}, set(), seldom=seldom, **options) for seldom in (False, True))
    at = stored.moving({})
    assert torch.equal(read.moments(at).gram, stored.moments(at).gram)
    assert torch.equal(read.moments(at).cross, stored.moments(at).cross)
    theta = torch.randn(11, 2, generator=generator, dtype=torch.float64)
    assert torch.allclose(read.predict(at, theta), stored.predict(at, theta), rtol=1e-13)
    assert torch.equal(read.transposed(at, Y), stored.transposed(at, Y))
    kept = {name for name, block in read._still.items() if isinstance(block, torch.Tensor)}
    assert kept == {"one"}


def _rows(X, Y, precision, **options):
    """Rows of still features with columns of zeros among them, as float64 and as `MemoryRows`."""
    X = X.clone()
    X[:, [0, 3, 4]] = 0.0
    prepared = lsat.Identity().prepare(X, Y, torch.Generator())
    return X, MemoryRows(prepared, X, Y, {}, set(), precision=precision, device=torch.device("cpu"), **options)


def test_row_weights_near_one_cost_the_sums_little_of_their_precision():
    generator = torch.Generator().manual_seed(0)
    X = (100 * torch.rand(3 * CHUNK + 5, 30, generator=generator)).double()
    Y = torch.rand(len(X), 2, generator=generator).double()
    w = 0.01 * torch.randn(len(X), generator=generator, dtype=torch.float64)
    X, rows = _rows(X.float().double(), Y, SINGLE)
    exact = X.mT @ ((2 * w).exp()[:, None] * X)
    moments = rows.moments(rows.moving({}), w)
    in_float32 = (X.float().mT @ ((2 * w).exp()[:, None].float() * X.float())).double()
    assert (moments.gram - exact).norm() < 0.2 * (in_float32 - exact).norm()
    assert (moments.gram - exact).norm() < 2e-8 * exact.norm()
    assert torch.equal(moments.gram, moments.gram.mT)


def test_a_weight_of_nothing_takes_an_outlier_out_of_the_sums():
    # Subtracting the row's 1e16 from sums that hold it would leave nothing of the others.
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(500, 9, generator=generator, dtype=torch.float64)
    Y = torch.randn(500, 1, generator=generator, dtype=torch.float64)
    w = torch.zeros(500, dtype=torch.float64)
    X[7], w[7] = 1e8, -torch.inf
    X, rows = _rows(X, Y, SINGLE)
    others = torch.arange(500) != 7
    moments = rows.moments(rows.moving({}), w)
    assert torch.allclose(moments.gram, X[others].mT @ X[others], rtol=1e-5, atol=1e-3)
    assert torch.allclose(moments.cross, X[others].mT @ Y[others], rtol=1e-5, atol=1e-3)


def test_weights_that_stand_still_are_part_of_what_is_formed_once():
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(300, 9, generator=generator, dtype=torch.float64)
    Y = torch.randn(300, 1, generator=generator, dtype=torch.float64)
    w = torch.randn(300, generator=generator, dtype=torch.float64)
    X, rows = _rows(X, Y, DOUBLE, log_weight=w)
    moments = rows.moments(rows.moving({}))
    assert torch.allclose(moments.gram, X.mT @ ((2 * w).exp()[:, None] * X), rtol=1e-12, atol=1e-12)
    assert rows.moments(rows.moving({})) is moments


def test_held_row_weights_count_in_a_fit_of_which_only_the_regularizer_is_tuned():
    data, weights = make_data(), lsat.LogWeights()
    recipe = lsat.Recipe(data_weights=weights, hyper_penalties={"data_weights.log_weight": lsat.Frozen()})
    held = {"data_weights.log_weight": torch.linspace(-1, 1, len(data.train), dtype=torch.float64)}
    problem = lsat.Problem(recipe, data, held=held)
    at = problem.evaluate({**problem.init(), **held})
    tuned = lsat.Problem(lsat.Recipe(data_weights=weights), data)
    other = tuned.evaluate({**tuned.init(), **held})
    assert at.loss == pytest.approx(other.loss, rel=1e-5)
    assert at.loss != pytest.approx(tuned.evaluate(tuned.init()).loss, rel=1e-3)


def test_the_training_loss_is_the_same_with_what_the_gradient_has_formed():
    recipe, task = CASES["row weights and archetypes"]
    problem = lsat.Problem(recipe, make_data(task))
    at = problem.evaluate(problem.init())
    before = problem.training_loss(problem.evaluate(at.omega))
    problem.gradient(at, beside=True)
    assert list(at.fitted) == [0]
    assert problem.training_loss(at) == at.beside["training"] == pytest.approx(before, rel=1e-12)


def test_tuning_of_regularizers_alone_reads_the_training_rows_once(monkeypatch):
    problem = lsat.Problem(lsat.Recipe(), make_data())
    problem.evaluate(problem.init())
    reads = []
    for name in ("predict", "transposed", "chunks"):
        method = getattr(MemoryRows, name)
        monkeypatch.setattr(MemoryRows, name, lambda rows, *a, f=method: (reads.append(rows), f(rows, *a))[1])
    monkeypatch.setattr("lsat_explorer.engines.memory.gram", lambda *a, **k: pytest.fail("the sums are known"))
    at = problem.evaluate({"regularizer.log_weight": torch.tensor(1.0, dtype=torch.float64)})
    problem.gradient(at)
    assert reads
    assert all(rows is problem.parts[1].rows for rows in reads)


def test_rows_whose_features_are_the_inputs_are_not_copied():
    X = torch.randn(50, 4)
    rows = MemoryRows(
        lsat.Identity().prepare(X, X[:, :1], torch.Generator()),
        X,
        X[:, :1],
        {},
        set(),
        precision=SINGLE,
        device=torch.device("cpu"),
    )
    assert next(iter(rows._still.values())).data_ptr() == X.data_ptr()


@pytest.mark.parametrize(
    ("changes", "task", "message"),
    [
        ({"regularizer": lsat.Ridge(block="pixles")}, "classification", "no block 'pixles'"),
        ({"regularizer": lsat.Smooth(lsat.graphs.grid(3, 3), block="features")}, "classification", "9 nodes and block"),
        (
            {"featurizer": lsat.Identity()},
            "classification",
            r"no named blocks; .* Recipe\(regularizer=lsat.Ridge\(\)\)",
        ),
        ({"loss": lsat.CrossEntropy()}, "regression", "needs classes"),
        ({"device": "tpu"}, "classification", "'tpu' is not available"),
        ({"device": "mps"}, "classification", "no float64, which every factor needs"),
        ({"hyper_penalties": {"regularizer.log_wieght": lsat.Frozen()}}, "classification", "did you mean"),
    ],
)
def test_a_recipe_that_does_not_fit_the_data_is_refused_by_name(changes, task, message):
    with pytest.raises(ValueError, match=message):
        lsat.Problem(lsat.Recipe(**changes), make_data(task))
