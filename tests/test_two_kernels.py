"""Two kernels at once on one notebook: each has its own run, and neither loses or mixes what both keep beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import lsat_explorer as lsat
from kept_runs import RECIPE, in_notebook, losses
from lsat_explorer.widgets import Explorer
from test_problem import make_data

pytestmark = pytest.mark.slow
MAKE = """
import json
import lsat_explorer as lsat
from kept_runs import RECIPE, losses
from test_problem import make_data
recipe = RECIPE.replace(regularizer=lsat.Ridge(block="features", log_weight={weight}))
explorer = lsat.widgets.Explorer(make_data(), recipe)
explorer.runs[0].name = "weight {weight}"
"""
WEIGHTS = (-1.0, 0.5)


@contextmanager
def kernel(folder: Path) -> Iterator[Any]:
    """A kernel in a folder: what it is told to do, without waiting, and what it has said, which waits."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(cwd=str(folder))

    def ask(code: str) -> str:
        said: list[str] = []
        reply = client.execute_interactive(
            code, timeout=120, output_hook=lambda message: said.append(message["content"].get("text", ""))
        )
        assert reply["content"]["status"] == "ok", "\n".join(reply["content"].get("traceback", []))
        return "".join(said)

    try:
        yield ask
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_two_kernels_at_once_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_notebook(tmp_path, monkeypatch)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    data = make_data()
    recipes = [RECIPE.replace(regularizer=lsat.Ridge(block="features", log_weight=weight)) for weight in WEIGHTS]
    alone = [losses(lsat.tune(recipe, data, progress=False)) for recipe in recipes]
    with ExitStack() as stack:
        kernels = [stack.enter_context(kernel(tmp_path)) for _ in WEIGHTS]
        for ask, weight in zip(kernels, WEIGHTS, strict=True):
            ask(MAKE.format(weight=weight))
        for ask in kernels:
            ask("explorer.start()")  # it returns at once: both run
        found = [
            json.loads(ask("explorer.wait(100); print(json.dumps(losses(explorer.run)))").splitlines()[-1])
            for ask in kernels
        ]
        for place, ask in enumerate(kernels):
            ask(f"explorer.browser.verdicts.drop(explorer.data.train.rows[{place}:{place + 1}])")
            ask("explorer.close()")
    for mine, theirs in zip(found, alone, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9)
    kept = []
    for _ in WEIGHTS:
        explorer = Explorer(data, RECIPE)
        kept += [(run.name, losses(run.run)) for run in explorer.restore()]
        if len(kept) == 1:
            assert set(explorer.browser.verdicts) == set(data.train.rows[:2].tolist())
        stack.callback(explorer.close)
    stack.close()
    expected = sorted(zip((f"weight {weight}" for weight in WEIGHTS), found, strict=True))
    assert [name for name, _ in sorted(kept)] == [name for name, _ in expected]
    for (_, mine), (_, theirs) in zip(sorted(kept), expected, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-12)
