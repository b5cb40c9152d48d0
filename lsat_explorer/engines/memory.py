"""Rows that fit in memory, or on one card: sums over them, and features computed once where ω does not move them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from ..model.piece import Omega, prefixed, within
from ..model.prepared import Block, Prepared
from ..solve.gram import Rows, add_gram, gram, multiply, product, read
from ..solve.precision import Precision
from .here import RowsHere, Sums
from .moving import Factors, Moving, pull_back, transformed
from .side import AsRead, Side
from .stairs import Stairs
from .thin import Thin

__all__ = ["MemoryRows", "never"]


_WIDE = 256
"""Columns from which a block is multiplied where it lies; narrower ones are put side by side first."""

_NUMBERS, _LEAST = 2**18, 256
"""Numbers of the inputs that are taken to float64 at a time for features that are stored, and the fewest rows."""


def never() -> None:
    """Interrupt nothing."""


class MemoryRows(RowsHere):
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
        Whether evaluations read the rows only for what stands still, or once: light blocks are then computed as they
        are read, and take no memory. Unless the rows are fleeting, no row weight may be tuned.
    fleeting : bool
        Whether the rows are gone after one pass: blocks are then formed only where the pass asks for them, and no
        second copy is made to multiply faster.
    together : Tensor (≥ N, n_s + m), optional
        Where still blocks, of n_s columns in all, and the targets are put side by side as they are formed.
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
        fleeting: bool = False,
        together: Tensor | None = None,
        check: Callable[[], None] = never,
    ) -> None:
        how: dict[str, Any] = {"precision": precision, "device": device, "log_weight": log_weight, "check": check}
        super().__init__(prepared.columns(), moving, targets, **how)
        self._weight = None if log_weight is None else (2 * log_weight).exp()
        self._prepared, self._held, self._inputs = prepared.parts, omega, inputs
        self._device, self._seldom, self._fleeting = device, seldom, fleeting
        self._computed: dict[str, Tensor] = {}
        self._still: dict[str, Any] = {}
        self._stairs: Stairs | None = None
        self._looked = fleeting
        self._together = None if together is None else together[: len(self)]
        if not fleeting:
            for name in self.columns:
                self._stored(name)
            self._inputs = inputs.new_empty(0, inputs.shape[1])  # not to be kept for nothing

    def _stored(self, name: str) -> Any:
        """Return a still block, or of one that moves what does not depend on ω, formed when it is first asked for."""
        store = self._computed if name in self.moves else self._still
        if name not in store:
            store[name] = self._formed(name)
        return store[name]

    def _formed(self, name: str) -> Any:
        block, local = self._prepared[name], within(name, self._held)
        # What looks at no inputs is not to wait for one number of each row.
        inputs = self._inputs if block.looks else self._inputs[:1, :1].expand(len(self._inputs), 1)
        if name in self.moves:
            return self._by_chunks(block, local, inputs, True)
        if self._together is not None:
            start = sum(self._prepared[other].width for other in self.still[: self.still.index(name)])
            place = self._together[:, start : start + block.width]
            return place.copy_(inputs) if block.passes_inputs else self._by_chunks(block, local, inputs, False, place)
        if block.light:
            inputs = inputs.to(self._device)
            passes = block.passes_inputs and inputs.dtype == self.dtype
            read: Any = inputs if passes else AsRead(block, local, inputs, self.dtype)
            if self._seldom:
                return read
            repeated = not self._fleeting and self.dtype is torch.float64 and block.width >= _WIDE
            thin = Thin.of(read) if repeated else None
            if thin is not None or passes:
                return read if thin is None else thin
        return self._by_chunks(block, local, inputs, False)

    def _by_chunks(
        self, block: Block, omega: Omega, inputs: Tensor, moves: bool, place: Tensor | None = None
    ) -> Tensor:
        result = torch.empty(0, dtype=self.dtype, device=self._device) if place is None else place
        chunk = max(_LEAST, _NUMBERS // max(inputs.shape[1], 1))
        for start in range(0, len(inputs), chunk):
            self._check()
            computed = block.precompute(inputs[start : start + chunk].to(self._device).double())
            rows = computed if moves else block.features(omega, computed)
            if place is None and not start:  # the first chunk tells the width
                result = result.new_empty(len(inputs), *rows.shape[1:])
            result[start : start + len(rows)] = rows
        return result

    def moving(self, omega: Omega) -> Moving:
        """Return the blocks that depend on ω at ``omega``, local names."""
        blocks = {
            name: transformed(self._prepared[name], within(name, omega), self._stored(name), self._check)
            for name in self.moves
        }
        return Moving(omega, blocks)

    def _blocks(self, moving: Moving) -> dict[str, Any]:
        return {n: moving.blocks[n] if n in self.moves else self._stored(n) for n in self.columns}

    def _side(self, moving: Moving) -> list[Any]:
        """Return X in as few blocks as it lies in."""
        blocks = list(self._blocks(moving).values())
        return blocks if self.moves or self._together is None else [self._together[:, : self.shape[0]]]

    def predict(self, moving: Moving, theta: Tensor) -> Tensor:
        """Return X θ (N, m) in the dtype of products."""
        self._check()
        theta = theta.to(self.products)
        if self.products is not self.dtype:
            return self._predict_read(Side(self._side(moving)), theta)
        if self._together is not None and not self.moves:
            return multiply(self._side(moving)[0], theta)
        blocks = self._blocks(moving)
        if any(isinstance(block, AsRead) for block in blocks.values()):
            return self._predict_read(Side(list(blocks.values())), theta)
        return self._added(blocks, theta)

    def _added(self, blocks: Mapping[str, Any], theta: Tensor, total: Tensor | None = None) -> Tensor:
        """Return Σ_b X_b θ_b of some blocks, added to ``total`` where there is one."""
        for name, block in blocks.items():
            mine = theta[self.columns[name]]
            if isinstance(block, Thin):
                total = block.times(mine) if total is None else total.add_(block.times(mine))
            else:
                total = multiply(block, mine) if total is None else total.addmm_(block, mine)
        assert total is not None
        return total

    def fitted(self, moving: Moving, theta: Tensor, weighed: bool) -> Tensor:
        """Return X θ (N, m), from the copy without zeros that the normal equations are formed from where there is one.

        Whether there is one depends on the rows and on what is tuned, never on what was asked before: rows that are
        loaded again give the same bits.
        """
        again = self._again() if self._repeated(weighed) and self.products is self.dtype else None
        if not isinstance(again, Stairs):
            return self.predict(moving, theta)
        self._check()
        blocks = self._blocks(moving)
        theta = theta.to(self.dtype)
        beside = torch.cat([theta, theta.new_zeros(self.shape[1], theta.shape[1])])  # nothing of the targets
        total = again.times(beside[self.place(self.still, targets=True)])
        return self._added({name: blocks[name] for name in self.moves}, theta, total)

    def _wide(self) -> list[str]:
        """Return the still blocks that are multiplied where they lie."""
        return [name for name in self.still if self._prepared[name].width >= _WIDE]

    def _repeated(self, weighed: bool) -> bool:
        """Return whether evaluations multiply the still blocks again, with blocks that moved or with tuned weights."""
        return bool(self.still) and (weighed or bool(self.moves and self._wide()))

    def _predict_read(self, side: Side, theta: Tensor) -> Tensor:
        """Return X θ of rows that are computed, or converted, as they are read."""
        result = theta.new_empty(len(self), theta.shape[1])
        for some, rows in read(side, self._precise, self._check):
            torch.mm(rows, theta, out=result[some])
        return result

    def transposed(self, moving: Moving, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) in float64 from (N, m) rows."""
        rows = rows.to(self.products)
        blocks = self._side(moving)
        return torch.cat([b.transposed_times(rows) if isinstance(b, Thin) else self._product(b, rows) for b in blocks])

    def chunks(self, moving: Moving) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows and, until the next, their features (chunk, n) in float64."""
        yield from read(Side(self._side(moving)), True, self._check)

    def gram(self, moving: Moving, weight: Tensor) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n), every product in float64; weights (N,) may have any sign."""
        return gram(Side(self._side(moving)), weight=weight, precise=True, check=self._check)

    def still_sum(self, weighed: bool) -> Tensor:
        """Return [X_s, Y]ᵀ W² [X_s, Y] of the still blocks, every product in float64."""
        side = self._again() if self._repeated(weighed) else self._beside_targets()
        return side.gram(self._weight, True, self._check)

    def _beside_targets(self) -> Side:
        blocks = [*(self._stored(name) for name in self.still), self.targets]
        if self._together is None:
            return Side(blocks)
        self._together[:, -self.targets.shape[1] :] = self.targets
        return Side([self._together])

    def sums(self, moving: Moving, weight: Tensor | None, least: Tensor | None) -> Sums:
        """Return all that an evaluation needs of the rows."""
        still = None
        if weight is not None and self.still:
            still = self._again().gram(weight if least is None else weight - least, self._precise, self._check)
        return Sums(still, self.moved_row(moving, weight) if self.moves else None)

    def add_still(self, total: Tensor, weight: Tensor) -> None:
        """Add [X_s, Y]ᵀ diag(``weight``) [X_s, Y] of the still blocks to the upper triangle of ``total``."""
        add_gram(total, self._beside_targets(), weight, self._precise, self._check)

    def _again(self) -> Stairs | Side:
        """Return the still blocks and the targets side by side, as each evaluation multiplies them again."""
        side = self._beside_targets()  # one for each pass: another thread may go over the rows meanwhile
        if not self._looked:
            self._stairs = Stairs.of(side, self._check)
            self._looked = True
        return side if self._stairs is None else self._stairs

    def moved_row(self, moving: Moving, weight: Tensor | None) -> Tensor:
        """Return X_bᵀ diag(``weight``) [X, Y] (n_b, n + m) of the blocks that moved; None for weights that are held.

        What is narrow is multiplied together, the rows in one order: memberships that add up to the constant do so in
        the products too, to rounding, and G is then definite where it is in exact arithmetic.
        """
        blocks, weight = self._blocks(moving), self._weight if weight is None else weight
        left = Side([blocks[name] for name in self.moves])
        row = torch.empty(left.shape[1], sum(self.shape), dtype=torch.float64, device=self.targets.device)
        wide = self._wide()
        again = self._again() if wide else None
        if isinstance(again, Stairs):
            row[:, self.place(self.still, targets=True)] = again.product(left, weight, self._precise, self._check)
        else:
            for name in wide:
                row[:, self.columns[name]] = self._product(left, blocks[name], weight)
        narrow = [name for name in self.columns if name not in wide]
        side = Side([*(blocks[name] for name in narrow), self.targets])
        row[:, self.place(narrow, targets=True)] = self._product(left, side, weight)
        return row

    def _product(self, left: Rows, right: Rows, weight: Tensor | None = None) -> Tensor:
        return product(left, right, weight=weight, precise=self._precise, check=self._check)

    def pull_back(self, moving: Moving, gradients: Mapping[str, list[Factors]]) -> Omega:
        """Return Σ_b ⟨∂ψ/∂X_b, ∂X_b/∂ω⟩ by entry of ω, local names, with ∂ψ/∂X_b = Σ L Rᵀ of ``gradients[b]``."""
        result: Omega = {}
        for name, factors in gradients.items():
            block, computed = self._prepared[name], self._stored(name)
            found = pull_back(
                block, within(name, moving.omega), computed, moving.blocks.get(name), factors, self._check
            )
            result |= prefixed(name, found)
        return result
