"""Early stopping: what is compared, which iterate is kept, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lsat_explorer as lsat
from checkpoints import always
from lsat_explorer.model.choices import Method
from test_methods import stopping_data
from tuning import table


@pytest.fixture(scope="module")
def rough() -> lsat.Data:
    """Targets with errors of heavy tails, whose loss depends on the threshold by much."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(300, 5))
    y = X @ generator.normal(size=5) + 3 * generator.standard_t(2, size=300)
    return lsat.Data.from_arrays(X, y, validation=0.3, test=0.2, final=0.1)


STOPS = lsat.EarlyStopping()
HUBER = lsat.Recipe(
    loss=lsat.Huber(0.1),
    regularizer=lsat.Ridge(block="features", log_weight=4.0),
    early_stopping=lsat.EarlyStopping(4),
    method=lsat.ProximalGradient(step=0.05, max_iterations=12, tolerance=0.0),
)


@pytest.mark.parametrize(("before", "after"), [(0.1, 3.0), (3.0, 0.1)])
def test_a_loss_is_compared_with_itself_alone(rough: lsat.Data, tmp_path: Path, before: float, after: float) -> None:
    recipe, later = (HUBER.replace(loss=lsat.Huber(threshold)) for threshold in (before, after))
    run = lsat.Run(recipe, rough, checkpoint=always(tmp_path / "checkpoint"))
    for iterate in run.steps():
        if iterate.number == 5:
            run.change(later)
    alone = lsat.Run(later, rough, run.iterates[5].omega)
    for _ in alone.steps():
        pass
    assert run.status is alone.status is lsat.Status.MAX_ITERATIONS
    assert run.kept.number == run.best.number == 6 + alone.kept.number
    assert run.kept.stopping_loss == alone.kept.stopping_loss
    run.save(tmp_path / "saved")
    resumed = lsat.Run.resume(tmp_path / "checkpoint", rough)
    for again in (lsat.Run.load(tmp_path / "saved"), lsat.Run.load(tmp_path / "saved", rough), resumed):
        assert (again.kept.number, again.best.number) == (run.kept.number, run.best.number)
        assert set(again.kept.omega) == set(run.kept.omega)


def test_other_penalties_change_the_objective_and_not_the_loss_that_stops_the_run() -> None:
    recipe = lsat.Recipe(
        data_weights=lsat.LogWeights(),
        early_stopping=lsat.EarlyStopping(50),
        method=lsat.ProximalGradient(max_iterations=12),
    )
    run = lsat.tune(recipe, stopping_data(), progress=False)
    kept = min(run.iterates, key=lambda i: i.stopping_loss)
    weak = {"data_weights.log_weight": lsat.SumSquares(10.0)}
    run.change(recipe.replace(hyper_penalties=weak, method=lsat.ProximalGradient(max_iterations=3)))
    for _ in run.steps():
        pass
    assert run.best.number >= 13
    assert run.best.objective > run.iterates[12].objective
    assert run.kept is min(run.iterates, key=lambda i: i.stopping_loss)
    assert run.kept.stopping_loss <= kept.stopping_loss


def test_what_is_kept_stays_until_another_loss_has_judged(rough: lsat.Data) -> None:
    run = lsat.tune(HUBER, rough, progress=False)
    kept = run.kept
    run.iterates.compare_anew("objective", "stopping_loss")
    assert run.kept is kept
    worse = lsat.Iterate(len(run.iterates), 99.0, 99.0, 0.0, 1.0, kept.omega, stopping_loss=99.0)
    assert run.iterates.worse_for(worse) == 0
    run.iterates.append(worse)
    assert run.kept is run.best is worse


@pytest.mark.parametrize("since", [{"objective": 99}, {"objective": -1}, {"loss": 0}, {"objective": "2"}])
def test_a_number_that_no_iterate_has_is_refused(rough: lsat.Data, tmp_path: Path, since: dict[str, object]) -> None:
    lsat.tune(HUBER, rough, progress=False).save(tmp_path)
    said = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**said, "since": since}))
    with pytest.raises(ValueError, match=r"run\.json is damaged: since says '\w+': '?-?\d+'? of 13 iterates"):
        lsat.Run.load(tmp_path)
    del said["since"]  # as an older version has written it
    (tmp_path / "run.json").write_text(json.dumps(said))
    assert lsat.Run.load(tmp_path).kept.number > 0


@pytest.fixture(scope="module")
def stopped() -> lsat.Run:
    recipe = lsat.Recipe(
        loss=lsat.CrossEntropy(temperature=True), data_weights=lsat.LogWeights(), early_stopping=lsat.EarlyStopping(3)
    )
    return lsat.tune(recipe, lsat.datasets.digits(), progress=False)


def test_the_numbers_that_are_shown_are_those_of_the_kept_iterate(stopped, tmp_path, command):
    kept, last = stopped.kept, stopped.iterates[-1]
    assert f"{kept.loss:.4f}" != f"{last.loss:.4f}"
    named = f"loss {kept.loss:.4f} at iteration {kept.number}, which is kept"
    expected = f"Run(stopped_early, {last.number} iterations, {named})"
    assert repr(stopped) == expected
    stopped.save(tmp_path)
    assert repr(lsat.Run.load(tmp_path)) == expected
    code, out, error = command("show", str(tmp_path))
    assert code == 0, error
    shown = table(out)
    assert shown["kept"] == f"iteration {kept.number}, by early stopping"
    assert shown["validation loss"].startswith(f"{kept.loss:.4f} ")
    assert shown["validation error"] == f"{100 * kept.error:.1f} %"
    assert shown["training loss"] == f"{kept.training_loss:.4f}"
    assert shown["loss.log_temperature"] == f"{float(kept.omega['loss.log_temperature']):.4g}"
    assert shown["iterations"].startswith(f"{last.number} (")


def test_a_run_whose_last_iterate_is_kept_names_none(tmp_path, command):
    run = lsat.tune(lsat.Recipe(method=lsat.LineSearch(max_iterations=2)), lsat.datasets.digits(), progress=False)
    assert repr(run) == f"Run({run.status.value}, 2 iterations, loss {run.iterates[-1].loss:.4f})"
    run.save(tmp_path)
    assert "kept" not in table(command("show", str(tmp_path))[1])


def test_a_report_says_that_test_rows_have_judged(stopped):
    judged = "Early stopping has judged each iteration by the test rows."  # these data have no final rows
    assert judged in stopped.report().html
    assert "The test rows have not been looked at" not in stopped.report().html


@pytest.mark.parametrize("method", [lsat.MultiStart(lsat.LineSearch(), starts=4), lsat.Grid()], ids=repr)
def test_a_search_of_several_places_is_not_stopped_early(method: Method) -> None:
    said = rf"Recipe: EarlyStopping\(\) ends a descent .*, and {type(method).__name__} searches several places: choose"
    for recipe, other in ((HUBER, {"method": method}), (lsat.Recipe(method=method), {"early_stopping": STOPS})):
        with pytest.raises(ValueError, match=said):
            recipe.replace(**{"early_stopping": STOPS, **other})
