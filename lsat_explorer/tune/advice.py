"""What to say of a run: its status in words, and what its numbers warn of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .iterate import Status

if TYPE_CHECKING:
    from .run import Run

__all__ = ["advice"]


def advice(run: Run) -> str:
    """Return the status of a run as sentences."""
    if not run.iterates:
        return run.status.sentence
    first, last = run.iterates[0], run.iterates[-1]
    if run.problem is not None and not run.problem.tuned and run.status is Status.CONVERGED:
        return "Nothing to tune: this is the least squares fit at the recipe's values."
    sentences = [run.status.sentence]
    if run.status is Status.NOT_FINITE and run.problem is not None:
        sentences.append(run.problem.evaluate(last.omega).outcome.sentence)
    if run.status.final and last.loss < first.loss and last.error > first.error:
        sentences.append(
            f"The validation loss fell, but the validation error rose from {_shown(first.error, run)} to "
            f"{_shown(last.error, run)}: the hyper-parameters may be fitting the validation rows."
        )
    return " ".join(sentences)


def _shown(error: float, run: Run) -> str:
    return f"{100 * error:.1f} %" if run.data.task == "classification" else f"{error:.4g}"
