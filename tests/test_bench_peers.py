"""`lsat-explorer bench peers`: every search sees the same loss, and the verdict names who is better or as soon."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from benches import stand_in, tensors
from lsat_explorer.bench import peers, problems, searches
from lsat_explorer.bench.attempts import Counted, first_within
from lsat_explorer.bench.problems import Source

AT = {"regularizer.ridge.log_weight": 1.5, "regularizer.smooth.log_weight": -0.5}


@pytest.fixture
def digits_for_mnist(monkeypatch, digits):
    stand_in(monkeypatch, digits)


@pytest.fixture
def two_ridges(digits_for_mnist):
    return problems.two_ridges(Source(None, 5_000, 0))


def test_the_other_programs_see_the_loss_of_the_problem(two_ridges):
    rows = searches.Rows.of(two_ridges)
    assert searches.scikit_loss(rows)(*AT.values()) == pytest.approx(
        two_ridges.evaluate(tensors(AT)).objective, rel=1e-9
    )
    counted = Counted(two_ridges)
    searches.over_grid(peers.objective(counted), 3)
    assert len(counted.values) == 9
    # scikit-learn runs through the same places in the same order.
    np.testing.assert_allclose(searches.scikit_grid(rows, 3), counted.values, rtol=1e-9)


def test_optuna_evaluates_as_often_as_it_is_told_and_by_its_seed():
    def places(seed):
        seen = []
        searches.tpe(lambda ridge, smooth: seen.append((ridge, smooth)) or ridge**2 + smooth**2, 12, seed)
        return seen

    first = places(0)
    assert len(first) == 12
    assert np.abs(first).max() <= searches.SPAN[1]
    assert places(0) == first != places(1)


def test_himalaya_is_scored_by_our_loss_on_the_validation_rows(two_ridges):
    rows = searches.Rows.of(two_ridges)
    losses = searches.himalaya(rows, "random_search", 2, 0)
    assert len(losses) == 20
    # Its first weights are equal shares, with each of ten ridge weights α: ŷ = K_v (K + α)⁻¹ Y.
    k, n = rows.train, rows.X.shape[1]
    smooth = np.linalg.inv(rows.laplacian + 1e-3 * np.eye(n))
    kernels = [rows.X @ rows.X.T, rows.X @ smooth @ rows.X.T]
    K = sum(0.5 * kernel / kernel.diagonal().mean() for kernel in kernels)
    assert losses[0] == math.inf  # α = 10⁻⁵ is lost in float32
    for alpha, loss in list(zip(np.logspace(-5, 4, 10), losses[:10], strict=True))[3:]:
        predictions = K[k:, :k] @ np.linalg.solve(K[:k, :k] + alpha * np.eye(k), rows.Y[:k])
        log_share = predictions - np.log(np.exp(predictions).sum(1, keepdims=True))
        assert loss == pytest.approx(-(rows.Y[k:] * log_share).sum(1).mean(), abs=1e-4)


def test_himalayas_hyper_gradient_leads_down(two_ridges):
    losses = searches.himalaya(searches.Rows.of(two_ridges), "hyper_gradient", 6, 0)
    assert 1 < len(losses) <= 6
    assert min(losses) < losses[0]


@pytest.mark.parametrize(("points", "missed"), [(5, 0), (2, 1)])  # 4 places are no more than L-BFGS needs
def test_bench_peers_prints_ratios_and_says_who_is_missing(
    points, missed, digits_for_mnist, command, tmp_path, monkeypatch
):
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name in ("himalaya", "optuna") else name)
    file = tmp_path / "figures.json"
    code, out, _ = command("bench", "peers", "--points", str(points), "--json", str(file))
    assert out.count("optuna is not installed: `pip install 'lsat_explorer[bench]'` installs it.") == 2
    assert out.count("himalaya is not installed") == 2
    written = json.loads(file.read_text())
    assert [(row["name"], row["fits"]) for row in written["searches"]] == [
        *((name, "ours") for name in peers.OURS),
        (f"grid {points}×{points}", "ours"),
        (f"grid {points}×{points}", "scikit-learn"),
    ]
    assert [row["needs"] for row in written["not_installed"]] == 2 * ["optuna"] + 2 * ["himalaya"]
    first, grid = written["searches"][0], written["searches"][-2]
    assert grid["evaluations"] == points**2
    assert grid["seconds_ratio"] == grid["seconds"] / first["seconds"]
    assert grid["ratio"] == points**2 / first_within(first["losses"], grid["loss"])
    assert code == missed
    assert (out.count(". Met."), out.count("MISSED by grid")) == (2 - missed, missed)


def searched(name, losses):
    return peers.Search(name, "ours", tuple(losses), min(losses), 0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("grid", "missed"),
    [
        ([4.0, 2.0, 9.0], []),
        ([4.0, 0.5, 9.0, 9.0], [0, 1]),  # lower than ours, which never comes there
        ([4.0, 2.0], [1]),  # ours needs two evaluations as well
        ([1.0], [1]),
    ],
)
def test_the_verdict_names_the_peer_that_is_better_or_as_soon(grid, missed):
    ours = [searched("L-BFGS", [3.0, 2.0, 1.0]), searched("multi-start", [0.1])]
    sentences, met = peers.verdict([*ours, searched("grid", grid)])
    assert met == (not missed)
    assert [i for i, sentence in enumerate(sentences) if "MISSED by grid" in sentence] == missed
    assert all("Met" in sentence or "MISSED" in sentence for sentence in sentences)


@pytest.mark.parametrize(("loss", "side"), [(0.5, "below"), (1.5, "above")])
def test_a_loss_of_another_model_is_told_and_not_judged(loss, side):
    other = peers.Search("random search", "himalaya", (loss,), loss, 0, 1.0, 1.0)
    sentences, met = peers.verdict([searched("L-BFGS", [3.0, 2.0, 1.0]), other])
    assert met
    told = "Another model: random search with himalaya fits reaches"
    assert sentences[2:] == [f"{told} {loss:.7f}, 5.0e-01 {side} L-BFGS. Not judged."]
