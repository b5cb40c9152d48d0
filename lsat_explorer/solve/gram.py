"""Products with many rows: summed over them in float64 whatever they are stored in, or row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

__all__ = [
    "CHUNK",
    "READ",
    "add_gram",
    "add_product",
    "add_upper",
    "batch",
    "column_units",
    "gram",
    "mirrored",
    "multiply",
    "padded",
    "product",
    "read",
    "rows_at_a_time",
    "unit",
    "upper_blocks",
]

CHUNK = 5888
"""Rows multiplied at a time: float32 products of so few rows, summed in float64, err by 4e-7 in the gradient.

With AVX-512, 3,072 to 4,480 rows took 1 to 5 % more time; 8,750 and 17,500 saved 1 % and erred by 6 and 40 % more.
"""

READ, _READ_PRECISELY = 2 * CHUNK, 1024
"""Rows read at a time, as a batch of two products; in float64, where each read needs a copy, far fewer."""

_BLOCK = 96
"""Columns of a block of rows of XᵀX: wider ones form more below the diagonal, narrower ones run at a lower rate.

With AVX-512, 72 to 96 took the same time, 48 and 112 or more took longer.
"""

_TAME = (2.0**-400, 2.0**400)
"""Sizes of numbers whose squares, and sums of these, are numbers of full precision."""

_PLAIN = (2.0**-100, 2.0**100)
"""Sizes of numbers of which products of several, as gradients have, are numbers of full precision."""

_NONE = torch.empty(0, dtype=torch.float64, device="cpu")

_BATCH = 512
"""Rows of one product of a batch in `multiply`, at least."""

Check = Callable[[], None]


class Rows(Protocol):
    """A matrix (k, n) read by chunks of rows: a tensor, or blocks put side by side as they are read."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns."""

    @property
    def device(self) -> torch.device:
        """Where its chunks live."""

    def __getitem__(self, rows: slice, /) -> Tensor:
        """Return some rows."""


def _nothing() -> None:
    """Interrupt nothing."""


def gram(rows: Rows, *, weight: Tensor | None = None, precise: bool = False, check: Check = _nothing) -> Tensor:
    """Return XᵀDX as a full symmetric (n, n) float64 matrix from ``rows`` X (k, n).

    D = diag(``weight``) (k,), of any sign, the identity for None. Products of chunks are taken in X's dtype, or in
    float64 when ``precise``, added to one another by twos and summed in float64. Only the upper triangle is formed, by
    blocks of rows.
    ``check`` is called between chunks and may raise to interrupt.
    """
    n = rows.shape[1]
    total = torch.zeros(n, n, dtype=torch.float64, device=rows.device)
    add_gram(total, rows, weight, precise, check)
    return mirrored(total)


def add_gram(total: Tensor, rows: Rows, weight: Tensor | None, precise: bool, check: Check = _nothing) -> None:
    """Add the upper triangle of XᵀDX of ``rows`` X (k, n), any number, to a float64 ``total`` (n, n), junk below it."""
    parts = [torch.zeros_like(part, memory_format=torch.contiguous_format) for part in upper_blocks(total)]
    for some, chunk in read(rows, precise, check):
        add_upper(parts, chunk, None if weight is None else weight[some])
    for place, part in zip(upper_blocks(total), parts, strict=True):
        place += part


