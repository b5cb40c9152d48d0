"""What every benchmark prints first and writes last."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsat_explorer.commands.errors import user_input

__all__ = ["machine_line", "write_figures"]


def machine_line(machine: Mapping[str, str | int]) -> str:
    """Return `facts` as one line.

    Examples
    --------
    >>> machine_line({"threads": 2, "python": "3.11.9"})
    'threads 2, python 3.11.9'
    """
    return ", ".join(f"{name} {value}" for name, value in machine.items())


def write_figures(path: Path, figures: Mapping[str, Any]) -> None:
    """Write the figures as JSON, in which what is not finite is null.

    Raises
    ------
    CommandError
        When the file cannot be written.
    """
    with user_input():
        path.write_text(json.dumps(_finite(figures), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    """Return the value with None for every float in it that JSON has no word for."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
