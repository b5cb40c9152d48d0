"""Files from strangers: models, runs, verdicts, arrays and pictures are read right, or refused in a sentence.

Nothing in them is unpickled, imported, evaluated or fetched, and no size that they promise is believed. Files that are
spoilt at random are in `test_spoilt_files.py`.
"""

from __future__ import annotations

import ast
import gzip
import json
import resource
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import lsat_explorer as lsat
from lsat_explorer.data.idx import read_idx
from strangers import fill

PACKAGE = Path(lsat.__file__).parent


# --- the sources -----------------------------------------------------------------------------------------------------

FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "code"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}


def test_no_source_of_the_package_unpickles_or_evaluates() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [name.name.split(".")[0] for name in node.names if name.name.split(".")[0] in FORBIDDEN_MODULES]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [name for name in [(node.module or "").split(".")[0]] if name in FORBIDDEN_MODULES]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names = [node.func.id] if node.func.id in FORBIDDEN_CALLS else []
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                whose = ast.unparse(node.func)
                names = (
                    [whose] if whose in ("torch.load", "joblib.load", "pd.read_pickle", "pandas.read_pickle") else []
                )
                pickles = [k for k in node.keywords if k.arg == "allow_pickle" and ast.unparse(k.value) != "False"]
                names += [f"{whose}(allow_pickle)"] * len(pickles)
            found += [f"{path.name}:{node.lineno} {name}" for name in names]
    assert found == []


# --- what reading them sets off --------------------------------------------------------------------------------------

