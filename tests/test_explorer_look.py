"""Looks at the test rows in the explorer: they are counted, said, and drawn."""

from __future__ import annotations

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
