"""The Explorer shows and steers runs on rows on disk and with dask, which only what it shows is fetched of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from cluster import distributed
from lsat_explorer.data.on_disk import RowsApart, RowsOnDisk
from lsat_explorer.data.on_workers import RowsOnWorkers
from lsat_explorer.model.cluster import connected
from lsat_explorer.widgets import Explorer

array = pytest.importorskip("dask.array")

RECIPE = lsat.Recipe(
    featurizer=lsat.Concat(x=lsat.Identity(), one=lsat.Constant()),
    regularizer=lsat.Stack(ridge=lsat.Ridge(block="x"), smooth=lsat.Smooth(lsat.graphs.grid(8, 8), block="x")),
    data_weights=lsat.LogWeights(),
    method=lsat.LineSearch(max_iterations=3),
)
WHERE = ["a file by chunks", "a file by workers", "dask"]


@pytest.fixture(scope="module")
def processes() -> Iterator[lsat.Dask]:
    """Two processes, and a client of the user's, as a notebook has them."""
    engine = lsat.Dask.local(workers=2)
    with distributed.Client(engine.address):
        yield engine
    connected(engine.address).close()


@pytest.fixture(params=WHERE)
def explorer(request, digits: lsat.Data, processes: lsat.Dask, tmp_path, monkeypatch) -> Iterator[Explorer]:
    monkeypatch.setattr("lsat_explorer.engines.loaded._PREPARED", 50)
    given = {}
    for split in ("train", "validation"):
        rows = getattr(digits, split)
        np.save(tmp_path / f"{split}.npy", rows.inputs.numpy())
        dask = array.from_array(rows.inputs.numpy(), chunks=(300, -1))
        given[split] = (dask if request.param == "dask" else tmp_path / f"{split}.npy", rows.labels)
    engine: Any = lsat.Chunks(memory="200 kB") if request.param == WHERE[0] else processes
    data = lsat.Data.from_rows(**given, image_shape=(8, 8))
    made = Explorer(data, RECIPE.replace(engine=engine), keep=False)
    yield made
    made.close()


class Fetched:
    """Rows that were indexed, and the splits of which all were asked for at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows, self.whole = 0, 0
        chosen = RowsOnWorkers._chosen

        def fetch(rows: RowsOnWorkers, numbers: np.ndarray, *more: Any) -> torch.Tensor:
            self._note(rows, len(numbers))
            return chosen(rows, numbers, *more)

        def index(rows: RowsOnDisk, at: Any) -> torch.Tensor:
            found: torch.Tensor = torch.Tensor.__getitem__(rows, at)
            self._note(rows, len(found) if found.ndim > 1 else 1)
            return found

        monkeypatch.setattr(RowsOnWorkers, "_chosen", fetch)
        monkeypatch.setattr(RowsOnDisk, "__getitem__", index, raising=False)

    def _note(self, rows: RowsApart, count: int) -> None:
        self.rows += count
        self.whole += count == len(rows)


def test_a_run_is_started_shown_and_looked_into(explorer: Explorer, digits: lsat.Data, monkeypatch) -> None:
    fetched = Fetched(monkeypatch)
    explorer.start()
    explorer.wait(timeout=120)
    engine = explorer.recipe.engine
    assert explorer.tuner.controls.dashboard == (engine.dashboard if isinstance(engine, lsat.Dask) else "")
    assert explorer.run.status is lsat.Status.MAX_ITERATIONS
    same = lsat.tune(RECIPE, digits, progress=False)
    assert explorer.run.iterates[-1].objective == pytest.approx(same.iterates[-1].objective, rel=1e-5)
    browser = explorer.browser
    for order in ("lightest", "heaviest"):
        browser.order = order
        browser.wait()
        page = browser._shown["positions"]
        weights = explorer.run.weights()
        ends = np.sort(weights)[: len(page)] if order == "lightest" else np.sort(weights)[::-1][: len(page)]
        np.testing.assert_allclose(weights[page], ends)
        assert browser._sprite
    browser.selected = [explorer.data.train.rows[5]]
    browser.wait()
    assert browser._zoom
    model, row = explorer.model, explorer.data.validation.rows[3]
    assert len(lsat.explain.attribution(model, row)) == len(digits.train)
    answer = lsat.explain.what_if(model, drop=[explorer.data.train.rows[5]])
    assert answer.after.loss == pytest.approx(answer.before.loss, abs=0.1)
    assert fetched.whole == 0
    assert 0 < fetched.rows < 500  # some that a featurizer is prepared on, and pages
