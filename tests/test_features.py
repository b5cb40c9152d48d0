"""Each featurizer against an oracle of its own: scipy, scikit-learn, numpy, a naive loop, or by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.interpolate import BSpline, PPoly
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances

import lsat_explorer as lsat
from lsat_explorer.model.featurizers.power import signed_power
from pieces import COLUMNS
from test_featurizers import X, Y, generator, recipe_for
from test_problem import make_data, moved


def test_power_transform_oracle_by_hand():
    z = torch.tensor([-4.0, -1.0, 0.0, 0.25, 9.0], dtype=torch.float64)
    half, nothing = (signed_power(z, torch.tensor(g, dtype=torch.float64)) for g in (0.5, 0.0))
    assert half.tolist() == [-2.0, -1.0, 0.0, 0.5, 3.0]
    assert nothing.tolist() == [-1.0, -1.0, 0.0, 1.0, 1.0]
    numpy = np.sign(X.numpy() - 0.3) * np.abs(X.numpy() - 0.3) ** 1.7
    prepared = lsat.PowerTransform(shared=True).prepare(X, Y, generator())
    omega = {"centre": torch.tensor(0.3, dtype=torch.float64), "exponent": torch.tensor(1.7, dtype=torch.float64)}
    assert np.allclose(prepared.blocks(omega, X)[""].numpy(), numpy, atol=1e-13)


def test_power_transform_gradients_at_the_centre_and_at_exponent_zero():
    z = torch.tensor([0.0, 2.0, -3.0], dtype=torch.float64, requires_grad=True)
    cases = {0.0: [0, 0, 0], 0.5: [0, 0.5 * 2**-0.5, 0.5 * 3**-0.5], 1.0: [1, 1, 1], 2.0: [0, 4, 6]}
    for value, expected in cases.items():
        exponent = torch.full((3,), value, dtype=torch.float64, requires_grad=True)
        slope, power = torch.autograd.grad(signed_power(z, exponent).sum(), [z, exponent])
        assert slope.tolist() == pytest.approx(expected)
        assert power.tolist() == pytest.approx([0, 2**value * np.log(2), -(3**value) * np.log(3)])


def test_power_transform_starts_at_the_centred_identity_and_keeps_exponents_from_zero():
    prepared = lsat.PowerTransform().prepare(X, Y, generator())
    assert torch.allclose(prepared.blocks(prepared.init(), X)[""], X - X.mean(0))
    assert prepared.hyper_penalties() == {"exponent": lsat.Box(0.0, 8.0)}
    assert lsat.PowerTransform(shared=True).prepare(X, Y, generator()).init()["exponent"].shape == ()


@pytest.mark.parametrize(("degree", "continuity"), [(1, 0), (2, 1), (3, 2), (3, 0), (5, 2)])
def test_spline_is_continuous_at_the_knots_whatever_its_coefficients(degree, continuity):
    """Oracle: scipy's piecewise polynomials with the projected coefficients, derivatives from both sides."""
    block = lsat.Spline(knots=3, degree=degree, continuity=continuity).prepare(X, Y, generator()).parts[""]
    omega = {"coefficients": torch.randn(COLUMNS, 4, degree + 1, generator=generator(), dtype=torch.float64)}
    knots = block.state()["knots"]
    smooth = (block._projection @ omega["coefficients"].reshape(COLUMNS, -1, 1)).reshape(COLUMNS, 4, degree + 1)
    at = (
        torch.rand(50, COLUMNS, generator=generator(), dtype=torch.float64) * (knots[:, -1] - knots[:, 0]) + knots[:, 0]
    )
    found = block.features(omega, block.precompute(at))
    for j in range(COLUMNS):
        width = knots[j].diff().numpy()
        powers = np.array([smooth[j, :, p].numpy() / width**p for p in range(degree, -1, -1)])
        piecewise = PPoly(powers, knots[j].numpy())
        assert np.allclose(found[:, j].numpy(), piecewise(at[:, j].numpy()), atol=1e-11)
        for order in range(continuity + 1):
            left = np.array([np.polyval(np.polyder(powers[:, i], order), width[i]) for i in range(3)])
            right = np.array([np.polyval(np.polyder(powers[:, i + 1], order), 0.0) for i in range(3)])
            assert np.allclose(left, right, atol=1e-9 * (1 + np.abs(left).max()))


