"""The iterates of a run: every number of each, and tensors of ω within a budget."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.plots.live import run_plotly
from lsat_explorer.plots.omega import show_omega, update_omega
from lsat_explorer.tune import iterates as module
from lsat_explorer.tune.iterates import Iterates
from lsat_explorer.widgets.facts import iterate_words
from lsat_explorer.widgets.history import OmegaColumns, history
from lsat_explorer.widgets.live_tuner import LiveTuner

WEIGHTS = "data_weights.log_weight"


def iterate(number: int, objective: float = 1.0, *, rows: int = 3, **fields: object) -> lsat.Iterate:
    value = torch.tensor(0.25 * number, dtype=torch.float64)
    omega = {"regularizer.log_weight": value, WEIGHTS: torch.full((rows,), float(number), dtype=torch.float64)}
    return lsat.Iterate(number, objective, 2.0, 0.5, 0.1, omega, **fields)  # type: ignore[arg-type]


def whole(iterates: Iterates) -> list[int]:
    return [i.number for i in iterates if WEIGHTS in i.omega]


def scalars(one: lsat.Iterate) -> dict[str, object]:
    return {name: "nan" if value != value else value for name, value in one.scalars().items()}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 8)


def test_a_short_run_is_a_list() -> None:
    given = [iterate(number, 1.0 / (number + 1)) for number in range(200)]
    iterates = Iterates(given)
    assert len(iterates) == 200
    assert all(kept is one for kept, one in zip(iterates, given, strict=True))
    assert iterates[-1] is given[-1]
    assert iterates[198:] == given[198:]
    assert iterates[:-198:-1][0] is given[-1]
    with pytest.raises(IndexError):
        iterates[200]


def test_a_long_run_keeps_every_number_and_an_even_choice_of_tensors(few: None) -> None:
    given = [
        iterate(n, 5.0 + abs(n - 37), stopping_loss=5.0 + abs(n - 61), accepted=n % 3 != 2, status=lsat.Status.RUNNING)
        for n in range(101)
    ]
    iterates = Iterates()
    for one in given:
        iterates.append(one)
        kept = whole(iterates)
        assert {0, one.number} <= set(kept)
        assert len(kept) <= 8 + 4
    assert whole(iterates) == [0, 16, 32, 37, 48, 61, 64, 80, 96, 100]
    assert [scalars(kept) for kept in iterates] == [scalars(one) for one in given]
    assert [float(i.omega["regularizer.log_weight"]) for i in iterates] == [0.25 * n for n in range(101)]
    assert iterates.best is given[37]
    assert iterates.best_stopping is given[61]
    assert iterates.counts == (sum(i.accepted for i in given) - 1, sum(not i.accepted for i in given))


def test_tensors_are_kept_within_their_budget_and_shared_ones_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUDGET", 8 * 1000 * 10)
    iterates = Iterates(iterate(n, rows=1000) for n in range(500))
    assert len(whole(iterates)) <= 10 + 3
    large = torch.zeros(100_000)
    shared = Iterates(replace(iterate(n), omega={WEIGHTS: large}) for n in range(500))
    assert len(whole(shared)) == 500


@pytest.mark.parametrize("losses", [[3.0, math.nan, 2.0, 2.0], [math.nan, 3.0, 2.0, math.nan]])
def test_the_best_is_the_first_of_the_least_that_is_a_number(losses: list[float]) -> None:
    given = [iterate(n, loss, stopping_loss=loss) for n, loss in enumerate(losses)]
    assert Iterates(given).best.number == 2
    assert Iterates(given).best_stopping.number == 2
    worse = [*given, iterate(4, 0.0, stopping_loss=0.0, accepted=False)]
    assert Iterates(worse).best_stopping.number == 2


def test_the_nearest_whole_iterate_is_found(few: None) -> None:
    iterates = Iterates(iterate(n, 100.0 - n) for n in range(41))
    assert whole(iterates) == [0, 8, 16, 24, 32, 40]
    assert [iterates.whole(n).number for n in (0, 3, 5, 16, 29, 40)] == [0, 0, 8, 16, 32, 40]
    numbers = Iterates(replace(i, omega={"a": torch.tensor(1.0)}) for i in iterates)
    assert numbers.whole(29).number == 29  # it has nothing but numbers


def test_an_entry_that_comes_later_is_absent_before(few: None) -> None:
    given = [iterate(n) for n in range(90)]
    given[50:] = [replace(i, omega={**i.omega, "loss.log_temperature": torch.tensor(0.0)}) for i in given[50:]]
    iterates = Iterates(given)
    assert ["loss.log_temperature" in i.omega for i in iterates] == [n >= 50 for n in range(90)]
    assert iterates.table()["loss.log_temperature"][50] == 0.0
    assert np.isnan(iterates.columns("loss.log_temperature")["loss.log_temperature"][:50]).all()


def test_what_was_read_does_not_move_with_the_run() -> None:
    iterates = Iterates([iterate(0)])
    before = history(iterates)
    for number in range(1, 300):
        iterates.append(iterate(number, accepted=False))
    assert {name: len(column) for name, column in before.items()} == dict.fromkeys(before, 1)
    assert len(history(iterates)["loss"]) == 300
    assert history(Iterates()) == {}


@pytest.fixture(scope="module")
def recipe() -> lsat.Recipe:
    penalty = lsat.SumSquares(1e-5) + lsat.ZeroSum()
    method = lsat.ProximalGradient(step=1e-3, tolerance=0.0, max_iterations=45)
    return lsat.Recipe(data_weights=lsat.LogWeights(), hyper_penalties={WEIGHTS: penalty}, method=method)


@pytest.fixture
def run(recipe: lsat.Recipe, digits: lsat.Data, monkeypatch: pytest.MonkeyPatch) -> lsat.Run:
    monkeypatch.setattr(module, "_MOST", 8)
    return lsat.tune(recipe, digits, progress=False)


def test_a_long_run_is_saved_branched_and_resumed(run: lsat.Run, digits: lsat.Data, tmp_path: Path) -> None:
    assert len(run.iterates) == 46
    assert WEIGHTS not in run.iterates[21].omega
    table = run.history()
    assert table["regularizer.log_weight"].notna().all()
    assert (table["number"].dtype.kind, table["accepted"].dtype.kind, set(table["status"])) == (
        "i",
        "b",
        {"running", "max_iterations"},
    )
    with pytest.raises(ValueError, match=r"21 is kept without data_weights\.log_weight: .* branch from 24"):
        run.branch(21)
    first = next(iter(run.branch(24).steps()))
    assert first.objective == pytest.approx(run.iterates[24].objective, rel=1e-12)
    run.save(tmp_path / "run")
    loaded = lsat.Run.load(tmp_path / "run", digits)
    assert [scalars(one) for one in loaded.iterates] == [scalars(one) for one in run.iterates]
    assert torch.equal(loaded.omega[WEIGHTS], run.omega[WEIGHTS])
    assert whole(loaded.iterates) == [45]
    assert next(iter(loaded.steps())).number == 46
    assert next(iter(run.steps())).number == 46


def test_early_stopping_keeps_the_best_of_a_long_run_whole(
    recipe: lsat.Recipe, digits: lsat.Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    stopping = recipe.replace(early_stopping=lsat.EarlyStopping(patience=6), method=lsat.ProximalGradient(step=20.0))
    run = lsat.tune(stopping, digits, progress=False)
    assert run.status is lsat.Status.STOPPED_EARLY
    assert run.kept.stopping_loss == min(i.stopping_loss for i in run.iterates if i.accepted)
    assert 0 < run.kept.number < run.iterates[-1].number
    assert WEIGHTS in run.omega
    assert len(whole(run.iterates)) < len(run.iterates) / 2


def test_a_rows_file_with_other_numbers_is_refused(run: lsat.Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    lines = (tmp_path / "iterates.csv").read_text().splitlines(keepends=True)
    (tmp_path / "iterates.csv").write_text("".join([lines[0], *lines[3:]]))
    with pytest.raises(ValueError, match="its 44 rows are not numbered from 0"):
        lsat.Run.load(tmp_path)


def test_a_marked_iterate_without_weights_branches_at_the_nearest_and_says_so(run: lsat.Run) -> None:
    tuner = LiveTuner(run)
    tuner.controls.set_state({"marked": 21})
    assert tuner.controls.get_state()["marking"].endswith(
        "Its log row weights are no longer kept: a branch begins at iteration 24, the nearest with them."
    )
    assert "no longer" not in iterate_words(run, 24)
    tuner.branch()
    tuner.wait(60)
    assert tuner.table.rows[0]["differs"] == "from iteration 24 of Run 1"
    assert tuner.run.iterates[0].objective == pytest.approx(run.iterates[24].objective, rel=1e-12)
    tuner.close()


def test_the_panel_of_omega_shows_the_vectors_that_are_kept(few: None) -> None:
    iterates = Iterates(iterate(n, 100.0 - n) for n in range(41))
    columns = OmegaColumns().of(iterates)
    assert columns["log weight"].tolist() == [0.25 * n for n in range(41)]
    drawn = columns["log row weights"]  # all entries are equal here, so it is as a number
    assert np.flatnonzero(np.isfinite(drawn)).tolist() == [0, 8, 16, 24, 32, 40]
    figure = run_plotly(history(iterates))
    show_omega(figure)
    update_omega(figure, columns)
    live = OmegaColumns()
    grown = Iterates()
    for number in range(41):
        grown.append(iterate(number, 100.0 - number))
        seen = live.of(grown)["log row weights"]
    assert seen.tolist() == [float(n) for n in range(41)]  # what was drawn once stays


def test_a_rejected_step_repeats_the_entries_of_its_vector() -> None:
    one = iterate(0)
    vector = {WEIGHTS: torch.tensor([1.0, 5.0, 3.0, 2.0])}
    iterates = Iterates([replace(one, omega=vector), replace(iterate(1), omega=vector, accepted=False)])
    assert OmegaColumns().of(iterates)["log row weights"].tolist() == [[1.0, 2.5, 5.0]] * 2


def test_a_stopping_loss_that_is_no_number_is_never_the_least() -> None:
    losses = [math.nan, 4.0, 3.0, 2.0]
    given = Iterates([iterate(i, 1.0, stopping_loss=loss) for i, loss in enumerate(losses)])
    assert given.worse_for(iterate(4, 1.0, stopping_loss=0.5)) == 0
    assert given.worse_for(iterate(4, 1.0, stopping_loss=math.inf)) == 1
    assert given.worse_for(iterate(4, 1.0, stopping_loss=math.nan)) == 1
    nothing = Iterates([iterate(i, 1.0, stopping_loss=math.nan) for i in range(3)])
    assert nothing.worse_for(iterate(3, 1.0, stopping_loss=math.nan)) == 3
    assert nothing.worse_for(iterate(3, 1.0, stopping_loss=math.inf)) == 0
