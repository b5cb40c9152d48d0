"""Rows on disk are the rows in memory, are read once to be checked, and say what is wrong with their files."""

from __future__ import annotations

import errno
import gc
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.bench.machine import held_memory, peak_memory
from lsat_explorer.data import rows as rows_module
from lsat_explorer.data import sources
from lsat_explorer.data.on_disk import RowsOnDisk
from lsat_explorer.data.rows import NotEnoughDisk

K, V, D = 300, 120, 6
NAMES = [f"c{column}" for column in range(D)]


@pytest.fixture
def arrays() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(0)
    result = {}
    for split, count in (("train", K), ("validation", V), ("test", 40)):
        classes = generator.integers(0, 3, size=count)
        X = (np.eye(3, D)[classes] + 0.5 * generator.normal(size=(count, D))).astype(np.float32)
        result[split] = X, np.array(["ape", "bee", "cat"])[classes]
    return result


def npy(X: np.ndarray, y: np.ndarray, folder: Path, split: str) -> Any:
    np.save(folder / f"{split}_X.npy", X)
    np.save(folder / f"{split}_y.npy", y)
    return folder / f"{split}_X.npy", str(folder / f"{split}_y.npy")


def memory_map(X: np.ndarray, y: np.ndarray, folder: Path, split: str) -> Any:
    np.save(folder / f"{split}.npy", np.concatenate([X[:7], X]))
    return np.load(folder / f"{split}.npy", mmap_mode="r")[7:], y


def parquet(X: np.ndarray, y: np.ndarray, folder: Path, split: str) -> Any:
    table = pd.DataFrame(X, columns=NAMES).assign(label=y)
    table.to_parquet(folder / f"{split}.parquet")
    return folder / f"{split}.parquet"


def parts(X: np.ndarray, y: np.ndarray, folder: Path, split: str) -> Any:
    table = pd.DataFrame(X, columns=NAMES).assign(label=y)
    (folder / split).mkdir()
    for number, start in enumerate(range(0, len(X), 37)):
        columns = list(table.columns)[:: -1 if number % 2 else 1]  # parts may order their columns as they like
        table.iloc[start : start + 37][columns].to_parquet(folder / split / f"part-{number:02}.parquet", index=False)
    return str(folder / split)


def zarr(X: np.ndarray, y: np.ndarray, folder: Path, split: str) -> Any:
    zarr = pytest.importorskip("zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zarr.create_array(folder / f"{split}.zarr", data=X, chunks=(50, D)), y


def factory(X: np.ndarray, y: np.ndarray, folder: Path, split: str) -> Any:
    def chunks() -> Iterator[tuple[Any, Any]]:
        for start in range(0, len(X) + 1, 50):  # an empty chunk now and then does no harm
            yield X[start : start + 50], y[start : start + 50]

    return chunks


KINDS = [npy, memory_map, parquet, parts, zarr, factory]


@pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)
def test_rows_on_disk_are_the_rows_in_memory(make: Callable[..., Any], arrays, tmp_path: Path, monkeypatch) -> None:
    for module in (sources, rows_module):
        monkeypatch.setattr(module, "PASS_BYTES", 2048, raising=False)
    given = {split: make(*pair, tmp_path, split) for split, pair in arrays.items()}
    data = lsat.Data.from_rows(**given, target="label" if make in (parquet, parts) else None, name="rows")
    same = lsat.Data.from_splits(**arrays, name="rows")
    assert repr(data) == repr(same)
    assert data.classes == same.classes
    for ours, theirs in ((data.train, same.train), (data.validation, same.validation), (data.test, same.test)):
        assert isinstance(ours.inputs, RowsOnDisk)
        assert ours.inputs.dtype == torch.float32
        assert torch.equal(ours.inputs + 0, theirs.inputs)
        assert torch.equal(ours.inputs.read(slice(5, 9)), theirs.inputs[5:9])
        assert torch.equal(ours.targets, theirs.targets)
        assert ours.labels.tolist() == theirs.labels.tolist()
        assert ours.rows.tolist() == theirs.rows.tolist()
    if make in (parquet, parts):
        assert data.feature_names == tuple(NAMES)
    recipe = lsat.Recipe(method=lsat.LineSearch(max_iterations=3))
    runs = [
        lsat.tune(recipe.replace(engine=engine), rows, progress=False)
        for engine, rows in ((lsat.Chunks(memory="1 kB"), data), ("chunks", data), ("memory", same))
    ]
    assert [run.iterates[-1].objective for run in runs[:2]] == pytest.approx([runs[2].iterates[-1].objective] * 2)


