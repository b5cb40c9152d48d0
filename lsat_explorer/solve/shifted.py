r"""A sparse matrix beside a shift of its columns, X = S + 1 rᵀ (k, d), and the sums that a fit needs of it.

Features that shift and scale the columns, a_j (x_j − b_j), need no rows of their own: with c = a ⊙ (r − b),

    X̃ = S diag(a) + 1 cᵀ,     X̃ᵀW X̃ = diag(a) SᵀWS diag(a) + u cᵀ + c uᵀ + w c cᵀ,     u = a ⊙ SᵀW1,  w = 1ᵀW1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from .gram import Check, gram
from .weighted import Moments

__all__ = ["Columns", "Shifted", "Sums", "assembled", "predicted", "transposed"]

_PRODUCTS = 2**24
"""Products of two entries that are taken at a time: each leaves one of 12 bytes at the most."""

_SLOWER = 256
"""How much longer a product of two entries takes than one of the many of a dense matrix."""


class Sums(NamedTuple):
    """SᵀWS (d, d), SᵀW1 (d,), 1ᵀW1, and with Y (k, m) SᵀWY (d, m) and YᵀW1 (m,), all float64."""

    square: Tensor
    sums: Tensor
    total: Tensor
    cross: Tensor
    outer: Tensor


class Columns(NamedTuple):
    """Features a ⊙ (x − b) of the columns x (d,), or constants where ``scale`` is None, which are then ``shift``."""

    scale: Tensor | None
    shift: Tensor

    def beside(self, reference: Tensor) -> Tensor:
        """Return c, what each feature has beside S: a ⊙ (r − b), or the constants."""
        return self.shift if self.scale is None else self.scale * (reference - self.shift)


class Shifted:
    """X = S + 1 rᵀ (k, d) with a sparse S, in float64.

    r is the mean of a column that is mostly filled, and 0 of one that is mostly zeros. Σ x² of S is then at most twice
    Σ (x − x̄)², so that a column that is centred by its sums, and not entry by entry, loses no digits. S takes at most
    twice as many entries as X.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array (k, d)
        X, each entry once.

    Examples
    --------
    >>> X = Shifted(sparse.csr_array([[0.0, 5.0], [0.0, 5.0], [3.0, 5.0]]))
    >>> X.matrix.nnz, X.reference.tolist()
    (1, [0.0, 5.0])
    """

    def __init__(self, matrix: Any) -> None:
        self.shape: tuple[int, int] = matrix.shape
        self.device = torch.device("cpu")
        self.matrix, reference = _referred(matrix)
        self.reference = torch.from_numpy(reference)
        per_row = np.diff(self.matrix.indptr).astype(np.float64)
        self._work = np.concatenate([[0.0], np.cumsum(per_row**2)])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Tensor:
        """Return some rows of S, dense."""
        return torch.from_numpy(self.matrix[rows].toarray())

    def times(self, theta: Tensor) -> Tensor:
        """Return S θ (k, m)."""
        return torch.from_numpy(np.ascontiguousarray(self.matrix @ theta.double().numpy()))

    def transposed_times(self, rows: Tensor) -> Tensor:
        """Return Sᵀ ``rows`` (d, q)."""
        return torch.from_numpy(np.ascontiguousarray(self.matrix.T @ rows.double().numpy()))

    def sums(self, weight: Tensor | None, Y: Tensor, check: Check = lambda: None) -> Sums:
        """Return the sums with W = diag(``weight``) (k,) of any sign, 1 for None, and Y (k, m).

        ``check`` is called between products and may raise to interrupt.
        """
        ones = (
            torch.ones(len(self), 1, dtype=torch.float64, device="cpu") if weight is None else weight.double()[:, None]
        )
        sides = self.transposed_times(torch.cat([ones, ones * Y.double()], 1))
        return Sums(self._square(weight, check), sides[:, 0], ones.sum(), sides[:, 1:], (ones * Y.double()).sum(0))

    def _square(self, weight: Tensor | None, check: Check) -> Tensor:
        d = self.shape[1]
        if self._work[-1] * _SLOWER > len(self) * float(d) ** 2:
            return gram(self, weight=weight, precise=True, check=check)
        total = np.zeros(d * d)
        for cut in self._cuts():
            check()
            rows = self.matrix[cut]
            weighted = rows.copy()
            if weight is not None:
                weighted.data *= np.repeat(weight[cut].double().numpy(), np.diff(rows.indptr))
            product: Any = sparse.csr_array(rows.T @ weighted).tocoo()
            row, column = product.coords
            total[row.astype(np.int64) * d + column] += product.data
        square = torch.from_numpy(total.reshape(d, d))
        return (square + square.mT) / 2  # x_i (w x_j) and (w x_i) x_j round apart

    def _cuts(self) -> Iterator[slice]:
        """Yield rows of about as many products."""
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self._work, self._work[start] + _PRODUCTS, "right")) - 1
            stop = min(max(stop, start + 1), len(self))
            yield slice(start, stop)
            start = stop


def _referred(matrix: Any) -> tuple[Any, np.ndarray]:
    """Return S, by rows in float64, and r (d,)."""
    k, d = matrix.shape
    given: Any = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    given.eliminate_zeros()
    reference = np.zeros(d)
    full = np.flatnonzero(2 * np.bincount(given.indices, minlength=d) > k)
    if not len(full):
        return given, reference
    filled = given[:, full].toarray()
    # The mean of equal numbers may be another number.
    reference[full] = np.where(filled.min(0) == filled.max(0), filled[0], filled.mean(0))
    filled -= reference[full]
    given.data[np.isin(given.indices, full)] = 0
    given.eliminate_zeros()
    there: Any = sparse.csr_array(filled)
    place = sparse.csr_array((there.data, full[there.indices], there.indptr), shape=(k, d))
    return sparse.csr_array(given + place), reference


def assembled(sums: Sums, columns: Sequence[Columns], reference: Tensor) -> Moments:
    """Return X̃ᵀWX̃ (n, n) and X̃ᵀWY (n, m) of features side by side, from the ``sums`` of S and from r (d,)."""
    u = torch.cat([torch.zeros_like(one.shift) if one.scale is None else one.scale * sums.sums for one in columns])
    c = torch.cat([one.beside(reference) for one in columns])
    mixed = torch.outer(u, c)
    square = mixed + mixed.mT + sums.total * torch.outer(c, c)
    cross = torch.outer(c, sums.outer)
    places = _places(columns)
    for one, place in zip(columns, places, strict=True):
        if one.scale is None:
            continue
        cross[place] += one.scale[:, None] * sums.cross
        for other, there in zip(columns, places, strict=True):
            if other.scale is not None:
                square[place, there] += one.scale[:, None] * sums.square * other.scale
    return Moments(square, cross)


def _places(columns: Sequence[Columns]) -> list[slice]:
    ends = list(accumulate(len(one.shift) for one in columns))
    return [slice(end - len(one.shift), end) for one, end in zip(columns, ends, strict=True)]


def predicted(rows: Shifted, columns: Sequence[Columns], theta: Tensor) -> Tensor:
    """Return X̃ θ (k, m), or S A + 1 bᵀ of the θ (n, m) that belong to each of the ``columns``."""
    slopes = torch.zeros(rows.shape[1], theta.shape[1], dtype=torch.float64, device="cpu")
    constant = torch.zeros(theta.shape[1], dtype=torch.float64, device="cpu")
    for one, place in zip(columns, _places(columns), strict=True):
        mine = theta[place].double()
        constant += one.beside(rows.reference) @ mine
        if one.scale is not None:
            slopes += one.scale[:, None] * mine
    return rows.times(slopes).add_(constant)


def transposed(rows: Shifted, columns: Sequence[Columns], values: Tensor) -> Tensor:
    """Return X̃ᵀ ``values`` (n, q) of (k, q)."""
    through, total = rows.transposed_times(values), values.double().sum(0)
    parts = []
    for one in columns:
        mine = torch.outer(one.beside(rows.reference), total)
        parts.append(mine if one.scale is None else mine.add_(one.scale[:, None] * through))
    return torch.cat(parts)
