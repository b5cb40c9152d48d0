"""A linear map to few features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..piece import Omega, register, whole
from ..prepared import Block, Featurizer

__all__ = ["LowRank"]


@register
@dataclass(frozen=True, repr=False)
class LowRank(Featurizer):
    """φ(x) = Tᵀ x, ``T`` (d, r) in ω; starts at the leading r right singular vectors of the training rows.

    The fit is then Tθ (d, m) of rank at most r. The inputs are taken as they are: put a ``Scale(tuned=False)`` before
    for principal components of standardised columns.

    Parameters
    ----------
    rank : int
        r, at most the number of columns d.

    Raises
    ------
    ValueError
        When the training rows have fewer than r rows or columns.

    Examples
    --------
    >>> LowRank(3)
    LowRank(rank=3)
    """

    rank: int

    def __post_init__(self) -> None:
        whole(self.rank, "LowRank: rank")

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block that starts at the leading singular vectors of inputs (k, d)."""
        k, d = inputs.shape
        if self.rank > min(k, d):
            raise ValueError(f"LowRank: rank is {self.rank}, but {k:,} rows of {d:,} columns have at most {min(k, d)}.")
        return _LowRank(_leading(inputs.double(), self.rank))

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _LowRank(state["T"])


def _leading(rows: Tensor, rank: int) -> Tensor:
    """Return the right singular vectors (d, rank) of the greatest singular values, greatest entries positive."""
    k, d = rows.shape
    # A tall matrix is first reduced to its triangular factor, which has the same right singular vectors.
    core = torch.linalg.qr(rows, mode="r").R if k > d else rows
    vectors = torch.linalg.svd(core, full_matrices=False).Vh[:rank].mT
    largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
    return (vectors * largest.sign()).contiguous()


class _LowRank(Block):
    def __init__(self, start: Tensor) -> None:
        self._start = start
        self.width = start.shape[1]

    def init(self) -> Omega:
        return {"T": self._start}

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return computed @ omega["T"].to(computed.dtype)

    def state(self) -> dict[str, Tensor]:
        return {"T": self._start}