def test_only_what_cannot_be_used_where_it_is_is_copied(arrays, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    in_place = {split: npy(*arrays[split], tmp_path, split) for split in ("train", "validation")}
    data = lsat.Data.from_rows(**in_place, folder=copies)
    assert list(copies.iterdir()) == []
    assert data.train.inputs.path == tmp_path / "train_X.npy"  # type: ignore[attr-defined]
    whole = {split: (X.astype(np.int64), y) for split, (X, y) in arrays.items()}
    data = lsat.Data.from_rows(**whole, folder=copies)
    assert len(list(copies.iterdir())) == 3
    assert torch.equal(data.train.inputs[3:5], torch.from_numpy(whole["train"][0][3:5]).double())
    again = pickle.loads(pickle.dumps(data.train.inputs))
    assert torch.equal(again[:], data.train.inputs[:])
    del data, again
    gc.collect()
    assert list(copies.iterdir()) == []


def test_pictures_and_rows_of_images_on_disk(tmp_path: Path) -> None:
    X = np.random.default_rng(0).uniform(size=(20, 4, 3)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    y = np.arange(20) % 2
    data = lsat.Data.from_rows((tmp_path / "X.npy", y), [(X, y)], image_shape=(4, 3))
    same = lsat.Data.from_splits((X, y), (X, y), image_shape=(4, 3))
    np.testing.assert_array_equal(data.images("train", [3, 1]), same.images("train", [3, 1]))
    assert torch.equal(data.validation.inputs[:], same.validation.inputs)


def test_chosen_rows_are_taken_in_one_pass(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("lsat_explorer.data.on_disk.PASS_BYTES", 100)
    X = np.random.default_rng(0).normal(size=(77, 3))
    X.tofile(tmp_path / "X.bin")
    rows = RowsOnDisk(tmp_path / "X.bin", (77, 3), X.dtype)
    chosen = torch.tensor([0, 1, 4, 30, 76])
    assert torch.equal(rows.take(chosen), torch.from_numpy(X)[chosen])


def with_nan(X: np.ndarray, row: int, column: int) -> np.ndarray:
    X = X.copy()
    X[row, column] = np.nan
    return X


@pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)
def test_an_entry_that_is_not_finite_is_named(make, arrays, tmp_path: Path) -> None:
    arrays["validation"] = with_nan(arrays["validation"][0], 101, 2), arrays["validation"][1]
    given = {split: make(*pair, tmp_path, split) for split, pair in arrays.items()}
    with pytest.raises(ValueError, match=r"validation X has nan at row 101, column 2"):
        lsat.Data.from_rows(**given, target="label" if make in (parquet, parts) else None, folder=tmp_path)
    del given
    gc.collect()
    assert list(tmp_path.glob("*.rows")) == []


def test_files_that_are_cut_off_are_named(arrays, tmp_path: Path) -> None:
    good = arrays["validation"]
    X, y = npy(*arrays["train"], tmp_path, "train")
    rows = lsat.Data.from_rows((X, y), good).train.inputs
    for path, cut, message in (
        (X, 0.5, "train_X.npy is no whole .npy file"),
        (Path(y), 0.5, "train_y.npy is no whole .npy file"),
        (Path(y), 0.0, "train_y.npy is no whole .npy file"),
    ):
        whole = path.read_bytes()
        path.write_bytes(whole[: int(cut * len(whole))])
        with pytest.raises(ValueError, match=message):
            lsat.Data.from_rows((X, y), good)
        if path == X:
            with pytest.raises(ValueError, match=r"now ends within row 147 of 300"):
                rows.read(slice(100, 200))
            with pytest.raises(ValueError, match="it is cut off"):
                pickle.loads(pickle.dumps(rows))
        path.write_bytes(whole)
    folder = Path(parts(*arrays["train"], tmp_path, "train"))
    part = sorted(folder.iterdir())[3]
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"part-03.parquet is no whole Parquet file .* cut off"):
        lsat.Data.from_rows(folder, folder, target="label")


def test_a_parquet_file_damaged_inside_is_named(arrays, tmp_path: Path) -> None:
    path = parquet(*arrays["train"], tmp_path, "train")
    whole = bytearray(path.read_bytes())
    whole[4:600] = bytes(596)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"train.parquet is no whole Parquet file"):
        lsat.Data.from_rows(path, path, target="label")


