"""Sparse rows that stay sparse: features that shift and scale their columns are summed without being formed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.sparse_rows import MOST_DENSE, RowsSparse
from ..model.piece import Omega, prefixed, within
from ..model.prepared import Block, Prepared
from ..solve.shifted import Columns, Shifted, Sums, assembled, predicted, transposed
from ..solve.weighted import Moments
from .moving import Factors, Moving
from .row_sums import RowSums

__all__ = ["AT_ONCE", "SparseRows", "is_columnwise", "outputs", "refuse_all"]

AT_ONCE = 2**22
"""Numbers of rows that are made dense at a time."""

_COPIES = 6
"""Matrices (n, n) that a fit holds at a time: sums, G, and what its factor takes."""


def is_columnwise(prepared: Prepared, omega: Omega) -> bool:
    """Whether every block shifts and scales columns, or is constant; ``omega`` has local names."""
    return all(
        not block.looks or block.columnwise(within(name, omega)) is not None for name, block in prepared.parts.items()
    )


def outputs(prepared: Prepared, omega: Omega, theta: Tensor, matrix: Any) -> np.ndarray:
    """Return φ(x)ᵀθ (N, m) of a sparse ``matrix`` (N, d) by rows, ``omega`` with local names."""
    if is_columnwise(prepared, omega):
        columns = [_columns(block, within(name, omega)) for name, block in prepared.parts.items()]
        return np.asarray(predicted(Shifted(matrix), columns, theta.cpu()))
    found = np.empty((matrix.shape[0], theta.shape[1]))
    step = max(1, AT_ONCE // max(matrix.shape[1], theta.shape[0]))
    for start in range(0, len(found), step):
        rows = torch.from_numpy(matrix[start : start + step].toarray()).to(theta.device).double()
        found[start : start + step] = (torch.cat(list(prepared.blocks(omega, rows).values()), 1) @ theta).cpu()
    return found


def _columns(block: Block, omega: Omega) -> Columns:
    if (found := block.columnwise(omega)) is not None:
        scale, shift = (part.detach().double().cpu() for part in found)
        return Columns(scale, shift)
    nothing = torch.zeros(1, 1, dtype=torch.float64, device="cpu")
    return Columns(None, block.features(omega, block.precompute(nothing))[0])


class SparseRows(RowSums):
    """Sparse inputs and targets of one split, on a CPU, whose features are shifts and scales of the columns.

    No feature is formed, but a few rows at a time where each row has an n² work of its own, as a leverage has. All
    sums are float64. The arguments are those of `MemoryRows`.

    Raises
    ------
    ValueError
        When the normal equations, which are dense, have no room in this machine's memory.
    """

    sparse = True

    def __init__(
        self,
        prepared: Prepared,
        inputs: RowsSparse,
        targets: Tensor,
        omega: Omega,
        moving: set[str],
        **how: Any,
    ) -> None:
        super().__init__(prepared.columns(), moving, targets, **how)
        _refuse_wide(self.shape[0])
        self._rows = Shifted(inputs.matrix)
        self._prepared, self._held = prepared.parts, omega
        self._summed: Sums | None = None

    def moving(self, omega: Omega) -> Moving:
        """Return ω alone: no features are formed."""
        return Moving(omega)

    def _at(self, moving: Moving) -> list[Columns]:
        omega = {name: moving.omega if name in self.moves else self._held for name in self.columns}
        return [_columns(self._prepared[name], within(name, at)) for name, at in omega.items()]

    def predict(self, moving: Moving, theta: Tensor) -> Tensor:
        """Return X θ (N, m) in the dtype of products."""
        return self._predicted(moving, theta).to(self.products)

    def _predicted(self, moving: Moving, theta: Tensor) -> Tensor:
        self._check()
        return predicted(self._rows, self._at(moving), theta)

    def transposed(self, moving: Moving, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) in float64 from (N, m) rows."""
        self._check()
        return transposed(self._rows, self._at(moving), rows)

    def back(self, moving: Moving, values: Tensor) -> Tensor:
        """Return Xᵀ ``values`` (n, q) from float64 (N, q)."""
        return self.transposed(moving, values)

    def normal_residual(self, moving: Moving, theta: Tensor, log_weight: Tensor | None = None) -> Tensor:
        """Return XᵀW²(Y − Xθ) (n, m)."""
        residual = self.targets.double() - self._predicted(moving, theta)
        if log_weight is not None:
            residual *= (2 * log_weight.double()).exp()[:, None]
        return self.transposed(moving, residual)

    def chunks(self, moving: Moving) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows and, until the next, their features (chunk, n) in float64."""
        columns, n = self._at(moving), self.shape[0]
        step = max(1, AT_ONCE // max(n, self._rows.shape[1]))
        for start in range(0, len(self), step):
            self._check()
            cut = slice(start, min(start + step, len(self)))
            dense = self._rows[cut]
            parts = []
            for one in columns:
                beside = one.beside(self._rows.reference).expand(len(dense), -1)
                parts.append(beside if one.scale is None else dense * one.scale + beside)
            yield cut, torch.cat(parts, 1)

    def gram(self, moving: Moving, weight: Tensor) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n); weights (N,) may have any sign."""
        sums = self._rows.sums(weight, self.targets[:, :0], self._check)
        return assembled(sums, self._at(moving), self._rows.reference)[0]

    def moments(self, moving: Moving, log_weight: Tensor | None = None) -> Moments:
        """Return XᵀW²X and XᵀW²Y with W = e^{``log_weight``} where the weights are tuned, else as they stand still."""
        if log_weight is not None:
            return self._assembled(moving, self._rows.sums((2 * log_weight).exp(), self.targets, self._check))
        if self.moves:
            if self._summed is None:
                self._summed = self._standing()
            return self._assembled(moving, self._summed)
        if self._known is None:
            self._known = self._assembled(moving, self._standing())
        return self._known

    def _standing(self) -> Sums:
        """Return the sums with weights that are not tuned."""
        return self._rows.sums(self._squared(None), self.targets, self._check)

    def _assembled(self, moving: Moving, sums: Sums) -> Moments:
        self._check()
        return assembled(sums, self._at(moving), self._rows.reference)

    def pull_back(self, moving: Moving, gradients: Mapping[str, Sequence[Factors]]) -> Omega:
        """Return Σ_b ⟨∂ψ/∂X_b, ∂X_b/∂ω⟩ by entry of ω, local names, with ∂ψ/∂X_b = Σ L Rᵀ of ``gradients[b]``."""
        result: Omega = {}
        for name, factors in gradients.items():
            leaves = {n: v.detach().requires_grad_() for n, v in within(name, moving.omega).items()}
            with torch.enable_grad():
                found = self._prepared[name].columnwise(leaves)
                assert found is not None
                scale, shift = found
                by_scale, by_shift = self._slopes(scale.detach(), shift.detach(), factors)
                through = (scale * by_scale).sum() + (shift * by_shift).sum()
            slopes = torch.autograd.grad(through, list(leaves.values()), allow_unused=True)
            given = zip(leaves, slopes, strict=True)
            result |= prefixed(name, {n: torch.zeros_like(leaves[n]) if s is None else s for n, s in given})
        return result

    @torch.no_grad()
    def _slopes(self, scale: Tensor, shift: Tensor, factors: Sequence[Factors]) -> tuple[Tensor, Tensor]:
        """Return ∂ψ/∂a_j = Σ_i (LRᵀ)_ij (x_ij − b_j) and ∂ψ/∂b_j = −a_j Σ_i (LRᵀ)_ij."""
        by_scale, by_shift = torch.zeros_like(scale), torch.zeros_like(shift)
        for left, right in factors:
            right = right.double()
            total = right @ left.double().sum(0)
            by_scale += (right * self._rows.transposed_times(left)).sum(1) + (self._rows.reference - shift) * total
            by_shift -= scale * total
        return by_scale, by_shift


def refuse_all(rows: int, n: int, work: str) -> None:
    """Refuse ``work`` that takes numbers (rows, n), as many as features of sparse rows, beyond 512 MiB."""
    if (size := 8 * rows * n) > MOST_DENSE:
        raise ValueError(
            f"X is sparse, and {work} takes all of its {rows:,} × {n:,} features at once, which are "
            f"{size / 2**30:.1f} GiB, expected at most {MOST_DENSE / 2**30:.1f}: choose criterion=lsat.HeldOut(), or "
            "features that are not tuned, as of Scale(tuned=False)."
        )


def _memory() -> int | None:
    """Return the bytes of this machine's memory, None where the system does not tell."""
    if sys.platform == "win32":
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _refuse_wide(n: int) -> None:
    needed, memory = _COPIES * 8 * n**2, _memory()
    if memory is not None and needed > memory:
        raise ValueError(
            f"X is sparse, but the normal equations of its {n:,} features are dense: with their factor they take "
            f"{needed / 2**30:.1f} GiB, and this machine has {memory / 2**30:.1f}. Give fewer columns, by TruncatedSVD "
            "or SelectKBest of scikit-learn, or solve once by lsat.least_squares(X, y, solver=lsat.LSMR()), which "
            "forms none."
        )