READING = """
import sys
from pathlib import Path

import lsat_explorer as lsat
from lsat_explorer.data.idx import read_idx
from lsat_explorer.tune.checkpoint_file import read_state

folder = Path(sys.argv[1])
heard = []

def all_of_it():
    lsat.FittedModel.load(folder / "run" / "model.safetensors")
    lsat.Run.load(folder / "run")
    lsat.Recipe.from_json((folder / "run" / "recipe.json").read_text())
    read_state(folder / "kept" / "checkpoint.safetensors")
    lsat.Verdicts(folder / "verdicts.json")
    lsat.Data.from_rows((folder / "X.npy", folder / "y.npy"), (folder / "X.npy", folder / "y.npy"))
    read_idx(folder / "X-idx")
    for name in ("model", "recipe", "verdicts", "npy"):
        try:
            {"model": lambda: lsat.FittedModel.load(folder / "bad"),
             "recipe": lambda: lsat.Recipe.from_json("{"),
             "verdicts": lambda: lsat.Verdicts(folder / "bad"),
             "npy": lambda: lsat.Data.from_rows((folder / "pickled.npy",) * 2, (folder / "X.npy",) * 2)}[name]()
        except ValueError:
            pass

all_of_it()  # what is imported at first use is there after this
listening = True

def hear(event, arguments):
    if not listening:
        return
    if event == "compile" and arguments[0].startswith(b"{'descr'"):
        pass  # numpy reads the header of an .npy file by ast.literal_eval, which makes a tree and executes nothing
    elif event.startswith(("pickle", "exec", "compile", "import", "subprocess", "socket", "os.system", "os.exec",
                         "ctypes", "os.spawn", "os.posix_spawn", "os.fork", "urllib", "marshal", "webbrowser")):
        heard.append(f"{event} {arguments[:1]}")
    elif event == "open" and isinstance(arguments[0], str):
        there = Path(arguments[0])
        if folder not in there.parents:
            heard.append(f"open {there}")

sys.addaudithook(hear)
all_of_it()
listening = False
print("\\n".join(sorted(set(heard))))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("strangers"))


def test_reading_imports_evaluates_unpickles_and_fetches_nothing(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", READING, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


# --- false promises --------------------------------------------------------------------------------------------------


def header_of(raw: bytes) -> dict[str, Any]:
    size = int.from_bytes(raw[:8], "little")
    return dict(json.loads(raw[8 : 8 + size]))


def with_header(raw: bytes, header: dict[str, Any] | bytes) -> bytes:
    size = int.from_bytes(raw[:8], "little")
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + raw[8 + size :]


def changed(raw: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    header = header_of(raw)
    change(header)
    return with_header(raw, header)


def end_of(header: dict[str, Any]) -> int:
    return max(about["data_offsets"][1] for name, about in header.items() if name != "__metadata__")


def described(raw: bytes, **changes: Any) -> bytes:
    """The file of a model that says something else of itself."""
    header = header_of(raw)
    said = {**json.loads(header["__metadata__"]["model"]), **changes}
    header["__metadata__"]["model"] = json.dumps(said)
    return with_header(raw, header)


MODELS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a header of 2^63 bytes": (lambda raw: struct.pack("<Q", 2**63) + raw[8:], "its header would take 9,223,372"),
    "an empty file": (lambda raw: b"", "it is empty"),
    "a header that is cut off": (lambda raw: raw[:100], "its header would take"),
    "tensors that are cut off": (lambda raw: raw[:-8], r"promises|its tensors take"),
    "tensors and more": (lambda raw: raw + b"more", "its tensors take"),
    "a tensor of exabytes": (
        lambda raw: changed(raw, lambda h: h["theta"].update(shape=[2**60, 8])),
        "'theta' of shape .* promises 73,786,976,294,838,206,464 bytes",
    ),
    "a negative size": (lambda raw: changed(raw, lambda h: h["theta"].update(shape=[-1, 3])), "has no shape and place"),
    "a size that is no whole number": (
        lambda raw: changed(raw, lambda h: h["theta"].update(shape=[1.5, True])),
        "has no shape and place",
    ),
    "tensors that overlap": (
        lambda raw: changed(raw, lambda h: h["theta"].update(data_offsets=[0, 8])),
        "promises|its tensors take",
    ),
    "an unknown dtype": (lambda raw: changed(raw, lambda h: h["theta"].update(dtype="PY")), "the unknown type 'PY'"),
    "a tensor of a long name": (
        lambda raw: changed(raw, lambda h: h.update({"x" * 2000: h.pop("theta")})),
        "has 2,000 letters",
    ),
    "a tensor too many": (
        lambda raw: changed(
            raw, lambda h: h.update(thetta={"dtype": "F64", "shape": [0], "data_offsets": [end_of(h)] * 2})
        ),
        "A model of this recipe has no 'thetta': did you mean 'theta'",
    ),
    "a header nested a million deep": (lambda raw: with_header(raw, b"[" * 10**6), "nested too deeply"),
    "a key twice": (lambda raw: with_header(raw, b'{"a": 1, "a": 2}'), "a key stands there twice"),
    "a header that is a list": (lambda raw: with_header(raw, b"[]"), "it holds a list"),
    "an unknown text": (
        lambda raw: changed(raw, lambda h: h["__metadata__"].update(recipee="")),
        "The header has no 'recipee': did you mean 'recipe'",
    ),
    "an unknown key": (lambda raw: described(raw, clases=[]), "A model has no 'clases': did you mean 'classes'"),
    "classes that are objects": (lambda raw: described(raw, classes=[{}, {}, {}]), "classes are no list of labels"),
    "one class too many": (
        lambda raw: described(raw, classes=["a", "b", "c", "d"]),
        r"theta is \(\d+, 2\) .* expected finite float64 \(\d+, 4\)",
    ),
    "names that are numbers": (lambda raw: described(raw, feature_names=[1] * 6), "feature_names are no list of names"),
    "a name too few": (lambda raw: described(raw, feature_names=["a"] * 5), "is damaged"),
    "a fill of words": (lambda raw: described(raw, fill=["a"] * 6), "is damaged"),
    "outputs that are numbers": (
        lambda raw: described(raw, target_names=[1, 2]),
        "target_names are no list of names",
    ),
    "outputs that are a word": (lambda raw: described(raw, target_names="ab"), "target_names are no list of names"),
    "an output too few": (
        lambda raw: described(raw, target_names=["a"], classes=None),
        r"target_names are \['a'\], expected one for each of 2 outputs",
    ),
    "an output twice": (
        lambda raw: described(raw, target_names=["a", "a"], classes=None),
        r"target_names are \['a', 'a'\], expected one for each of 2 outputs",
    ),
    "outputs beside classes": (
        lambda raw: described(raw, target_names=["a", "b"], classes=["no", "yes"]),
        r"target_names are \['a', 'b'\], expected none, for there are classes",
    ),
    "an unknown entry of omega": (lambda raw: described(raw, omega=["none"]), "is damaged: KeyError"),
}


@pytest.mark.parametrize("case", MODELS)
def test_a_model_that_promises_what_it_does_not_hold_is_refused(case: str, folder: Path, tmp_path: Path) -> None:
    change, message = MODELS[case]
    path = tmp_path / "model.safetensors"
    path.write_bytes(change((folder / "run/model.safetensors").read_bytes()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=message):
        lsat.FittedModel.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 2**10  # KiB


@pytest.mark.parametrize(
    ("name", "key", "other", "message"),
    [
        (
            "run/run.json",
            '"looks"',
            '"lookss": 0, "looks"',
            r"run\.json is damaged: it has no 'lookss': did you mean 'looks'",
        ),
        ("verdicts.json", '"format"', '"formatt": 1, "format"', "it has no 'formatt': did you mean 'format'"),
        (
            "verdicts.json",
            '"kind": "drop"',
            '"kind": "drop", "too": 1',
            "entry 1 is no verdict: it has no 'too': did you",
        ),
        ("run/recipe.json", '"seed"', '"seedd": 1, "seed"', "The recipe has no 'seedd': did you mean 'seed'"),
    ],
)
def test_an_unknown_key_is_refused_by_name(
    name: str, key: str, other: str, message: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    text = (tmp_path / name).read_text()
    assert key in text
    (tmp_path / name).write_text(text.replace(key, other, 1))
    with pytest.raises(ValueError, match=message):
        lsat.Verdicts(tmp_path / name) if "verdicts" in name else lsat.Run.load(tmp_path / "run")


def bomb(path: Path, width: int = 60_000) -> None:
    """A PNG of 3.6 billion pixels in a few bytes."""
    chunk = struct.pack(">IIBBBBB", width, width, 8, 0, 0, 0, 0)
    parts = [(b"IHDR", chunk), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    blocks = [struct.pack(">I", len(b)) + n + b + struct.pack(">I", zlib.crc32(n + b)) for n, b in parts]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(blocks))


@pytest.mark.parametrize("width", [60_000, 12_000])
def test_a_picture_of_more_pixels_than_a_picture_has_is_refused(width: int, tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        Image.fromarray(np.zeros((4, 5), np.uint8)).save(tmp_path / name / "0.png")
    bomb(tmp_path / "cat/1.png", width)
    with pytest.raises(ValueError, match=r"1\.png promises more pixels than a picture has"):
        lsat.datasets.from_folder(tmp_path, progress=False, cache=False)


def test_arrays_that_promise_terabytes_or_objects_are_refused(folder: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a").write_bytes(struct.pack(">BBBB3I", 0, 0, 8, 3, 2**31, 2**10, 2**10))
    with pytest.raises(ValueError, match="which is 2,251,799,813,685,248 bytes, and holds only 0"):
        read_idx(tmp_path / "a")
    monkeypatch.setattr("lsat_explorer.data.idx._MOST", 1000)
    (tmp_path / "b").write_bytes(gzip.compress(struct.pack(">BBBB1I", 0, 0, 8, 1, 10**6) + bytes(10**6)))
    with pytest.raises(ValueError, match="holds more than 1,000 bytes"):
        read_idx(tmp_path / "b")
    whole = (folder / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(whole.replace(b"(20, 3)", b"(2000000000000, 3)"))
    for path in (tmp_path / "X.npy", folder / "pickled.npy"):
        with pytest.raises(ValueError, match=r"npy is no whole \.npy file"):
            lsat.Data.from_rows((path, folder / "y.npy"), (folder / "X.npy", folder / "y.npy"))
