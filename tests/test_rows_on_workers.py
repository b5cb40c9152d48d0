"""Rows of dask's arrays and data frames are looked at, read and fitted in their partitions, where dask has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.data.on_workers import RowsOnWorkers
from lsat_explorer.model.cluster import connected

distributed = pytest.importorskip("distributed", reason="there is no dask.distributed: pip install .[dask]")
array = pytest.importorskip("dask.array")
frame = pytest.importorskip("dask.dataframe")

K, V, D = 300, 120, 6
NAMES = [f"c{column}" for column in range(D)]
Pairs = dict[str, tuple[np.ndarray, np.ndarray]]


@pytest.fixture
def pairs() -> Pairs:
    generator = np.random.default_rng(0)
    found = {}
    for split, count in (("train", K), ("validation", V)):
        classes = generator.integers(0, 3, size=count)
        X = (np.eye(3, D)[classes] + 0.5 * generator.normal(size=(count, D))).astype(np.float32)
        found[split] = X, np.array(["ape", "bee", "cat"])[classes]
    return found


@pytest.fixture(scope="module")
def engine() -> Iterator[lsat.Dask]:
    """Two workers in this process, and a client of the user's."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as workers,
        distributed.Client(workers),
    ):
        engine = lsat.Dask(workers)
        yield engine
        connected(engine.address).close()


def arrays(X: np.ndarray, y: np.ndarray) -> Any:
    return array.from_array(X, chunks=(70, 4)), array.from_array(y, chunks=50)


def array_with_labels_in_memory(X: np.ndarray, y: np.ndarray) -> Any:
    return array.from_array(X, chunks=(70, D)), y


def an_array_of_unknown_length(X: np.ndarray, y: np.ndarray) -> Any:
    frames = frames_of_both(X, y)
    return frames[0].to_dask_array(), frames[1]


def frames_of_both(X: np.ndarray, y: np.ndarray) -> Any:
    table = frame.from_pandas(pd.DataFrame(X, columns=NAMES).assign(label=y), npartitions=4)
    return table[NAMES], table["label"]


def table(X: np.ndarray, y: np.ndarray) -> Any:
    return frame.from_pandas(pd.DataFrame(X, columns=NAMES).assign(label=y), npartitions=4)


KINDS = [arrays, array_with_labels_in_memory, an_array_of_unknown_length, frames_of_both, table]


@pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)
def test_rows_of_dask_are_the_rows_in_memory(make, pairs: Pairs, engine: lsat.Dask) -> None:
    given = {split: make(*pair) for split, pair in pairs.items()}
    data = lsat.Data.from_rows(**given, target="label" if make is table else None)
    same = lsat.Data.from_splits(**pairs)
    assert repr(data) == repr(same)
    assert data.classes == same.classes
    rows: Any = data.train.inputs
    assert isinstance(rows, RowsOnWorkers)
    assert len(rows.parts) > 1
    assert rows.dtype == torch.float32
    assert torch.equal(data.train.targets, same.train.targets)
    for index in (5, slice(60, 90), [3, 1, 299], torch.tensor([[0, 1], [-1, 2]]), (slice(2, 200), 1), ...):
        assert torch.equal(rows[index], same.train.inputs[index])
    assert torch.equal(rows.take(torch.tensor([0, 80, 150])), same.train.inputs[[0, 80, 150]])
    assert torch.equal(rows + 0, same.train.inputs)
    assert rows.bounds() == (float(same.train.inputs.min()), float(same.train.inputs.max()))
    if make in (frames_of_both, table):
        assert data.feature_names == tuple(NAMES)
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), method=lsat.LineSearch(max_iterations=2), dtype="float64")
    expected = lsat.tune(recipe, same, progress=False).iterates[-1].objective
    for each in (engine, lsat.Chunks(rows=37), lsat.Memory()):
        found = lsat.tune(recipe.replace(engine=each), data, progress=False).iterates[-1].objective
        assert found == pytest.approx(expected, rel=1e-9)


def test_features_stay_in_their_partitions_which_become_parts(pairs: Pairs, engine: lsat.Dask, monkeypatch) -> None:
    monkeypatch.setattr("lsat_explorer.engines.loaded._PREPARED", 20)
    data = lsat.Data.from_rows(**{split: arrays(*pair) for split, pair in pairs.items()})
    fetched: list[int] = []
    chosen = RowsOnWorkers._chosen

    def noted(self: RowsOnWorkers, numbers: np.ndarray) -> torch.Tensor:
        fetched.append(len(numbers))
        return chosen(self, numbers)

    monkeypatch.setattr(RowsOnWorkers, "_chosen", noted)
    client = connected(engine.address)
    monkeypatch.setattr(client, "scatter", None)
    run = lsat.tune(lsat.Recipe(engine=engine, data_weights=lsat.LogWeights()), data, progress=False)
    assert sum(fetched) == 20  # on which the featurizer was prepared
    assert run.problem is not None
    inputs: Any = data.train.inputs
    rows: Any = run.problem.parts[0].rows
    assert rows._cuts == inputs.cuts


