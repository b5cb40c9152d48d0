"""Files from strangers: what they promise is compared with what they are before memory is taken for it.

Nothing in a file is imported, evaluated or unpickled: numbers are read as numbers and text as JSON.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

__all__ = ["check_tensors", "json_in", "read_tensors", "refuse_path", "text_in", "write_tensors"]

MOST_TENSORS = 100_000
MOST_NAME = 1_000
MOST_HEADER = 100 * 2**20
MOST_TEXT = 64 * 2**20
"""Tensors in a file, letters in the name of one, bytes of a header (what safetensors takes), bytes of a text."""

_DIMENSIONS = 8
_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2,
    "I32": 4, "U32": 4, "F32": 4, "F64": 8, "I64": 8, "U64": 8, "C64": 8,
}  # fmt: skip


def refuse_path(path: Path) -> None:
    """Refuse a file or a folder that safetensors, which takes paths in UTF-8 alone, could not read from.

    Raises
    ------
    ValueError
        When its path is not encoded so.
    """
    try:
        str(path.absolute()).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{str(path)!r} has a path that is no text in UTF-8, and a model in it could not be read: expected a "
            f"path that is; give another one."
        ) from error


def write_tensors(path: Path, texts: dict[str, str], tensors: dict[str, Tensor]) -> None:
    """Write a safetensors file with texts in its header; equal ones give equal bytes.

    Raises
    ------
    OSError, SafetensorError
        When it cannot be written.
    """
    own = {name: value.detach().cpu().clone(memory_format=torch.contiguous_format) for name, value in tensors.items()}
    save_file(own, path, metadata=texts)
    # safetensors writes the texts in the order of a hash map, another one each time. The header keeps its length.
    with path.open("r+b") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        ordered = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        file.seek(8)
        file.write(ordered.ljust(length))


def read_tensors(path: Path, device: str = "cpu") -> tuple[dict[str, str], dict[str, Tensor]]:
    """Return the texts in the header of a safetensors file, and its tensors.

    Raises
    ------
    ValueError
        As `check_tensors` does.
    """
    header = check_tensors(path)
    try:
        with safe_open(path, framework="pt", device=device) as file:
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} cannot be read ({str(error).rstrip('.')}): write or fetch it again.") from error


def check_tensors(path: Path) -> dict[str, str]:
    """Return the texts in the header of a safetensors file, all sizes of which are compared with the file.

    Raises
    ------
    ValueError
        When the file is cut off, is none, or its header promises what is not there, or too much.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 0 < length <= min(size - 8, MOST_HEADER):
            raise _damaged(path, f"its header would take {length:,} bytes of {size:,}")
        header = json_in(file.read(length), str(path))
    texts = header.pop("__metadata__", None) or {}
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise _damaged(path, "what its header says of itself is no text")
    if len(header) > MOST_TENSORS:
        raise _damaged(path, f"it would hold {len(header):,} tensors, expected at most {MOST_TENSORS:,}")
    end = 0
    for name, about in sorted(header.items(), key=lambda item: _begin(item[1])):
        end = _checked(path, name, about, end)
    if end != size - 8 - length:
        raise _damaged(path, f"its tensors take {end:,} bytes of {size - 8 - length:,}")
    return texts


def _begin(about: Any) -> float:
    begins = about.get("data_offsets") if isinstance(about, dict) else None
    begin = begins[0] if isinstance(begins, list) and begins else None
    return begin if isinstance(begin, int) else math.inf


def _checked(path: Path, name: str, about: Any, start: int) -> int:
    """Return where a tensor ends that begins where the one before it ended."""
    shown = name if len(name) <= 60 else f"{name[:57]}..."
    if len(name) > MOST_NAME:
        raise _damaged(path, f"the name of a tensor, {shown!r}, has {len(name):,} letters")
    if not isinstance(about, dict) or set(about) != {"dtype", "shape", "data_offsets"}:
        raise _damaged(path, f"its header does not say what {shown!r} is")
    dtype, shape, offsets = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _BYTES:
        raise _damaged(path, f"{shown!r} is of the unknown type {str(dtype)[:20]!r}")
    if not (_whole(shape) and len(shape) <= _DIMENSIONS and _whole(offsets) and len(offsets) == 2):
        raise _damaged(path, f"{shown!r} has no shape and place")
    promised = math.prod(shape) * _BYTES[dtype]
    if offsets[0] != start or offsets[1] - offsets[0] != promised:
        raise _damaged(path, f"{shown!r} of shape {tuple(shape)} promises {promised:,} bytes, at {offsets}")
    return start + promised


def _whole(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**63 for value in values)


def _damaged(path: Path, reason: str) -> ValueError:
    return ValueError(f"{path} is cut off or damaged: {reason}. Write or fetch it again.")


def text_in(path: Path, most: int = MOST_TEXT) -> str:
    """Return the text of a file of UTF-8.

    Raises
    ------
    ValueError
        When it takes more than ``most`` bytes, or is no text.
    """
    size = os.stat(path).st_size
    if size > most:
        raise ValueError(f"{path} takes {size:,} bytes, expected at most {most:,}.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text: {error}.") from error


def json_in(text: str | bytes, where: str) -> dict[str, Any]:
    """Return the object in a JSON text.

    Raises
    ------
    ValueError
        When it is none, has a key twice or is nested too deeply; ``where`` names it.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key stands there twice")
        return found

    try:
        value = json.loads(text, object_pairs_hook=once)
    except RecursionError:
        raise ValueError(f"{where} is damaged: it is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(f"{where} is damaged: {error}.") from None
    if not isinstance(value, dict):
        raise ValueError(f"{where} is damaged: it holds a {type(value).__name__}, expected an object.")
    return value