def test_spline_projection_is_orthogonal_and_keeps_smooth_functions():
    block = lsat.Spline(knots=3).prepare(X, Y, generator()).parts[""]
    P = block._projection
    assert torch.allclose(P @ P, P, atol=1e-12)
    assert torch.allclose(P, P.mT, atol=1e-12)
    # 16 coefficients less three conditions at each of three knots.
    assert torch.linalg.matrix_rank(P).tolist() == [7] * COLUMNS
    start = block.init()["coefficients"].reshape(COLUMNS, -1, 1)
    assert torch.allclose(P @ start, start, atol=1e-12)


def test_spline_starts_at_standardisation_and_stays_level_outside():
    prepared = lsat.Spline().prepare(X, Y, generator())
    found = prepared.blocks(prepared.init(), X)[""]
    assert torch.allclose(found, (X - X.mean(0)) / X.std(0, correction=0), atol=1e-12)
    ends = torch.stack([X.amin(0), X.amin(0) - 5, X.amax(0), X.amax(0) + 5])
    omega = moved(prepared.init(), 0)
    levels = prepared.blocks(omega, ends)[""]
    assert torch.equal(levels[0], levels[1])
    assert torch.equal(levels[2], levels[3])


def test_spline_of_columns_with_ties_or_one_value():
    rows = torch.stack([torch.zeros(30), (torch.arange(30) % 2).float(), (torch.arange(30) > 27).float()], 1).double()
    for basis in lsat.Spline.bases:
        prepared = lsat.Spline(basis=basis).prepare(rows, Y[:30], generator())
        assert torch.isfinite(prepared.blocks(prepared.init(), rows)[""]).all()


@pytest.mark.parametrize(("degree", "continuity"), [(1, 0), (3, 2), (3, 0)])
def test_b_spline_basis_oracle_scipy_design_matrix(degree, continuity):
    featurizer = lsat.Spline(knots=3, degree=degree, continuity=continuity, basis="bspline")
    prepared = featurizer.prepare(X, Y, generator())
    found = prepared.blocks({}, X)[""].reshape(60, COLUMNS, -1)
    quantiles = np.quantile(X.numpy(), [0, 0.25, 0.5, 0.75, 1], axis=0)
    for j in range(COLUMNS):
        q = quantiles[:, j]
        inside = np.repeat(q[1:-1], degree - continuity)
        knots = np.concatenate([[q[0]] * (degree + 1), inside, [q[-1]] * (degree + 1)])
        expected = BSpline.design_matrix(X[:, j].numpy(), knots, degree).toarray()
        assert np.allclose(found[:, j].numpy(), expected, atol=1e-12)
    assert torch.allclose(found.sum(2), torch.ones(60, COLUMNS, dtype=torch.float64))


def test_low_rank_oracle_numpy_svd():
    for rows in (X, X[:8]):
        T = lsat.LowRank(3).prepare(rows, Y[: len(rows)], generator()).init()["T"].numpy()
        V = np.linalg.svd(rows.numpy(), full_matrices=False)[2][:3].T
        assert np.allclose(T, V * np.sign((T * V).sum(0)), atol=1e-10)
        assert (T[np.abs(T).argmax(0), range(3)] > 0).all()


def test_low_rank_of_more_than_there_are_is_refused():
    with pytest.raises(ValueError, match="rank is 13, but 60 rows of 12 columns have at most 12"):
        lsat.LowRank(13).prepare(X, Y, generator())


def test_selection_starts_whole_and_ends_with_the_share_it_names():
    run = lsat.tune(recipe_for(lsat.SelectFeatures(0.25)), make_data(d=COLUMNS), progress=False)
    mask = run.omega["featurizer.mask"]
    assert sorted(mask.tolist()) == [0.0] * 9 + [1.0] * 3
    assert run.problem.init()["featurizer.mask"].tolist() == [1.0] * COLUMNS
    assert run.status.final
    assert np.isfinite(run.iterates[-1].objective)
    with pytest.raises(ValueError, match="keeps none of 12 columns"):
        lsat.SelectFeatures(0.05).prepare(X, Y, generator())


