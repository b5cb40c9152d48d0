"""Looks at the test rows in the explorer: they are counted, said, and drawn."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import lsat_explorer as lsat
from lsat_explorer.widgets import Explorer


def test_looks_at_the_test_rows_are_counted(explorer: Explorer) -> None:
    look = explorer.last_look
    assert look.get_state()["reason"] == "There is no model yet: start the run."
    explorer.start()
    explorer.wait(60)
    assert (look.reason, look.count, look.result) == ("", 0, "")
    look._handle_custom_msg({"command": "look"}, [])
    result = explorer.run.test()
    assert look.count == 1
    assert f"{100 * result.error:.2f} %" in look.result
    assert f"{result.loss:.4f}" in look.result
    (drawn,) = explorer.tuner.plot.select_traces({"name": "last look"})
    assert (drawn.x.tolist(), drawn.y.tolist()) == ([explorer.run.kept.number], [result.loss])
    explorer.tuner.worker.report()
    assert look.count == explorer.run.looks == 2
    explorer.restart()
    explorer.wait(60)
    assert (look.count, look.result) == (0, "")
    assert len(drawn.x) == 0


def test_where_test_rows_stop_a_run_the_look_is_at_the_final_ones(data: lsat.Data, recipe: lsat.Recipe) -> None:
    X, y = data.train.inputs.numpy(), data.train.labels
    final = lsat.Data.from_arrays(X, y, validation=0.3, test=0.2, final=0.2)
    early = lsat.Recipe(method=recipe.method, early_stopping=lsat.EarlyStopping(patience=3))
    explorer = Explorer(final, early)
    explorer.start()
    explorer.wait(60)
    loss = explorer.last_look.look().loss
    assert explorer.last_look.result.startswith("Final error ")
    (drawn,) = explorer.tuner.plot.select_traces({"name": "last look"})
    assert drawn.y.tolist() == [loss]
    assert drawn.hovertemplate.startswith("final loss ")
    explorer.close()


def test_a_look_from_a_cell_is_counted_once_the_cell_has_been_run(
    data: lsat.Data, recipe: lsat.Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    explorer = shell.user_ns["explorer"] = Explorer(data, recipe)
    explorer.start()
    explorer.wait(60)
    before = len(shell.events.callbacks["post_run_cell"])
    shell.run_cell("explorer.run.test();")
    assert explorer.last_look.count == explorer.run.looks == 1
    explorer.last_look._handle_custom_msg({"command": "look"}, [])
    assert explorer.last_look.count == explorer.run.looks == 2
    explorer.close()
    assert len(shell.events.callbacks["post_run_cell"]) == before - 1


def test_a_look_is_that_of_the_run_that_was_shown_when_it_began(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer.start()
    explorer.wait(60)
    explorer.restart()
    explorer.wait(60)
    look, (first, second) = explorer.last_look, (kept.run for kept in explorer.runs)
    test = type(second).test

    def slow(run: Any) -> Any:
        result = test(run)
        explorer.table.chosen = 1  # what a cell does meanwhile
        return result

    monkeypatch.setattr(type(second), "test", slow)
    look._handle_custom_msg({"command": "look"}, [])
    assert (look.result, look.count) == ("", 0)
    assert (look.of(first), look.of(second)) == (None, (second.kept.number, look.of(second)[1]))
    explorer.table.chosen = 0
    assert look.result.startswith("Test error ")


def test_a_look_that_fails_twice_says_so_twice_and_of_its_run_alone(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_run: Any) -> None:
        raise ValueError("Rows are gone.")

    explorer.start()
    explorer.wait(60)
    explorer.restart()
    explorer.wait(60)
    look, said = explorer.last_look, []
    look.observe(lambda change: said.append(change.new), "problem")
    monkeypatch.setattr(type(explorer.run), "test", fail)
    for _ in range(2):
        look._handle_custom_msg({"command": "look"}, [])
    assert said == ["Rows are gone.", "", "Rows are gone."]
    explorer.table.chosen = 1
    assert look.problem == ""
