"""Rows that fit in memory, or on one card: sums over them, and features computed once where ω does not move them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import Any

import torch
from torch import Tensor

from ..model.piece import Omega, prefixed, within
from ..model.prepared import Block, Prepared
from ..solve.gram import CHUNK, READ, Rows, gram, multiply, product
from ..solve.precision import Precision
from ..solve.weighted import Moments
from .moving import Factors, Moving, pull_back, transformed
from .side import AsRead, Side
from .stairs import Stairs

__all__ = ["Interrupted", "MemoryRows"]


class Interrupted(Exception):
    """Raised between row chunks when the run was asked to stop."""


_WIDE = 256
"""Columns from which a block is multiplied where it lies; narrower ones are put side by side first."""

_NUMBERS, _LEAST = 2**18, 256
"""Numbers of the inputs that are taken to float64 at a time for features that are stored, and the fewest rows."""


def _never() -> None:
    """Interrupt nothing."""


class MemoryRows:
    """Inputs and targets of one split as feature blocks X_b (N, n_b).

    Blocks without a tuned parameter are computed once, in float64, and stored in the rows' dtype, or are the inputs
    themselves; of the others only what does not depend on ω is kept. What the still blocks add to the normal equations
    is formed once too, in float64.

    Parameters
    ----------
    prepared : Prepared
        The featurizer, prepared on training rows.
    inputs, targets : Tensor (N, d), (N, m)
        The rows, moved once to ``device``.
    omega : Omega
        Values for the blocks that do not move, with local names.
    moving : set of str
        Names of blocks that depend on a tuned parameter.
    precision : Precision
        Of the stored rows and of the products that each evaluation repeats.
    log_weight : Tensor (N,), optional
        Log weights of the rows where they are not tuned; None where all weigh one, or where they are tuned.
    seldom : bool
        Whether evaluations read the rows only for what stands still: light blocks are then computed as they are read,
        and take no memory. No row weight may be tuned.
    check : callable
        Called between row chunks; raises `Interrupted` to end the work.
    """

    def __init__(
        self,
        prepared: Prepared,
        inputs: Tensor,
        targets: Tensor,
        omega: Omega,
        moving: set[str],
        *,
        precision: Precision,
        device: torch.device,
        log_weight: Tensor | None = None,
        seldom: bool = False,
        check: Callable[[], None] = _never,
    ) -> None:
        self.columns = prepared.columns()
        self.dtype = precision.rows
        self._precise = precision.products is torch.float64
        self._check = check
        self.targets = targets.to(device=device, dtype=self.dtype)
        self._weight = None if log_weight is None else (2 * log_weight).exp()
        self._moving = {name: prepared.parts[name] for name in self.columns if name in moving}
        self._computed: dict[str, Tensor] = {}
        self._still: dict[str, Any] = {}
        for name, block in prepared.parts.items():
            local = within(name, omega)
            if name in moving:
                self._computed[name] = self._by_chunks(block, local, inputs, True, device)
            elif block.passes_inputs and inputs.dtype == self.dtype:
                self._still[name] = inputs.to(device)
            elif seldom and block.light:
                self._still[name] = AsRead(block, local, inputs.to(device), self.dtype)
            else:
                self._still[name] = self._by_chunks(block, local, inputs, False, device)
        self._known: Moments | None = None
        self._repeated: Stairs | Side | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def precisely(self) -> MemoryRows:
        """Return the same rows, every product of which is taken in float64."""
        other = copy(self)
        other._precise = True
        return other

    def watched(self, check: Callable[[], None]) -> MemoryRows:
        """Return the same rows, whose work another ``check`` may end."""
        other = copy(self)
        other._check = check
        return other

    def _by_chunks(self, block: Block, omega: Omega, inputs: Tensor, moves: bool, device: torch.device) -> Tensor:
        result = torch.empty(0, dtype=self.dtype, device=device)
        chunk = max(_LEAST, _NUMBERS // max(inputs.shape[1], 1))
        for start in range(0, len(inputs), chunk):
            self._check()
            computed = block.precompute(inputs[start : start + chunk].to(device).double())
            rows = computed if moves else block.features(omega, computed)
            if not start:  # the first chunk tells the width
                result = result.new_empty(len(inputs), *rows.shape[1:])
            result[start : start + len(rows)] = rows
        return result

    def moving(self, omega: Omega) -> Moving:
        """Return the blocks that depend on ω at ``omega``, local names."""
        blocks = {
            name: transformed(block, within(name, omega), self._computed[name], self._check)
            for name, block in self._moving.items()
        }
        return Moving(omega, blocks)

    def _blocks(self, moving: Moving) -> dict[str, Any]:
        return {n: self._still[n] if n in self._still else moving.blocks[n] for n in self.columns}

    def predict(self, moving: Moving, theta: Tensor) -> Tensor:
        """Return X θ (N, m) in the rows' dtype."""
        self._check()
        blocks = self._blocks(moving)
        theta = theta.to(self.dtype)
        if any(isinstance(block, AsRead) for block in blocks.values()):
            return self._predict_read(Side(list(blocks.values())), theta)
        total = multiply(blocks[first := next(iter(blocks))], theta[self.columns[first]])
        for name, block in blocks.items():
            if name != first:
                total.addmm_(block, theta[self.columns[name]])
        return total

    def _predict_read(self, side: Side, theta: Tensor) -> Tensor:
        """Return X θ of rows that are computed as they are read."""
        result = theta.new_empty(len(self), theta.shape[1])
        for start in range(0, len(self), READ):
            self._check()
            torch.mm(side[start : start + READ], theta, out=result[start : start + READ])
        return result

    def transposed(self, moving: Moving, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) in float64 from (N, m) rows."""
        rows = rows.to(self.dtype)
        return torch.cat([self._product(block, rows) for block in self._blocks(moving).values()])

    def chunks(self, moving: Moving) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows and their features (chunk, n) in float64, a chunk at a time."""
        sides = Side(list(self._blocks(moving).values()))
        for start in range(0, len(self), CHUNK // 2):  # half as many in twice the bytes
            self._check()
            rows = slice(start, start + CHUNK // 2)
            yield rows, sides[rows].double()

    def normal_residual(self, moving: Moving, theta: Tensor, log_weight: Tensor | None) -> Tensor:
        """Return XᵀW²(Y − Xθ) (n, m), every product in float64."""
        total = torch.zeros_like(theta)
        for rows, features in self.chunks(moving):
            residual = self.targets[rows].double() - features @ theta
            if log_weight is not None:
                residual *= (2 * log_weight[rows].double()).exp()[:, None]
            total += features.mT @ residual
        return total

    def moments(self, moving: Moving, log_weight: Tensor | None = None) -> Moments:
        """Return XᵀW²X and XᵀW²Y with W = e^{``log_weight``} where the weights are tuned, else as they stand still."""
        if self._known is None:
            self._known = self._still_moments()
        moments, weight = self._known, self._weight
        if log_weight is not None:
            weight = (2 * log_weight).exp()
            moments = self._reweighted(moments, weight)
        return self._with_moved(moments, moving, weight) if moving.blocks else moments

    def gram(self, moving: Moving, weight: Tensor) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n), every product in float64; weights (N,) may have any sign."""
        return gram(Side(list(self._blocks(moving).values())), weight=weight, precise=True, check=self._check)

    def _still_moments(self) -> Moments:
        """Form once, in float64, what does not move; the columns that move stay zero."""
        n, m = self._shape
        result = Moments(*(torch.zeros(n, w, dtype=torch.float64, device=self.targets.device) for w in (n, m)))
        if self._still:
            side = Side([*self._still.values(), self.targets])
            self._spread(gram(side, weight=self._weight, precise=True, check=self._check), result)
        return result

    @property
    def _shape(self) -> tuple[int, int]:
        """Number of features and of outputs."""
        return max(columns.stop for columns in self.columns.values()), self.targets.shape[1]

    def _place(self, names: Iterable[str]) -> Tensor:
        """Return the columns of X that the blocks take, in the order of ``names``."""
        columns = [torch.arange(c.start, c.stop) for c in map(self.columns.__getitem__, names)]
        return torch.cat(columns or [torch.arange(0)]).to(self.targets.device)

    def _reweighted(self, known: Moments, weight: Tensor) -> Moments:
        """Return the still blocks' XᵀW²X = c XᵀX + Xᵀ(W² − c)X, and the same with Y.

        With the least weight as c both terms are positive semidefinite, so that nothing cancels, and only the second
        holds the rounding of the products.
        """
        least = weight.min()
        result = Moments(known.gram * least, known.cross * least)
        self._spread(self._again().gram(weight - least, self._precise, self._check), result)
        return result

    def _spread(self, total: Tensor, moments: Moments) -> None:
        """Add a total [X, Y]ᵀD[X, Y] of the still blocks and the targets to ``moments`` of all columns."""
        widths = [columns.stop - columns.start for columns in map(self.columns.__getitem__, self._still)]
        for name, row in zip(self._still, total.split([*widths, self.targets.shape[1]]), strict=False):
            *parts, cross = row.split([*widths, self.targets.shape[1]], 1)
            for other, part in zip(self._still, parts, strict=True):
                moments.gram[self.columns[name], self.columns[other]] += part
            moments.cross[self.columns[name]] += cross

    def _again(self) -> Stairs | Side:
        """Return the still blocks and the targets side by side, as each evaluation multiplies them again."""
        if self._repeated is None:
            side = Side([*self._still.values(), self.targets])
            self._repeated = Stairs.of(side) or side
        return self._repeated

    def _with_moved(self, still: Moments, moving: Moving, weight: Tensor | None) -> Moments:
        """Return the moments with the rows and columns that moved."""
        gram_, cross = (still.gram.clone(), still.cross.clone()) if still is self._known else (still.gram, still.cross)
        mine, n = self._place(moving.blocks), len(gram_)
        row = self._moved_row(moving, weight)
        square = row[:, mine]
        row[:, mine] = (square + square.mT) / 2
        gram_[mine], gram_[:, mine], cross[mine] = row[:, :n], row[:, :n].mT, row[:, n:]
        return Moments(gram_, cross)

    def _moved_row(self, moving: Moving, weight: Tensor | None) -> Tensor:
        """Return X_bᵀW² [X, Y] (n_b, n + m) of the blocks X_b that moved.

        What is narrow is multiplied together, the rows in one order: memberships that add up to the constant do so in
        the products too, to rounding, and G is then definite where it is in exact arithmetic.
        """
        blocks, (n, m) = self._blocks(moving), self._shape
        left, targets = (
            Side([blocks[name] for name in moving.blocks]),
            torch.arange(n, n + m, device=self.targets.device),
        )
        row = torch.empty(left.shape[1], n + m, dtype=torch.float64, device=self.targets.device)
        wide = [name for name in self._still if blocks[name].shape[1] >= _WIDE]
        again = self._again() if wide else None
        if isinstance(again, Stairs):
            places = torch.cat([self._place(self._still), targets])
            row[:, places] = again.product(left, weight, self._precise, self._check)
        else:
            for name in wide:
                row[:, self.columns[name]] = self._product(left, blocks[name], weight)
        narrow = [name for name in self.columns if name not in wide]
        side = Side([*(blocks[name] for name in narrow), self.targets])
        row[:, torch.cat([self._place(narrow), targets])] = self._product(left, side, weight)
        return row

    def _product(self, left: Rows, right: Rows, weight: Tensor | None = None) -> Tensor:
        return product(left, right, weight=weight, precise=self._precise, check=self._check)

    def pull_back(self, moving: Moving, gradients: Mapping[str, list[Factors]]) -> Omega:
        """Return Σ_b ⟨∂ψ/∂X_b, ∂X_b/∂ω⟩ by entry of ω, local names, with ∂ψ/∂X_b = Σ L Rᵀ of ``gradients[b]``."""
        result: Omega = {}
        for name, factors in gradients.items():
            block, computed = self._moving[name], self._computed[name]
            found = pull_back(block, within(name, moving.omega), computed, factors, self._check)
            result |= prefixed(name, found)
        return result