def test_a_row_group_that_is_read_late_and_damaged_is_named_and_leaves_nothing(arrays, tmp_path: Path) -> None:
    X, y = arrays["train"]
    path, copies = tmp_path / "train.parquet", tmp_path / "copies"
    copies.mkdir()
    pd.DataFrame(X, columns=NAMES).assign(label=y).to_parquet(path, row_group_size=50)
    groups = pytest.importorskip("pyarrow.parquet").ParquetFile(path).metadata
    start = groups.row_group(groups.num_row_groups - 1).column(0).data_page_offset
    whole = bytearray(path.read_bytes())
    whole[start : start + 200] = bytes(200)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"train.parquet is no whole Parquet file"):
        lsat.Data.from_rows(path, path, target="label", folder=copies)
    assert list(copies.iterdir()) == []


def test_a_file_cut_off_while_it_is_tuned_ends_the_run_with_its_last_iterate(arrays, tmp_path: Path) -> None:
    data = lsat.Data.from_rows(npy(*arrays["train"], tmp_path, "train"), arrays["validation"])
    run = lsat.Run(lsat.Recipe(engine=lsat.Chunks(rows=50), data_weights=lsat.LogWeights()), data)
    steps = run.steps()
    kept = [next(steps), next(steps)][-1]
    path = tmp_path / "train_X.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        ValueError, match=r"train_X.npy now ends within row 147 of 300: it was cut off while it was in use"
    ):
        list(steps)
    assert run.iterates[-1].number == kept.number
    path.write_bytes(whole)
    again = lsat.Run(run.recipe, data, run.omega)
    assert next(again.steps()).objective == pytest.approx(kept.objective)


def test_a_column_that_one_part_lacks_is_named(arrays, tmp_path: Path) -> None:
    folder = Path(parts(*arrays["train"], tmp_path, "train"))
    part = sorted(folder.iterdir())[2]
    pd.read_parquet(part).drop(columns="c4").to_parquet(part)
    with pytest.raises(ValueError, match=r"part-02.parquet lacks the column 'c4', which part-00.parquet has"):
        lsat.Data.from_rows(folder, folder, target="label")
    with pytest.raises(ValueError, match=r"part-00.parquet lacks the column 'y'; it has c0, c1"):
        lsat.Data.from_rows(folder, folder, target="y")


def test_a_part_in_float64_makes_all_rows_float64(arrays, tmp_path: Path) -> None:
    folder = Path(parts(*arrays["train"], tmp_path, "train"))
    part = sorted(folder.iterdir())[2]
    pd.read_parquet(part).astype({"c1": np.float64}).to_parquet(part)
    data = lsat.Data.from_rows(folder, folder, target="label")
    assert data.train.inputs.dtype == torch.float64
    np.testing.assert_array_equal(data.train.inputs[:], arrays["train"][0])


