"""Why a solve failed, as a value that carries its advice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Outcome", "Reason", "SolveError"]


class Reason(Enum):
    """What became of a solve."""

    SOLVED = "solved"
    NOT_FINITE = "not finite"
    RANK_DEFICIENT = "rank deficient"
    NOT_CONVERGED = "not converged"
    REDUNDANT_CONSTRAINTS = "redundant constraints"
    INCONSISTENT_CONSTRAINTS = "inconsistent constraints"


@dataclass(frozen=True)
class Outcome:
    """The end of one solve: ``reason``, and a ``sentence`` that says what to do about it.

    ``column`` is the first column of A that the earlier columns and the regularizers do not determine, or None;
    ``columns`` are all columns of a dependency where an iterative solve found one. ``rows`` are the rows of C that are
    redundant or inconsistent.
    """

    reason: Reason = Reason.SOLVED
    sentence: str = "Solved."
    column: int | None = None
    columns: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is a solution."""
        return self.reason is Reason.SOLVED


class SolveError(ValueError):
    """A solve without a solution, raised where a caller asked for θ itself; ``outcome`` says why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.sentence)
        self.outcome = outcome