def read(
    rows: Rows, precise: bool, check: Check = _nothing, place: Tensor | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """Yield which rows, and until the next the rows (r, n), as many as a product reads; in float64 when ``precise``.

    What is converted takes one place for all chunks, a float64 ``place`` (≥ r n,) where there is one: copies that come
    and go leave holes between what stays. ``check`` is called before each and may raise to interrupt.
    """
    height = rows_at_a_time(precise)
    for start in range(0, rows.shape[0], height):
        check()
        some = slice(start, start + height)
        chunk = rows[some]
        if precise and chunk.dtype is not torch.float64:
            place = chunk.new_empty(chunk.numel(), dtype=torch.float64) if place is None else place
            chunk = place[: chunk.numel()].view(chunk.shape).copy_(chunk)
        yield some, chunk


def column_units(A: Tensor) -> Tensor | None:
    """Return powers of two (…, n) by which columns of A (…, k, n) have squares; None where all have them as they are.

    A column of numbers below 2⁻¹⁰⁰⁰ has unit 0: they have lost digits already.
    """
    if not A.numel():
        return None
    largest = _sizes(A)
    wild = (largest > _TAME[1]) | ((largest < _TAME[0]) & (largest > 0))
    if not wild.any():
        return None
    exponent = largest.log2().round()
    return torch.where(wild, torch.where(exponent > -1000, (-exponent).exp2(), 0.0), 1.0)


def _sizes(A: Tensor) -> Tensor:
    """Return the largest |entry| of each column (…, n) of A (…, k, n), without a copy of it; of (k,) that of all."""
    place = -min(A.ndim, 2)
    return torch.maximum(A.amax(place), -A.amin(place)) if A.numel() else A.new_zeros(0)


def unit(*matrices: Tensor) -> float:
    """Return a power of two by which matrices have products of full precision, 1 unless every column lacks them.

    Columns of which some alone are wild have units of their own. It is 1 inside torch.func, too, whose tensors cannot
    be looked at.

    Examples
    --------
    >>> unit(torch.ones(2, 2)), unit(torch.full((2, 2), 2.0**-500, dtype=torch.float64)) == 2.0**500
    (1.0, True)
    """
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return 1.0
    sizes = torch.cat([_NONE, *(_sizes(matrix.detach()).double().flatten().cpu() for matrix in matrices)])
    sizes = sizes[sizes > 0]
    if not len(sizes) or not sizes.isfinite().all():
        return 1.0
    least, largest = float(sizes.min()), float(sizes.max())
    if largest < _PLAIN[0] or least > _PLAIN[1]:
        return 2.0 ** -round(math.log2(largest if largest < 1 else least))
    return 1.0


def upper_blocks(total: Tensor) -> list[Tensor]:
    """Return the places in ``total`` (n, n) of the blocks of rows that `add_upper` forms, from the diagonal on."""
    return [total[block, block.start :] for block in _blocks(len(total))]


def add_upper(parts: Sequence[Tensor], rows: Tensor, weight: Tensor | None) -> None:
    """Add the upper triangle of XᵀDX of few ``rows`` X (r, n), and junk below it, to float64 `upper_blocks`.

    It takes a tenth less time where each block lies in one piece.
    """
    chunk = batch(rows)
    scale = None if weight is None else batch(weight[:, None].to(chunk.dtype))
    # One place for what is scaled, of one size for any n: such of many sizes would leave holes between what stays.
    room = None if scale is None else chunk.new_empty(*chunk.shape[:2], 2 * _BLOCK)
    formed = chunk.new_empty(len(chunk) * 2 * _BLOCK * rows.shape[1])
    # One place in float64 too: torch makes one at each addition of numbers of two dtypes.
    wide = None if formed.dtype is torch.float64 else torch.empty_like(formed[: len(formed) // 2], dtype=torch.float64)
    for block, part in zip(_blocks(rows.shape[1]), parts, strict=True):
        left = chunk[..., block]
        if room is not None and scale is not None:
            left = torch.mul(left, scale, out=room[..., : left.shape[-1]])
        pair = formed[: len(chunk) * part.numel()].view(len(chunk), *part.shape)
        one, other = torch.bmm(left.mT, chunk[..., block.start :], out=pair)
        one += other
        part += one if wide is None else wide[: part.numel()].view(part.shape).copy_(one)


def mirrored(upper: Tensor) -> Tensor:
    """Return the symmetric matrix (n, n) with this ``upper`` triangle, whose place it takes."""
    for block in _blocks(len(upper)):
        square = upper[block, block].triu_()
        square += square.triu(1).mT
        upper[block.stop :, block] = upper[block, block.stop :].mT
    return upper


def _blocks(n: int) -> list[slice]:
    """Return the columns of blocks of rows of XᵀX, all as wide but the first: from each to the end are whole blocks."""
    first = n % _BLOCK if n % _BLOCK >= _BLOCK // 2 else n % _BLOCK + _BLOCK
    edges = [0, *range(min(first, n), n + 1, _BLOCK)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def product(
    left: Rows, right: Rows, *, weight: Tensor | None = None, precise: bool = False, check: Check = _nothing
) -> Tensor:
    """Return leftᵀ D right (a, b) in float64 from rows (k, a) and (k, b), chunked as `gram` is, D = diag(``weight``).

    The narrower side is transposed: a product with few columns runs at a quarter of the rate of one with few rows.
    """
    if right.shape[1] < left.shape[1]:
        return product(right, left, weight=weight, precise=precise, check=check).mT.contiguous()
    total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64, device=left.device)
    for (some, a), (_, b) in zip(read(left, precise, check), read(right, precise), strict=True):
        add_product(total, a, b, None if weight is None else weight[some])
    return total


def add_product(total: Tensor, left: Tensor, right: Tensor, weight: Tensor | None) -> None:
    """Add leftᵀ D right of few rows (r, a) and (r, b) to a float64 ``total`` (a, b)."""
    if weight is not None:
        left = left * weight[:, None].to(left.dtype)
    for part in batch(padded(left)).mT @ batch(right):
        total += part[: len(total)]


def multiply(rows: Tensor, matrix: Tensor, place: Tensor | None = None) -> Tensor:
    """Return ``rows`` (N, n) times ``matrix`` (n, m) as (N, m), put in ``place`` (N, m) where there is one.

    On a CPU as a batch of products of few rows each, transposed, which every core works on by itself: for few columns
    up to twice as fast as one product. It then lies column by column, along which sums over few columns run faster.
    """
    if rows.device.type != "cpu" or len(rows) < 2 * _BATCH:
        return rows @ matrix if place is None else place.copy_(rows @ matrix)
    count, m = len(rows) // _BATCH, matrix.shape[1]
    height = len(rows) // count  # fewer rows are left over than products
    whole = count * height
    left = padded(matrix).mT.contiguous().expand(count, -1, -1)
    result = rows.new_empty(m, len(rows)).mT if place is None else place
    found = left @ rows[:whole].unflatten(0, (count, height)).mT
    result[:whole].unflatten(0, (count, height)).copy_(found[:, :m].mT)
    torch.mm(rows[whole:], matrix, out=result[whole:])
    return result


def rows_at_a_time(precise: bool) -> int:
    """Return how many rows a product reads."""
    return _READ_PRECISELY if precise else READ


def batch(rows: Tensor) -> Tensor:
    """Return rows (r, n) as two products of at most CHUNK rows each, which keep two cores busier than one."""
    even = pad(rows, (0, 0, 0, 1)) if len(rows) % 2 else rows
    return even.unflatten(0, (2, -1))


def padded(columns: Tensor) -> Tensor:
    """Return columns (n, m) with zero ones up to a multiple of four, for which products of few columns are faster."""
    short = -columns.shape[1] % 4
    return pad(columns, (0, short)) if short else columns