class _Full:
    def tofile(self, file: Any) -> None:
        raise self.error

    def __init__(self, error: OSError) -> None:
        self.error = error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), OSError("57 requested and 12 written")])
def test_a_full_disk_is_told_and_left_clean(arrays, tmp_path: Path, monkeypatch, error: OSError) -> None:
    monkeypatch.setattr(rows_module.np, "ascontiguousarray", lambda *_: _Full(error))
    with pytest.raises(NotEnoughDisk, match=r"has no room for the training rows: 0 MB .* folder"):
        lsat.Data.from_rows([arrays["train"]], [arrays["validation"]], folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("train", "options", "message"),
    [
        (lambda X, y: (X, y, y), {}, "tuple of 3, expected a pair"),
        (lambda X, y: ("none.npy", y), {}, "training X: there is no file none.npy"),
        (lambda X, y: (X[:9], y), {}, "9 rows and training y has 300"),
        (lambda X, y: (X.tolist(), y), {}, "training X is a list"),
        (lambda X, y: (X[:0], y[:0]), {}, "no rows"),
        (lambda X, y: [], {}, "no rows"),
        (lambda X, y: 3, {}, "are a int, expected a pair"),
        (lambda X, y: [X], {}, "chunk 0 of the training rows is a ndarray"),
        (lambda X, y: [(X, y), (X[:, :3], y)], {}, "chunk 1 of training X has 3 columns of float32, the first has 6"),
        (lambda X, y: [(X, y), (X.astype("f8"), y)], {}, "chunk 1 of training X has 6 columns of float64"),
        (lambda X, y: (X.astype("f8"), y), {}, "validation X is float32 and training X is float64"),
        (lambda X, y: (X[:, :3], y), {}, "validation X has 6 columns and training X has 3"),
        (lambda X, y: "rows.parquet", {}, "no target is given"),
        (lambda X, y: "rows.parquet", {"target": "y"}, "there is no Parquet at rows.parquet"),
        (lambda X, y: "rows.npy", {}, "says nothing of y"),
        (lambda X, y: (X, y), {"target": "y"}, "leave target out"),
        (lambda X, y: [(X, y)], {"folder": "/no/such/folder"}, "takes no file"),
        (lambda X, y: (X, ["dog"] * len(X)), {}, "training y has the single class 'dog'"),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(arrays, train, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        lsat.Data.from_rows(train(*arrays["train"]), arrays["validation"], **options)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is Linux's")
def test_a_tune_of_rows_on_disk_holds_a_part_of_them(tmp_path: Path) -> None:
    k, d = 160_000, 200
    generator = np.random.default_rng(0)
    np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (k, d))[:] = generator.random((k, d), np.float32)
    y = generator.normal(size=k)
    recipe = lsat.Recipe(
        engine=lsat.Chunks(memory="8 MB"),
        data_weights=lsat.LogWeights(),
        method=lsat.ProximalGradient(max_iterations=1),
    )
    small = [(generator.normal(size=(500, d)).astype(np.float32), generator.normal(size=500))]
    lsat.tune(recipe, lsat.Data.from_rows(small, small), progress=False)  # what is imported on the way
    before = held_memory()
    data = lsat.Data.from_rows((tmp_path / "X.npy", y), small)
    lsat.tune(recipe, data, progress=False)
    assert peak_memory() - before < 0.75 * data.train.inputs.nbytes


def test_a_file_that_python_2_wrote_is_read(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40.0)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (40L, 3L), }".ljust(117) + b"\n"
    (tmp_path / "X.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + X.tobytes())
    np.save(tmp_path / "y.npy", y)
    data = lsat.Data.from_rows(train=(tmp_path / "X.npy", tmp_path / "y.npy"), validation=(X, y))
    np.testing.assert_array_equal(data.train.inputs[:].numpy(), X)