def test_selection_finds_the_columns_that_matter():
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(400, 10))
    outputs = 3 * inputs[:, 2] - 2 * inputs[:, 7] + 0.3 * draw.normal(size=400)
    data = lsat.Data.from_arrays(inputs, outputs, task="regression")
    recipe = lsat.Recipe(featurizer=lsat.SelectFeatures(0.2), regularizer=lsat.Ridge(log_weight=3.0))
    run = lsat.tune(recipe, data, progress=False)
    assert run.omega["featurizer.mask"].nonzero().flatten().tolist() == [2, 7]


@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
def test_archetypes_oracle_scikit_learn(kernel):
    featurizer = lsat.KMeansArchetypes(per_class=3, kernel=kernel, n_init=2)
    prepared = featurizer.prepare(X, Y, generator())
    inputs = X.numpy()
    centres = np.concatenate(
        [KMeans(3, n_init=2, random_state=0).fit(inputs[Y[:, c].numpy() == 1]).cluster_centers_ for c in range(3)]
    )
    distances = pairwise_distances(inputs, centres)
    ordered = np.sort(distances, axis=1)
    sigma = prepared.init()["log_scale"].item()
    if kernel == "gaussian":
        assert sigma == pytest.approx(np.log(np.sort(ordered[:, 0])[29]))
        expected = np.exp(-(distances**2) / (2 * np.exp(2 * sigma)))
    else:
        assert sigma == pytest.approx(np.log(np.sort(ordered[:, 1] - ordered[:, 0])[29]))
        expected = np.exp(-distances / np.exp(sigma))
        expected /= expected.sum(1, keepdims=True)
    assert np.allclose(prepared.blocks(prepared.init(), X)[""].numpy(), expected, atol=1e-12)


def test_archetypes_of_all_rows_together():
    prepared = lsat.KMeansArchetypes(total=4, n_init=2).prepare(X, Y, generator())
    expected = KMeans(4, n_init=2, random_state=0).fit(X.numpy()).cluster_centers_
    assert np.allclose(prepared.state()["archetypes"].numpy(), expected)


def test_archetypes_of_few_different_rows():
    rows = torch.tensor([[0.0, 0.0], [1.0, 1.0]] * 50, dtype=torch.float64)
    for kernel in lsat.KMeansArchetypes.kernels:
        prepared = lsat.KMeansArchetypes(per_class=5, kernel=kernel).prepare(rows, rows[:, :1], generator())
        assert prepared.columns() == {"": slice(0, 2)}
        assert torch.isfinite(prepared.blocks(prepared.init(), rows)[""]).all()


@pytest.mark.parametrize("shape", [(6, 7), (5, 4, 2)])
def test_random_patches_oracle_naive_loop(shape):
    images = torch.rand(9, int(np.prod(shape)), generator=generator(), dtype=torch.float64)
    prepared = lsat.RandomPatches(shape, patches=3, size=2, cells=2).prepare(images, Y[:9], generator())
    patches = prepared.state()["patches"].movedim(1, -1).numpy()
    assert np.allclose(patches.sum((1, 2, 3)), 0, atol=1e-12)
    assert np.allclose((patches**2).sum((1, 2, 3)), 1)
    found = prepared.blocks({}, images)[""].reshape(9, 3, 2, 2).numpy()
    for i, image in enumerate(images.reshape(9, *shape, *([1] if len(shape) == 2 else [])).numpy()):
        rows, columns = shape[0] - 1, shape[1] - 1
        for s, patch in enumerate(patches):
            response = np.array(
                [[(image[r : r + 2, c : c + 2] * patch).sum() for c in range(columns)] for r in range(rows)]
            ).clip(0)
            for a in range(2):
                for b in range(2):
                    # The cells of adaptive pooling: from floor(a q / 2) to ceil((a + 1) q / 2).
                    cell = response[
                        a * rows // 2 : -(-(a + 1) * rows // 2), b * columns // 2 : -(-(b + 1) * columns // 2)
                    ]
                    assert found[i, s, a, b] == pytest.approx(cell.mean(), abs=1e-12)


