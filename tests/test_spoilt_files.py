"""Files that are spoilt at random: each is read, or refused in a sentence of our own, without much memory.

`LSAT_FUZZ=50 pytest -s tests/test_spoilt_files.py` (`make fuzz`) spoils fifty times as many.
"""

from __future__ import annotations

import resource
import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import lsat_explorer as lsat
from lsat_explorer.data.idx import read_idx, write_idx
from strangers import fill
from telling import TIMES, telling
from test_problem import make_data

TRIED: Counter[str] = Counter()
often = settings(max_examples=150 * TIMES, deadline=None, suppress_health_check=list(HealthCheck))
told = telling("files spoilt at random", "files", TRIED, "no crash, no large allocation")
COMPRESSED = ("gz", "bz2", "xz", "zip")


@st.composite
def spoilt(draw: st.DrawFn, raw: bytes) -> bytes:
    """Bytes of which some are others, cut off, left out or more."""
    raw = bytearray(raw)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(raw) - 1, 0)))
        kind = draw(st.sampled_from(["flip", "flip", "cut", "insert", "drop", "number"]))
        if kind == "flip" and raw:
            raw[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            raw = raw[:place]
        elif kind == "insert":
            raw[place:place] = draw(st.binary(min_size=1, max_size=20))
        elif kind == "drop":
            del raw[place : place + draw(st.integers(1, 20))]
        else:
            raw[place : place + 1] = str(draw(st.integers(-1, 10**20))).encode()
    return bytes(raw)


def read_model(folder: Path) -> None:
    model = lsat.FittedModel.load(folder / "run/model.safetensors")
    model.decision_function(np.ones((2, len(model.feature_names))))
    model.predict(np.ones((2, len(model.feature_names))))


def read_run(folder: Path) -> None:
    run = lsat.Run.load(folder / "run")
    repr(run)
    run.history()


def read_arrays(folder: Path) -> None:
    lsat.Data.from_rows(train=(folder / "X.npy", folder / "y.npy"), validation=(folder / "V.npy", folder / "W.npy"))


def read_pictures(folder: Path) -> None:
    lsat.datasets.from_folder(folder / "pictures", progress=False, cache=False)


def read_csv(name: str, folder: Path) -> None:
    lsat.datasets.from_csv(folder / name, "y", progress=False, cache=False)


def read_parquet(folder: Path) -> None:
    lsat.datasets.from_parquet(folder / "t.parquet", "y", progress=False, cache=False)


def read_rows_of_parquet(folder: Path) -> None:
    lsat.Data.from_rows(folder / "t.parquet", folder / "whole.parquet", target="y")


def read_zarr(folder: Path) -> None:
    X, y = zarr.open_array(folder / "X.zarr", mode="r"), np.load(folder / "y.npy")
    lsat.Data.from_rows((X, y), (X, y))


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "model": ("run/model.safetensors", read_model),
    "recipe": ("run/recipe.json", read_run),
    "about": ("run/run.json", read_run),
    "iterates": ("run/iterates.csv", read_run),
    "checkpoint": ("kept/checkpoint.safetensors", lambda folder: lsat.Run.resume(folder / "kept", make_data())),
    "verdicts": ("verdicts.json", lambda folder: lsat.Verdicts(folder / "verdicts.json")),
    "npy": ("X.npy", read_arrays),
    "idx": ("X-idx", lambda folder: read_idx(folder / "X-idx")),
    "zipped idx": ("X-idx.gz", lambda folder: read_idx(folder / "X-idx.gz")),
    "png": ("pictures/cat/0.png", read_pictures),
    "csv": ("t.csv", partial(read_csv, "t.csv")),
    **{f"csv, {kind}": (f"t.csv.{kind}", partial(read_csv, f"t.csv.{kind}")) for kind in COMPRESSED},
    "parquet": ("t.parquet", read_parquet),
    "rows of parquet": ("t.parquet", read_rows_of_parquet),
    "zarr": ("X.zarr/c/0/0", read_zarr),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with files of all kinds that are spoilt one at a time."""
    other = fill(tmp_path_factory.mktemp("spoilt"))
    random = np.random.default_rng(0)
    for name in ("V", "W"):
        shutil.copy(other / ("X.npy" if name == "V" else "y.npy"), other / f"{name}.npy")
    write_idx(other / "X-idx.gz", np.arange(60, dtype=np.uint8).reshape(3, 4, 5))
    for name in ("cat", "dog"):
        (other / "pictures" / name).mkdir(parents=True)
        for number in range(4):
            pixels = random.integers(0, 255, (4, 5, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(other / "pictures" / name / f"{number}.png")
    table = pd.DataFrame({"a": np.arange(30), "b": np.arange(30) % 5, "y": np.arange(30) % 7 + 0.5})
    for name in ("t.csv", *(f"t.csv.{kind}" for kind in COMPRESSED)):
        table.to_csv(other / name, index=False)
    for name in ("t.parquet", "whole.parquet"):
        table.astype(float).to_parquet(other / name)
    zarr.create_array(other / "X.zarr", data=np.load(other / "X.npy"), chunks=(10, 3))
    return other


@pytest.fixture
def not_much_memory() -> Iterator[None]:
    """Fail where reading a small file takes more than 256 MB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 2**10  # KiB


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.filterwarnings("ignore::pandas.errors.DtypeWarning")
def test_a_spoilt_file_is_read_or_refused(kind: str, whole: Path, not_much_memory: None) -> None:
    name, read = READERS[kind]
    path = whole / name
    raw = path.read_bytes()
    count = 12 if kind in ("checkpoint", "recipe") else 25

    @settings(often, max_examples=count * TIMES)
    @given(spoilt(raw))
    def attempt(content: bytes) -> None:
        path.write_bytes(content)
        refusal = None
        try:
            read(whole)
        except ValueError as error:
            refusal = error
        TRIED["read" if refusal is None else "refused"] += 1
        if refusal is not None:
            where = traceback.extract_tb(refusal.__traceback__)[-1].filename
            assert "lsat_explorer" in where, f"{where} says {refusal}"

    try:
        attempt()
    finally:
        path.write_bytes(raw)
    read(whole)
