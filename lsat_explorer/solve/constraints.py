"""The rows of C θ = D: their sizes, which do not count, and which of them repeat or contradict the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import linalg
from torch import Tensor

from .gram import column_units
from .operators import LinearOperator, probes
from .outcome import Outcome, Reason, SolveError

__all__ = ["Array", "ScaledRows", "judge_constraints", "refuse_missed", "row_units", "undetermined"]

_AGREES = 1e-9

Array = NDArray[np.float64]


def row_units(C: Tensor | LinearOperator, like: Tensor) -> Tensor | None:
    """Return powers of two (q, 1) by which rows of C (q, n) have squares, on the device of ``like``; None where all do.

    Where only the products are known, the largest of C v over random signs v is the size of a row. One of numbers so
    small that they have lost digits raises SolveError.
    """
    with torch.no_grad():
        sizes = C.matvec(probes(C.shape[1], like)) if isinstance(C, LinearOperator) else C.double()
        units = column_units(sizes.mT) if sizes.numel() else None
    if units is None:
        return None
    if not bool((units > 0).all()):
        row = int((units == 0).to(torch.int8).argmax())
        sentence = f"Row {row} of C holds no number of 1e-301 or more in size: multiply it, and D there, by a constant."
        raise SolveError(Outcome(Reason.NOT_FINITE, sentence, rows=(row,)))
    return units[:, None]


class ScaledRows(LinearOperator):
    """The matrix diag(``units``) C of an operator C (q, n) and ``units`` (q, 1)."""

    def __init__(self, C: LinearOperator, units: Tensor) -> None:
        self._C, self._units = C, units

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows q and columns n."""
        return self._C.shape

    def matvec(self, V: Tensor) -> Tensor:
        """Return diag(units) C V (q, m)."""
        return self._units * self._C.matvec(V)

    def rmatvec(self, U: Tensor) -> Tensor:
        """Return Cᵀ diag(units) U (n, m)."""
        return self._C.rmatvec(self._units * U)

    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that may want a gradient."""
        return self._C.parameters()


def judge_constraints(C: Array, D: Array, names: Sequence[int] | None = None) -> Outcome:
    """Say whether the rows of C (q, n) are independent, and if not, which rows of C θ = D (q, m) to drop.

    ``names`` are the numbers to call the rows by. A row that is a combination of earlier rows is redundant when D
    combines alike (to 10⁻⁹), inconsistent when it does not.
    """
    names = range(len(C)) if names is None else names
    length = np.linalg.norm(C, axis=1, keepdims=True)
    unit = C / np.where(length > 0, length, 1.0)
    floor = max(1, *C.shape) * 4 * np.finfo(np.float64).eps
    if not len(C) or (len(C) <= C.shape[1] and _is_independent(unit, floor)):
        return Outcome()
    redundant: list[tuple[int, list[int]]] = []
    inconsistent: list[tuple[int, list[int]]] = []
    basis: list[int] = []
    Q = np.zeros((C.shape[1], 0))
    for row, vector in enumerate(unit):
        rest = vector - Q @ (Q.T @ vector)
        rest -= Q @ (Q.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > floor:
            Q = np.column_stack([Q, rest / size])
            basis.append(row)
            continue
        share = linalg.lstsq(C[basis].T, C[row])[0] if basis else np.zeros(0)
        gap = np.abs(D[row] - share @ D[basis])
        allowed = _AGREES * (np.abs(D[row]) + np.abs(share) @ np.abs(D[basis]))
        others = [names[b] for b, part in zip(basis, share, strict=True) if abs(part) > _AGREES * np.abs(share).max()]
        (redundant if (gap <= allowed).all() else inconsistent).append((names[row], others))
    return _outcome(redundant, inconsistent)


def _is_independent(unit: Array, floor: float) -> bool:
    diagonal = np.abs(np.diag(linalg.qr(unit.T, mode="r", pivoting=True, check_finite=False)[0]))
    return bool((diagonal > floor).all())


def _outcome(redundant: list[tuple[int, list[int]]], inconsistent: list[tuple[int, list[int]]]) -> Outcome:
    """Report contradictions before repetitions: they have no solution at all."""
    if not redundant and not inconsistent:
        return Outcome()
    rows = inconsistent or redundant
    parts = []
    for row, others in rows[:5]:
        source = f"a combination of {'row' if len(others) == 1 else 'rows'} {_listed(others)}" if others else "zero"
        parts.append(f"row {row} of C is {source}")
    more = f", and so on for {len(rows) - 5} more" if len(rows) > 5 else ""
    found = "; ".join(parts) + more
    numbers = tuple(row for row, _ in rows)
    if inconsistent:
        sentence = f"The constraints are inconsistent: {found}, but D is not: correct D there, or drop the row."
        return Outcome(Reason.INCONSISTENT_CONSTRAINTS, sentence, rows=numbers)
    sentence = f"The constraints are redundant: {found}, and so is D: drop the row, its multiplier is not determined."
    return Outcome(Reason.REDUNDANT_CONSTRAINTS, sentence, rows=numbers)


def _listed(rows: list[int]) -> str:
    shown = [str(row) for row in rows[:8]] + (["…"] if len(rows) > 8 else [])
    return ", ".join(shown[:-1]) + " and " + shown[-1] if len(shown) > 1 else shown[0]


def undetermined(columns: list[int]) -> Outcome:
    """Return the outcome of a problem of which a θ in these ``columns`` changes neither A θ nor C θ."""
    shown = ", ".join(map(str, columns[:8])) + (", …" if len(columns) > 8 else "")
    noun = f"Column {shown}" if len(columns) == 1 else f"Columns {shown}"
    sentence = f"{noun} of A and C together do not determine θ: add a ridge or a constraint that covers them."
    column = columns[0] if len(columns) == 1 else None
    return Outcome(Reason.RANK_DEFICIENT, sentence, column, tuple(columns))


def refuse_missed(gap: Tensor, theta: Tensor, largest: Tensor, D: Tensor, tolerance: float = _AGREES) -> None:
    """Raise SolveError when C θ − D, the ``gap`` (q, m), is not zero to ``tolerance`` of the size of its terms.

    That is ``largest`` (q, 1), of numbers in a row of C, times the sum of |θ|, and |D|.
    """
    allowed = tolerance * (largest * theta.abs().sum(0) + D.abs())
    missed = ~(gap.abs() <= allowed)
    if missed.any():
        row, column = missed.nonzero()[0].tolist()
        found, expected = float(gap[row, column]), float(allowed[row, column])
        sentence = (
            f"C θ − D is {found:.1e} in row {row}, where at most {expected:.1e} was expected: measure columns of A and "
            "C in units in which their sizes differ less, or drop a row of C that is nearly a combination of others."
        )
        raise SolveError(Outcome(Reason.NOT_CONVERGED, sentence, rows=(row,)))
