"""Verdicts as Python that gives them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

from ..model.piece import source
from .names import Row, code_of_name, in_order
from .verdict import KINDS, Verdict

__all__ = ["code_of"]

_WIDTH = 100


def code_of(verdicts: Mapping[Row, Verdict]) -> str:
    """Return Python source that rebuilds verdicts as ``verdicts``, in memory: calls by kind and label, a line each."""
    rows: dict[tuple[int, str], list[Row]] = {}
    for row in in_order(verdicts):
        verdict = verdicts[row]
        label = f", {source(verdict.to)}" if verdict.kind == "relabel" else ""
        rows.setdefault((KINDS.index(verdict.kind), label), []).append(row)
    lines = [line for kind, label in sorted(rows) for line in _calls(KINDS[kind], rows[kind, label], label)]
    dates = ["import datetime", ""] if any(isinstance(row, date) for row in verdicts) else []
    return "\n".join([*dates, "import lsat_explorer as lsat", "", "verdicts = lsat.Verdicts()", *lines, ""])


def _calls(kind: str, rows: list[Row], label: str) -> Iterator[str]:
    """Yield calls that name as many rows as a line has room for."""

    def call() -> str:
        return f"verdicts.{kind}([{', '.join(names)}]{label})"

    names: list[str] = []
    for name in map(code_of_name, rows):
        names.append(name)
        if len(call()) > _WIDTH and len(names) > 1:
            names.pop()
            yield call()
            names = [name]
    yield call()
