"""What the validation rows say once rows are dropped and relabelled, beside what they say now. Never the test rows."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from lsat_explorer.data.split import counted
from lsat_explorer.explain import Judged, what_if
from lsat_explorer.plots.curves import number_text, value_text
from lsat_explorer.tune.fitted import FittedModel
from lsat_explorer.verdicts import Verdict

__all__ = ["Answer", "Changes", "answer_of", "changes_of"]

_RISEN = "The validation loss falls and the validation {} rises: these verdicts may be fitting the validation rows."


@dataclass(frozen=True)
class Changes:
    """Training rows to drop, and to relabel, by their names."""

    drop: tuple[Any, ...] = ()
    relabel: tuple[tuple[Any, Any], ...] = ()

    @property
    def words(self) -> str:
        """The changes as a phrase.

        Examples
        --------
        >>> Changes((3,), ((4, 7), (9, 7))).words, Changes().words
        ('1 row dropped, 2 rows relabelled', 'no row dropped or relabelled')
        """
        done = [(len(self.drop), "dropped"), (len(self.relabel), "relabelled")]
        some = ", ".join(f"{counted(count, 'row')} {what}" for count, what in done if count)
        return some or "no row dropped or relabelled"


@dataclass(frozen=True)
class Answer:
    """What came of some changes, as values of JSON."""

    changes: Changes
    told: dict[str, Any]


def changes_of(verdicts: Mapping[Any, Verdict], rows: Container[Any]) -> Changes:
    """Return what verdicts change of the training rows; keeping a row, or calling it ambiguous, changes nothing."""
    ours = {row: verdict for row, verdict in verdicts.items() if row in rows}
    return Changes(
        tuple(row for row, verdict in ours.items() if verdict.kind == "drop"),
        tuple((row, verdict.to) for row, verdict in ours.items() if verdict.kind == "relabel"),
    )


def answer_of(model: FittedModel, changes: Changes) -> Answer:
    """Solve again with changes.

    Raises
    ------
    ValueError
        As `lsat_explorer.explain.what_if` does.
    """
    found = what_if(model, drop=changes.drop, relabel=dict(changes.relabel))
    return Answer(changes, {"words": changes.words} | compared(found.before, found.after, model.classes is not None))


def compared(before: Judged, after: Judged, shares: bool) -> dict[str, Any]:
    """Return loss and error before and after, as values of JSON; ``shares`` tells whether errors are shares of rows.

    Returns
    -------
    dict
        ``names``, what both numbers are; ``before`` and ``after``, each [loss, error] in words; ``moved``, by how much,
        and ``better``, for each whether it fell, stayed (None) or rose; ``warning``, where the loss fell and the error
        rose.

    Examples
    --------
    >>> compared(Judged(1.5, 0.06), Judged(1.4, 0.07), True)["warning"]
    'The validation loss falls and the validation error rises: these verdicts may be fitting the validation rows.'
    """
    word = "error" if shares else "RMSE"
    loss, error = (before.loss, after.loss), (before.error, after.error)
    told = [_told(*loss), _told_share(*error) if shares else _told(*error)]
    stayed = [was == now for was, now, _ in told]  # as far as can be read: rounding is neither better nor worse
    risen = after.loss < before.loss and after.error > before.error
    return {
        "names": ["validation loss", f"validation {word}"],
        "before": [was for was, _, _ in told],
        "after": [now for _, now, _ in told],
        "moved": [by for _, _, by in told],
        "better": [None if same else now < was for same, (was, now) in zip(stayed, (loss, error), strict=True)],
        "warning": _RISEN.format(word) if risen else "",
    }


def _told(was: float, now: float) -> tuple[str, str, str]:
    """Return two numbers in the digits of the curves, and their difference in as many as it takes to read it."""
    texts = value_text(was), value_text(now)
    if texts[0] == texts[1] or not math.isfinite(now - was):
        return *texts, value_text(0.0 if texts[0] == texts[1] else math.nan)
    by = f"{now - was:+.4f}"
    return *texts, number_text(now - was, "+.2g") if "e" in "".join(texts) or float(by) == 0 else by


def _told_share(was: float, now: float) -> tuple[str, str, str]:
    """Return two shares and their difference, in hundredths of them."""
    by = f"{100 * (now - was):+.2f}"
    return f"{100 * was:.2f} %", f"{100 * now:.2f} %", f"{by if float(by) else '0.00'} points"
