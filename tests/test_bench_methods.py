"""The benchmarks of methods and peers: what is counted, what is raced, and that every search sees the same loss."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer import recipes
from lsat_explorer.bench import methods, peers, problems, race, searches
from lsat_explorer.bench.attempts import Attempt, Counted, attempt, first_within
from lsat_explorer.bench.methods import Comparison
from lsat_explorer.bench.output import write_figures
from lsat_explorer.bench.problems import Source
from lsat_explorer.bench.race import StackedPath
from lsat_explorer.tune.iterate import Iterate, Status

DIGITS = (8, 8)
AT = {"regularizer.ridge.log_weight": 1.5, "regularizer.smooth.log_weight": -0.5}


@pytest.fixture
def digits_for_mnist(monkeypatch, digits):
    """Digits where MNIST is asked for, and methods that soon end."""
    monkeypatch.setattr(problems.datasets, "mnist", lambda folder, **choices: digits)
    few = {"paper's rule": lsat.ProximalGradient(max_iterations=30), "line search": lsat.LineSearch(max_iterations=12)}
    monkeypatch.setattr(methods, "METHODS", {**few, "L-BFGS": lsat.LBFGS(max_iterations=12)})
    small = {"multi-start": lsat.MultiStart(lsat.LBFGS(max_iterations=5), starts=2)}
    monkeypatch.setattr(methods, "SEVERAL_OPTIMA", {"two-ridges": small})


@pytest.fixture
def two_ridges(digits_for_mnist):
    return problems.two_ridges(Source(None, 5_000, 0))


def made(values, *, gradients=1, times=None, status="converged"):
    """An attempt with a known history; evaluation i ends after i seconds."""
    times = times or tuple(range(1, len(values) + 1))
    return Attempt(tuple(values), times, gradients, min(values), status, times[-1], times[-1])


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        ([3.0, 2.0, 1.0], 3.0, 1),
        ([3.0, math.inf, 2.5, 1.0, 0.5], 1.0, 4),  # a failed and a rejected one count
        ([3.0, math.nan, 1.0], 2.0, 3),
        ([3.0, 2.0], 1.9, None),
        ([], 1.0, None),
    ],
)
def test_evaluations_are_counted_to_the_first_within_the_target(values, target, expected):
    assert first_within(values, target) == expected


@dataclass(frozen=True)
class Scripted:
    """A method that evaluates 5, +∞, 4, 6, 3 and takes a gradient where F has fallen; it ends at 3."""

    def iterates(self, problem, omega=None):
        best = math.inf
        for number, value in enumerate([5.0, math.inf, 4.0, 6.0, 3.0]):
            at = problem.evaluate({"x": value})
            if at.objective < best:
                best = problem.gradient(at)
            status = Status.CONVERGED if number == 4 else Status.RUNNING
            yield Iterate(number, best, best, 0.0, 1.0, {"x": best}, status=status)


class Itself:
    """F(x) = x; its "gradient" is the value, for the method above to keep."""

    name = "itself"

    def evaluate(self, omega):
        return Iterate(0, omega["x"], omega["x"], 0.0, 1.0, omega)

    def gradient(self, at, *, beside=False):
        return at.objective


def test_an_attempt_holds_every_evaluation_and_counts_gradients():
    done = attempt(Scripted(), Itself())
    assert done.values == (5.0, math.inf, 4.0, 6.0, 3.0)
    assert (done.gradients, done.objective, done.status) == (3, 3.0, "converged")
    assert list(done.times) == sorted(done.times)
    assert 0 < done.times[-1] <= done.seconds
    assert done.evaluations_to(4.5) == 3
    assert done.seconds_to(4.5) == done.times[2]
    assert math.isnan(done.seconds_to(2.0))
    assert Counted(Itself()).name == "itself"


def test_an_attempt_ends_at_its_target():
    done = attempt(Scripted(), Itself(), target=4.0)
    assert done.values == (5.0, math.inf, 4.0)
    assert (done.objective, done.status) == (4.0, "running")


@pytest.mark.parametrize(
    "method",
    [lsat.ProximalGradient(1e6, max_iterations=25), lsat.LineSearch(), lsat.LBFGS(), lsat.MultiStart(starts=2)],
    ids=str,
)
def test_counting_does_not_change_a_method(method, digits):
    recipe = recipes.paper_reg2(DIGITS).replace(method=method)
    counted = attempt(method, lsat.Problem(recipe, digits))
    run = lsat.tune(recipe, digits, progress=False)
    assert (counted.objective, counted.status) == (run.iterates[-1].objective, run.status.value)
    tried = [iterate.tried for iterate in run.iterates]
    assert set(tried) <= set(counted.values)
    if isinstance(method, lsat.ProximalGradient):
        assert list(counted.values) == tried
        assert counted.gradients == sum(i.accepted for i in run.iterates) < len(tried)
    if isinstance(method, lsat.LBFGS):
        assert counted.gradients == len(counted.values)


def test_a_start_outside_its_domain_costs_two_evaluations(digits):
    featurizer = lsat.Chain(lsat.SelectFeatures(0.5), lsat.Scale(tuned=False))
    problem = lsat.Problem(lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge()), digits)
    assert problem.evaluate(problem.init()).objective == math.inf
    done = attempt(lsat.ProximalGradient(max_iterations=0), problem)
    assert done.values[0] == math.inf
    assert math.isfinite(done.values[1])
    assert len(done.values) == 2


def test_json_has_null_for_what_is_not_finite(tmp_path):
    write_figures(
        tmp_path / "a.json", {"values": (1.0, math.inf), "rows": [{"ratio": math.nan, "name": "ψ", "met": True}]}
    )
    expected = {"values": [1.0, None], "rows": [{"ratio": None, "name": "ψ", "met": True}]}
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == expected


def test_distances_are_of_F_or_of_its_share():
    attempts = {"first": made([300.0, 202.5, 201.9, 200.15]), "second": made([300.0, 200.0])}
    share = Comparison("table", 10, 2, True, attempts)
    assert share.best == 200.0
    assert share.target(1e-2) == 202.0
    assert share.counts("first") == {"1e-2": 3, "1e-3": 4, "1e-4": None}
    assert share.counts("second") == {"1e-2": 2, "1e-3": 2, "1e-4": 2}
    assert (share.ratio("first"), share.ratio("second")) == (1.0, 2.0)
    itself = replace(share, relative=False)
    assert itself.target(1e-2) == 200.01
    assert itself.counts("first") == {"1e-2": None, "1e-3": None, "1e-4": None}
    assert itself.ratio("first") is None
    assert itself.soonest() == "second"


def test_soonest_goes_by_time_and_not_by_evaluations():
    attempts = {"few": made([2.0, 1.0], times=(1.0, 9.0)), "fast": made([2.0, 1.5, 1.0], times=(0.1, 0.2, 0.3))}
    assert Comparison("digits", 10, 2, False, attempts).soonest() == "fast"


@pytest.mark.parametrize("name", problems.PROBLEMS)
def test_every_problem_has_a_finite_start_and_something_to_tune(name, digits_for_mnist):
    problem = problems.PROBLEMS[name](Source(None, 5_000, 0))
    at = problem.evaluate(problem.init())
    gradient = problem.gradient(at)
    assert math.isfinite(at.objective)
    assert gradient
    assert all(bool(value.isfinite().all()) for value in gradient.values())


def test_the_paper_problems_read_the_images_of_one_scale_once(monkeypatch, digits):
    asked = []
    monkeypatch.setattr(problems.datasets, "mnist", lambda folder, **choices: asked.append(choices) or digits)
    source = Source("here", 5_000, 3)
    for name in ("reg2", "feat", "weighting"):
        assert problems.PROBLEMS[name](source).recipe.seed == 3
    shared = {"size": 5_000, "seed": 3, "deskew": True}
    assert asked == [{**shared, "scale": "standard"}, {**shared, "scale": "raw"}]


def test_two_ridges_has_rows_of_its_own(digits_for_mnist, digits):
    problem = problems.two_ridges(Source(None, 5_000, 7))
    # In the order of scikit-learn's file; of 1,347 rows that are no test rows, 70 % are fitted.
    parts = (digits.train, digits.validation)
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    pixels = torch.cat([part.inputs for part in parts]).numpy()[order]
    chosen = np.random.RandomState(0).permutation(1347)
    train = pixels[chosen[:942]]
    deviation = np.where(train.std(0) > 0, train.std(0), 1.0)
    np.testing.assert_allclose(problem.data.train.inputs, (train - train.mean(0)) / deviation, atol=1e-12)
    expected = (pixels[chosen[942:]] - train.mean(0)) / deviation
    np.testing.assert_allclose(problem.data.validation.inputs, expected, atol=1e-12)
    labels = np.concatenate([part.labels for part in parts])[order]
    np.testing.assert_array_equal(problem.data.validation.labels, labels[chosen[942:]])


@pytest.mark.mnist
def test_two_ridges_is_the_problem_of_the_reference(mnist_folder):
    problem = problems.two_ridges(Source(str(mnist_folder), 5_000, 0))
    at = {"regularizer.ridge.log_weight": 1.25, "regularizer.smooth.log_weight": 2.12}
    # The optimum to three digits: F is 1.8179336 there, to second order in what the digits leave out.
    assert problem.evaluate(tensors(at)).objective == pytest.approx(1.8179336, abs=2e-7)


def tensors(values):
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}


@pytest.mark.parametrize(
    "recipe", [recipes.paper_feat(DIGITS, per_class=3), recipes.paper_weighting(DIGITS, per_class=3)]
)
def test_the_stacked_path_goes_where_the_problem_goes(recipe, digits):
    problem = lsat.Problem(recipe.replace(dtype="float64"), digits)
    # A first step of 10⁴ is too long: some are rejected before one is accepted.
    rule = lsat.ProximalGradient(step=1e4, tolerance=0.0, max_iterations=25)
    ours, stacked = attempt(rule, problem), attempt(rule, StackedPath(problem))
    assert len(ours.values) == len(stacked.values) == 26
    assert ours.gradients == stacked.gradients < 24
    np.testing.assert_allclose(stacked.values, ours.values, rtol=1e-7)


def test_a_stacked_solve_that_fails_is_infinite_and_has_no_gradient(digits):
    twice = lsat.Concat(a=lsat.Identity(), b=lsat.Identity())
    problem = lsat.Problem(lsat.Recipe(featurizer=twice, regularizer=lsat.Ridge(log_weight=-30.0)), digits)
    path = StackedPath(problem)
    at = path.evaluate(problem.init())
    assert at.objective == math.inf
    with pytest.raises(ValueError, match="failed at this point"):
        path.gradient(at)


@pytest.mark.parametrize("longest", [600.0, 0.0])
def test_a_race_is_run_or_computed(longest, digits, monkeypatch):
    monkeypatch.setattr(race, "LONGEST", longest)
    problem = lsat.Problem(recipes.paper_feat(DIGITS, per_class=3), digits)
    paper = attempt(lsat.ProximalGradient(max_iterations=20), problem)
    target = paper.values[-1] + 1e-3
    done = race.race("feat", problem, ("L-BFGS", lsat.LBFGS()), target, paper)
    assert done.computed == (longest == 0)
    assert done.evaluations == paper.evaluations_to(target) > 1
    assert done.ratio == done.stacked / done.ours
    assert ("computed: " if done.computed else "run: ") + f"{done.evaluations} evaluations" in done.line(full=True)
    goals = [done.line(full).split()[6] for full in (True, False)]  # after a name, two times and two ratios
    assert goals == ["15", "–"]


def test_a_race_nobody_can_finish_is_none(digits):
    problem = lsat.Problem(recipes.paper_reg2(DIGITS), digits)
    paper = attempt(lsat.ProximalGradient(max_iterations=3), problem)
    assert race.race("reg2", problem, ("L-BFGS", lsat.LBFGS(max_iterations=3)), 0.0, paper) is None


def test_bench_methods_prints_counts_ratios_and_units(digits_for_mnist, command, tmp_path):
    file = tmp_path / "figures.json"
    names = ("digits", "diabetes", "two-ridges")
    code, out, _ = command("bench", "methods", "--problems", *names, "--json", str(file))
    assert code == 0
    written = json.loads(file.read_text())
    assert [each["problem"] for each in written["problems"]] == list(names)
    assert [each["relative"] for each in written["problems"]] == [False, True, False]
    assert [row["method"] for row in written["problems"][2]["methods"]][-1] == "multi-start"
    for each in written["problems"]:
        mark = " %" if each["relative"] else ""
        assert each["best"] == min(min(row["values"]) for row in each["methods"])
        for row in each["methods"]:
            assert row["evaluations"] == len(row["values"]) == len(row["times"])
            counts = ["–" if count is None else str(count) for count in row["evaluations_to"].values()]
            (line,) = (
                x for x in out.splitlines() if x.startswith(f"{each['problem'] + mark:<16} {row['method']:<14} ")
            )
            assert line.split(row["method"])[1].split()[:3] == counts
    assert "Goal" not in out


def test_bench_methods_judges_the_goals_and_shows_the_reference(digits_for_mnist, command, monkeypatch):
    words = ("bench", "methods", "--problems", "feat", "--stacked")
    monkeypatch.setattr(methods, "GOALS", {"feat": 1000})
    code, out, _ = command(*words)
    assert code == 0
    assert "in at most 1000 evaluations" in out
    assert out.count("33/36/98") == 1
    assert "run: " in out
    monkeypatch.setattr(methods, "GOALS", {"feat": 0})
    code, out, _ = command(*words[:-1], "--seed", "1")
    assert code == 1
    assert "MISSED" in out
    assert "33/36/98" not in out
    assert "run: " not in out
    code, out, _ = command(*words[:-1], "--full")
    assert code == 0
    assert "Goal" not in out


@pytest.mark.parametrize("name", ["methods", "peers"])
def test_missing_files_are_one_sentence(name, command, tmp_path):
    code, _, error = command("bench", name, "--data", str(tmp_path))
    assert code == 2
    assert error.count("\n") == 1
    assert "train-images-idx3-ubyte" in error


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


@pytest.mark.parametrize(("points", "missed"), [(5, 0), (3, 1)])  # 9 places are no more than L-BFGS needs
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
