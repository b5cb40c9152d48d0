"""Checkpoints that are damaged, of other data or of a run that has not ended: what they are refused with."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import lsat_explorer as lsat
from checkpoints import CASES, always, data_of
from lsat_explorer import Checkpoint
from lsat_explorer.tune.checkpoint_file import NAME
from test_problem import make_data


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    for iterate in lsat.Run(CASES["line search"], data_of(), checkpoint=always(folder)).steps():
        if iterate.number == 4:
            break
    return folder / NAME


def test_there_has_to_be_a_checkpoint(tmp_path):
    with pytest.raises(ValueError, match=r"holds no checkpoint: checkpoint\.safetensors is missing"):
        lsat.Run.resume(tmp_path, data_of())
    with pytest.raises(ValueError, match="data is a NoneType, expected Data"):
        lsat.Run.resume(tmp_path, None)


def test_other_data_are_refused_by_name(kept):
    with pytest.raises(ValueError, match=r"on other data \(Data\(.*\)\), not on Data\(.*: give the data that it"):
        lsat.Run.resume(kept.parent, make_data(seed=3))


def test_a_file_that_is_cut_off_is_refused_wherever_it_ends(kept, tmp_path):
    content = kept.read_bytes()
    for end in [0, 1, 7, 8, 9, 500, *range(1000, len(content), 1500), len(content) - 1]:
        (tmp_path / NAME).write_bytes(content[:end])
        with pytest.raises(ValueError, match="is cut off, or is no checkpoint"):
            lsat.Run.resume(tmp_path, data_of())


def spoilt(path: Path, folder: Path, **header: object) -> Path:
    """Write a checkpoint again with other texts in its header."""
    with safe_open(path, framework="pt") as file:
        texts = file.metadata()
    said = json.loads(texts["run"]) | header.pop("said", {})
    tensors = load_file(path) | header.pop("tensors", {})
    tensors = {name: value for name, value in tensors.items() if value is not None}
    save_file(tensors, folder / NAME, metadata={**texts, "run": json.dumps(said), **header})
    return folder


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": "lsat_explorer.checkpoint/2"}, r"has format 'lsat_explorer\.checkpoint/2', expected"),
        ({"format": "lsat_explorer.model/1"}, "has format 'lsat_explorer.model/1', expected"),
        ({"recipe": "{}"}, "is damaged: ValueError format is None"),
        ({"run": "[" * 100_000}, "is damaged: RecursionError"),
        ({"run": "5"}, "is damaged: TypeError"),
        ({"said": {"status": "asleep"}}, "'asleep' is not a valid Status"),
        ({"said": {"columns": ["number"]}}, "the table of iterates is"),
        ({"said": {"stride": 0}}, "keeps .* of its 5 iterates whole"),
        ({"said": {"leg": 99}}, "it set out after 99 of 5 iterates"),
        ({"said": {"every": ["x", 1]}}, "is damaged: ValueError"),
        ({"tensors": {"table": torch.zeros(5, 3)}}, "the table of iterates is"),
        ({"tensors": {"table": None}}, "is damaged: KeyError 'table'"),
        ({"tensors": {"whole": torch.tensor([0, 77])}}, "is damaged: IndexError"),
        ({"tensors": {"whole": torch.tensor([0, 1])}}, "the last not among them"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_does_not_belong_together_is_refused_in_a_sentence(kept, tmp_path, changes, why):
    with pytest.raises(ValueError, match=rf"checkpoint\.safetensors .*{why}"):
        lsat.Run.resume(spoilt(kept, tmp_path, **changes), data_of())


@pytest.mark.parametrize("name", ["line search", "l-bfgs", "many starts", "grid"])
def test_a_memory_that_is_none_of_the_methods_is_refused_in_a_sentence(name, tmp_path):
    for iterate in lsat.Run(CASES[name], data_of(), checkpoint=always(tmp_path)).steps():
        if iterate.number == 3:
            break
    lacking = {
        key: None for key in load_file(tmp_path / NAME) if key.startswith(("memory.last.row", "memory.best.row"))
    }
    with safe_open(tmp_path / NAME, framework="pt") as file:
        order = [key for key in json.loads(file.metadata()["run"])["order"] if key not in lacking]
    run = lsat.Run.resume(spoilt(tmp_path / NAME, tmp_path, tensors=lacking, said={"order": order}), data_of())
    with pytest.raises(ValueError, match=r"is damaged \(KeyError 'row'\): begin a new run, such as"):
        next(run.steps())
    assert next(lsat.Run(run.recipe, run.data, run.omega).steps()).number == 0


def test_a_header_that_lies_about_sizes_is_refused_before_memory_is_taken(kept, tmp_path):
    content = kept.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    for shape, offsets in [([10**9, 10**6], [0, 8 * 10**15]), ([10**12], None), ([2**62, 4], None)]:
        lying = {**header, "table": {**header["table"], "shape": shape}}
        lying["table"]["data_offsets"] = offsets or header["table"]["data_offsets"]
        text = json.dumps(lying).encode()
        (tmp_path / NAME).write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
        with pytest.raises(ValueError, match="is cut off, or is no checkpoint"):
            lsat.Run.resume(tmp_path, data_of())
    (tmp_path / NAME).write_bytes(struct.pack("<Q", 2**60) + content[8:])
    with pytest.raises(ValueError, match="is cut off, or is no checkpoint"):
        lsat.Run.resume(tmp_path, data_of())


def test_a_run_that_has_not_ended_is_not_replaced_by_another(kept, tmp_path):
    shutil.copy(kept, tmp_path / NAME)
    for status in ("running", "stopped_by_user"):
        spoilt(tmp_path / NAME, tmp_path, said={"status": status})
        there = (tmp_path / NAME).read_bytes()
        with pytest.raises(ValueError, match=r"holds a run that has not ended: lsat\.Run\.resume\("):
            lsat.tune(lsat.Recipe(), data_of(), progress=False, checkpoint=tmp_path)
        assert (tmp_path / NAME).read_bytes() == there
    run = lsat.tune(lsat.Recipe(), data_of(), progress=False, checkpoint=Checkpoint(tmp_path, replace=True))
    assert len(lsat.Run.resume(tmp_path, data_of()).iterates) == len(run.iterates)