def test_folds_of_partitions_are_made_on_the_workers(pairs: Pairs, engine: lsat.Dask, monkeypatch) -> None:
    monkeypatch.setattr("lsat_explorer.engines.loaded._PREPARED", 20)
    data = lsat.Data.from_rows(**{split: arrays(*pair) for split, pair in pairs.items()})
    recipe = lsat.Recipe(
        criterion=lsat.KFold(3),
        featurizer=lsat.Concat(x=lsat.Identity(), one=lsat.Constant()),
        regularizer=lsat.Ridge(block="x"),
        data_weights=lsat.LogWeights(),
        method=lsat.LineSearch(max_iterations=2),
    )
    expected = lsat.tune(recipe, lsat.Data.from_splits(**pairs), progress=False).iterates[-1].objective
    fetched: list[int] = []
    chosen = RowsOnWorkers._chosen
    noted = lambda self, numbers, *more: fetched.append(len(numbers)) or chosen(self, numbers, *more)  # noqa: E731
    monkeypatch.setattr(RowsOnWorkers, "_chosen", noted)
    run = lsat.tune(recipe.replace(engine=engine), data, progress=False)
    assert run.iterates[-1].objective == pytest.approx(expected, rel=1e-9)
    assert sum(fetched) == 20  # on which the featurizer was prepared
    fold: Any = data.train.inputs
    numbers = torch.tensor([0, 69, 70, 299])
    assert torch.equal(fold.chosen(numbers).read(slice(None)), torch.from_numpy(pairs["train"][0])[numbers])


@pytest.mark.parametrize("criterion", [lsat.HeldOut(), lsat.LeaveOneOut(), lsat.GCV()], ids=repr)
def test_the_error_of_several_outputs_is_that_of_rows_in_memory(pairs: Pairs, engine: lsat.Dask, criterion) -> None:
    given = {split: (X, X[:, :3] + X[:, 3:] ** 2) for split, (X, _) in pairs.items()}
    recipe = lsat.Recipe(criterion=criterion, method=lsat.LineSearch(max_iterations=1))
    here = lsat.tune(recipe, lsat.Data.from_splits(**given), progress=False)
    there = lsat.tune(recipe.replace(engine=engine), lsat.Data.from_splits(**given), progress=False)
    assert [it.error for it in there.iterates] == pytest.approx([it.error for it in here.iterates], rel=1e-6)


def test_an_entry_that_is_not_finite_is_named_by_its_row_of_all(pairs: Pairs) -> None:
    pairs["validation"][0][101, 2] = np.nan
    for make in KINDS:
        given = {split: make(*pair) for split, pair in pairs.items()}
        with pytest.raises(ValueError, match=r"validation X has nan at row 101, column 2"):
            lsat.Data.from_rows(**given, target="label" if make is table else None)


def test_a_column_that_one_partition_lacks_is_named(pairs: Pairs) -> None:
    import dask

    whole = pd.DataFrame(pairs["train"][0], columns=NAMES).assign(label=pairs["train"][1])
    parts = [dask.delayed(whole[:100]), dask.delayed(whole[100:].drop(columns="c4"))]
    short = frame.from_delayed(parts, meta=whole[:0], verify_meta=False)
    with pytest.raises(
        ValueError, match=r"partition 1 of training X has 5 columns, c0, c1, c2, c3, c5, the first has 6"
    ):
        lsat.Data.from_rows(short, table(*pairs["validation"]), target="label")


@pytest.mark.parametrize(
    ("train", "target", "message"),
    [
        (lambda X, y: (array.from_array(X), y[:9]), None, "training X has 300 rows and training y has 9"),
        (lambda X, y: (table(X, y)[NAMES], y), None, "training y is a ndarray and training X has part"),
        (lambda X, y: (table(X, y)[NAMES], table(X, y).label.repartition(npartitions=2)), None, "4 part.* and .* 2"),
        (lambda X, y: table(X, y), None, "says nothing of y"),
        (lambda X, y: array.from_array(X), "label", "says nothing of y"),
        (lambda X, y: table(X, y), "name", "training rows lack the column 'name'; they have c0, c1"),
        (lambda X, y: (array.from_array(X[:0]), y[:0]), None, "training X has no rows"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_a_sentence(pairs: Pairs, train, target, message) -> None:
    with pytest.raises(ValueError, match=message):
        lsat.Data.from_rows(
            train(*pairs["train"]), table(*pairs["validation"]) if target else pairs["validation"], target=target
        )


def test_pictures_of_rows_of_dask(pairs: Pairs) -> None:
    X = np.random.default_rng(0).uniform(size=(20, 4, 3)).astype(np.float32)
    y = np.arange(20) % 2
    data = lsat.Data.from_rows((array.from_array(X, chunks=(7, 2, 3)), y), (X, y), image_shape=(4, 3))
    same = lsat.Data.from_splits((X, y), (X, y), image_shape=(4, 3))
    np.testing.assert_array_equal(data.images("train", [3, 1]), same.images("train", [3, 1]))