def test_random_patches_come_from_training_images_where_they_are_not_flat():
    images = torch.zeros(20, 8, 8, dtype=torch.float64)
    images[3, 2:5, 2:5] = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
    prepared = lsat.RandomPatches((8, 8), patches=4, size=3, cells=2).prepare(images.flatten(1), Y[:20], generator())
    assert len(prepared.state()["patches"]) == 4
    with pytest.raises(ValueError, match="were not flat"):
        lsat.RandomPatches((8, 8), patches=4, size=3).prepare(torch.ones(20, 64).double(), Y[:20], generator())
    with pytest.raises(ValueError, match=r"images \(8, 9\) have 72 pixels, the inputs 64"):
        lsat.RandomPatches((8, 9), size=3).prepare(images.flatten(1), Y[:20], generator())


def test_random_patches_are_as_many_features_as_the_reference():
    images = torch.rand(5, 784, generator=generator(), dtype=torch.float64)
    assert lsat.RandomPatches((28, 28)).prepare(images, Y[:5], generator()).columns() == {"": slice(0, 3200)}


def test_module_parameters_are_in_omega_and_the_global_generator_is_left_alone():
    torch.manual_seed(11)
    before = torch.random.get_rng_state()
    prepared = lsat.FromModule("small network").prepare(X, Y, generator())
    assert torch.equal(torch.random.get_rng_state(), before)
    omega = prepared.init()
    assert list(omega) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    expected = torch.tanh(X @ omega["0.weight"].mT + omega["0.bias"]) / (1 + 1e-5) ** 0.5
    assert torch.allclose(prepared.blocks(omega, X)[""], expected)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda d: 3, "returned 3: expected a torch.nn.Module"),
        (lambda d: torch.nn.Flatten(0), r"to shape \(24,\): expected shape \(2, n\)"),
    ],
)
def test_a_module_that_gives_no_features_is_refused(factory, message):
    lsat.register_module("odd", factory)
    with pytest.raises(ValueError, match=message):
        lsat.FromModule("odd").prepare(X, Y, generator())


def test_a_module_that_changed_since_it_was_saved_is_refused():
    lsat.register_module("changing", lambda d: torch.nn.Linear(d, 3))
    state = lsat.FromModule("changing").prepare(X, Y, generator()).state()
    lsat.register_module("changing", lambda d: torch.nn.Linear(d, 4))
    with pytest.raises(ValueError, match="is not the one that was saved"):
        lsat.FromModule("changing").restore(state)


def test_chain_oracle_one_after_the_other():
    chain = lsat.Chain(lsat.Scale(), lsat.PowerTransform()).prepare(X, Y, generator())
    omega = moved(chain.init(), 0)
    assert list(omega) == [
        "scale.log_scale",
        "scale.shift",
        "power_transform.centre",
        "power_transform.exponent",
    ]
    scaled = (X - omega["scale.shift"]) * omega["scale.log_scale"].exp()
    z = scaled - omega["power_transform.centre"]
    assert torch.allclose(chain.blocks(omega, X)[""], z.sign() * z.abs() ** omega["power_transform.exponent"])
    assert chain.hyper_penalties() == {"power_transform.exponent": lsat.Box(0.0, 8.0)}


def test_chain_does_once_what_does_not_depend_on_omega():
    block = lsat.Chain(lsat.Scale(tuned=False), lsat.LowRank(2)).prepare(X, Y, generator()).parts[""]
    standardised = (X - X.mean(0)) / X.std(0, correction=0)
    assert torch.allclose(block.precompute(X), standardised)
    still = (
        lsat.Chain(lsat.Scale(tuned=False), lsat.RandomPatches((3, 4), 3, 2, 1)).prepare(X, Y, generator()).parts[""]
    )
    assert still.init() == {}
    assert still.precompute(X).shape == (60, 3)


def test_large_close_numbers_survive_float32():
    """Case 7: a column at 1e8 whose entries differ by a few units."""
    rows = 1e8 + torch.randn(60, 1, generator=generator(), dtype=torch.float64)
    for featurizer in (lsat.Scale(), lsat.Scale(tuned=False), lsat.PowerTransform(), lsat.Spline()):
        block = featurizer.prepare(rows, Y, generator()).parts[""]
        exact = block.features(block.init(), block.precompute(rows))
        assert (block.features(block.init(), block.precompute(rows).float()) - exact).abs().max() < 1e-5
