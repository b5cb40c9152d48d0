"""What is found out of a run for its rows: a step for each kind of answer, and which of them are still to be taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from lsat_explorer.widgets.row_columns import Doubts, Effects, doubts_of, effects_of
from lsat_explorer.widgets.row_predictions import Fit, Predictions, predictions_of, said_of
from lsat_explorer.widgets.row_reasons import Reasons, reasons_of
from lsat_explorer.widgets.row_resolve import Answer, Changes, answer_of
from lsat_explorer.widgets.row_tiles import RowTiles

__all__ = ["STEPS", "Known", "Wish", "lacking"]


@dataclass(frozen=True)
class Wish:
    """What is to be found out of a run.

    Parameters
    ----------
    tiles, other : RowTiles, optional
        The rows that are shown; and where one of them has reasons to be told, the rows of the other kind.
    rows : bool
        Whether all rows that are shown are to be predicted.
    columns : bool
        Whether doubt of the training rows is to be told.
    effects : bool
        Whether their effect is to be told too, which takes validation rows.
    position : int
        A row to be told about, -1 for none.
    changes : Changes, optional
        What to solve again with.
    renew : bool
        Whether to take the run's present fit where an earlier one is at hand. A run at rest is always taken as it is
        now.
    """

    run: Any = None
    tiles: RowTiles | None = None
    other: RowTiles | None = None
    rows: bool = False
    columns: bool = False
    effects: bool = False
    position: int = -1
    changes: Changes | None = None
    renew: bool = False

    @property
    def asks(self) -> bool:
        """Whether anything is to be found out."""
        return self.rows or self.columns or self.position >= 0 or self.changes is not None


@dataclass(frozen=True)
class Known:
    """What is known of one run, and which steps failed."""

    run: Any = None
    fit: Fit | None = None
    predictions: dict[RowTiles, Predictions] = field(default_factory=dict)
    doubts: Doubts | None = None
    effects: Effects | None = None
    said: tuple[RowTiles, int, dict[str, Any]] | None = None
    reasons: tuple[RowTiles, int, Reasons] | None = None
    answer: Answer | None = None
    failed: frozenset[str] = frozenset()
    problem: str = ""


def _said(known: Known, wish: Wish, model: Any, stale: Callable[[], bool]) -> Known:
    assert wish.tiles is not None
    return replace(known, said=(wish.tiles, wish.position, said_of(model, wish.tiles.split, wish.position)))


def _predicted(known: Known, wish: Wish, model: Any, stale: Callable[[], bool]) -> Known:
    assert wish.tiles is not None
    found = predictions_of(model, wish.tiles.split, stale)
    return known if found is None else replace(known, predictions=known.predictions | {wish.tiles: found})


def _doubted(known: Known, wish: Wish, model: Any, stale: Callable[[], bool]) -> Known:
    return replace(known, doubts=doubts_of(model))


def _reasoned(known: Known, wish: Wish, model: Any, stale: Callable[[], bool]) -> Known:
    assert wish.tiles is not None
    assert wish.other is not None
    try:
        found = reasons_of(model, wish.tiles, wish.other, wish.position)
    except ValueError as error:  # of this row alone
        found = Reasons({"words": str(error), "groups": []})
    return replace(known, reasons=(wish.tiles, wish.position, found))


def _weighed(known: Known, wish: Wish, model: Any, stale: Callable[[], bool]) -> Known:
    return replace(known, effects=effects_of(model))


def _answered(known: Known, wish: Wish, model: Any, stale: Callable[[], bool]) -> Known:
    assert wish.changes is not None
    try:
        answer = answer_of(model, wish.changes)
    except ValueError as error:  # other verdicts may have an answer
        answer = Answer(wish.changes, {"words": wish.changes.words, "problem": str(error)})
    return replace(known, answer=answer)


STEPS = {
    "said": (_said, "The row could not be predicted"),
    "rows": (_predicted, "The rows could not be predicted"),
    "doubts": (_doubted, "Which labels are doubtful could not be told"),
    "reasons": (_reasoned, "The rows behind this row could not be told"),
    "effects": (_weighed, "The effect of the rows could not be told"),
    "answer": (_answered, "The verdicts could not be solved with"),
}
"""What can be found out, in this order, and what is said where it cannot."""


def lacking(known: Known, wish: Wish) -> list[str]:
    """Return the steps that a wish takes and that are not known, nor known to fail."""
    here = (wish.tiles, wish.position)
    lacks = {
        "said": wish.position >= 0 and (known.said is None or known.said[:2] != here),
        "rows": wish.rows and wish.tiles not in known.predictions,
        "doubts": wish.columns and known.doubts is None,
        "reasons": wish.other is not None and (known.reasons is None or known.reasons[:2] != here),
        "effects": wish.effects and known.effects is None,
        "answer": wish.changes is not None and (known.answer is None or known.answer.changes != wish.changes),
    }
    return [step for step, so in lacks.items() if so and step not in known.failed]
