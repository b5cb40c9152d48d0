"""Rows whose features are never held at once: more rows than the memory, or the card, has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from ..data.on_disk import RowsApart, RowsOnDisk
from ..data.sparse_rows import RowsSparse
from ..model.piece import Omega
from ..model.prepared import Prepared
from ..solve.gram import mirrored
from ..solve.precision import Precision
from .here import RowsHere, Sums
from .memory import MemoryRows
from .moving import Factors, Moving
from .passes import Fitted, Flow, Flowed, Judge, Judged, LeftOut, plus

__all__ = ["ChunkRows"]


class ChunkRows(RowsHere):
    """Inputs and targets of one split, a chunk of rows at a time as `MemoryRows`.

    The inputs stay where they are, in the host's memory or on disk. Each pass reads them in order, and the
    next chunks while the present ones are worked on. Features are formed anew on every pass; what stands still is
    summed once. The numbers are those of `MemoryRows`, but for the order of sums.

    Parameters
    ----------
    rows : int
        Number of rows whose features are held at a time.
    ahead : int
        Number of such chunks that are read at a time: each hand-over between threads may wait for a core.
    prepared, inputs, targets, omega, moving, precision, device, log_weight, check
        As for `MemoryRows`.
    """

    def __init__(
        self,
        rows: int,
        ahead: int,
        prepared: Prepared,
        inputs: Tensor,
        targets: Tensor,
        omega: Omega,
        moving: set[str],
        *,
        precision: Precision,
        device: torch.device,
        log_weight: Tensor | None = None,
        check: Callable[[], None],
    ) -> None:
        how: dict[str, Any] = {"precision": precision, "device": device, "log_weight": log_weight, "check": check}
        super().__init__(prepared.columns(), moving, targets, **how)
        self._inputs, self.sparse = inputs, isinstance(inputs, RowsSparse)
        self._rows, reads = rows, rows * ahead
        self._reads = [slice(start, min(start + reads, len(inputs))) for start in range(0, len(inputs), reads)]
        self._prepared, self._held, self._moving = prepared, omega, moving
        self._precision, self._device = precision, device

    def _read(self, rows: slice, buffer: Tensor) -> Tensor:
        inputs = self._inputs
        if isinstance(inputs, RowsApart):
            # Not out of the map, whose pages would count as memory of this process once they were looked at.
            chunk = inputs.read(rows, buffer)
        else:
            chunk = buffer[: rows.stop - rows.start].copy_(inputs[rows])
        if self._device.type == "cuda":
            return chunk.pin_memory().to(self._device, non_blocking=True)
        return chunk

    def _parts(self) -> Iterator[tuple[slice, MemoryRows]]:
        """Yield chunks of rows, each until the next; those to come are read meanwhile."""
        # The same buffer for the whole pass: what is taken and freed chunk by chunk leaves holes between what stays.
        width = self.targets.shape[1] + sum(self._prepared.parts[name].width for name in self.still)
        together = torch.empty(min(len(self), self._rows), width, dtype=self.dtype, device=self._device)
        for read, inputs in self._arriving():
            self._check()
            for start in range(read.start, read.stop, self._rows):
                rows = slice(start, min(start + self._rows, read.stop))
                yield rows, self._part(rows, inputs[start - read.start : rows.stop - read.start], together)

    def _arriving(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows, and their inputs until the next."""
        inputs = self._inputs
        if self._device.type == "cpu" and not isinstance(inputs, RowsApart):
            for read in self._reads:
                yield read, inputs[read]
        elif self._device.type == "cpu" and isinstance(inputs, RowsOnDisk):
            yield from self._from_disk(inputs)
        else:
            yield from self._by_thread()

    def _from_disk(self, inputs: RowsOnDisk) -> Iterator[tuple[slice, Tensor]]:
        """Yield inputs of a file, of which the system fetches what comes next.

        Not by a thread: it and those of a product, which wait for each other, would share the cores.
        """
        buffer = torch.empty(min(self._rows, len(self)), inputs.shape[1], dtype=inputs.dtype, device="cpu")
        with inputs.opened() as file:
            for number, read in enumerate(self._reads):
                for coming in self._reads[number + 1 : number + 2]:
                    inputs.foresee(coming, file)
                for start in range(read.start, read.stop, self._rows):
                    rows = slice(start, min(start + self._rows, read.stop))
                    yield rows, inputs.read(rows, buffer, file)

    def _by_thread(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield inputs that a thread brings, the next while the present ones are worked on."""
        most = max(read.stop - read.start for read in self._reads)
        buffers = [torch.empty(most, self._inputs.shape[1], dtype=self._inputs.dtype, device="cpu") for _ in range(2)]
        with ThreadPoolExecutor(1, "rows") as reader:
            coming = reader.submit(self._read, self._reads[0], buffers[0])
            for number, read in enumerate(self._reads):
                inputs = coming.result()
                if number + 1 < len(self._reads):
                    coming = reader.submit(self._read, self._reads[number + 1], buffers[(number + 1) % 2])
                yield read, inputs

    def _part(self, rows: slice, inputs: Tensor, together: Tensor) -> MemoryRows:
        part = MemoryRows(
            self._prepared,
            inputs,
            self.targets[rows],
            self._held,
            self._moving,
            precision=self._precision,
            device=self._device,
            log_weight=None if self._log_weight is None else self._log_weight[rows],
            seldom=True,
            fleeting=True,
            together=together,
            check=self._check,
        )
        return part.precisely() if self._precise else part

    def moving(self, omega: Omega) -> Moving:
        """Return ω alone: the blocks are formed as rows are read."""
        return Moving(omega)

    def predict(self, moving: Moving, theta: Tensor) -> Tensor:
        """Return X θ (N, m) in the dtype of products."""
        result = torch.empty(len(self), theta.shape[1], dtype=self.products, device=self._device)
        for cut, part in self._parts():
            result[cut] = part.predict(part.moving(moving.omega), theta)
        return result

    def transposed(self, moving: Moving, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) in float64 from (N, m) rows."""
        return _sum(part.transposed(part.moving(moving.omega), rows[cut]) for cut, part in self._parts())

    def chunks(self, moving: Moving) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows and, until the next, their features (chunk, n) in float64."""
        for cut, part in self._parts():
            for rows, features in part.chunks(part.moving(moving.omega)):
                yield slice(cut.start + rows.start, cut.start + min(rows.stop, len(part))), features

    def gram(self, moving: Moving, weight: Tensor) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n), every product in float64; weights (N,) may have any sign."""
        return _sum(part.gram(part.moving(moving.omega), weight[cut]) for cut, part in self._parts())

    def still_sum(self, weighed: bool) -> Tensor:
        """Return [X_s, Y]ᵀ W² [X_s, Y] of the still blocks, every product in float64."""
        return _sum(part.still_sum(weighed) for _, part in self._parts())

    def sums(self, moving: Moving, weight: Tensor | None, least: Tensor | None) -> Sums:
        """Return all that an evaluation needs of the rows, each chunk read once."""
        n = len(self.place(self.still, targets=True))
        still = torch.zeros(n, n, dtype=torch.float64, device=self._device)
        moved: Tensor | None = None
        for cut, part in self._parts():
            mine = None if weight is None else weight[cut]
            if mine is not None and self.still:
                part.add_still(still, mine if least is None else mine - least)
            if self.moves:
                moved = plus(moved, part.moved_row(part.moving(moving.omega), mine))
        return Sums(mirrored(still) if weight is not None and self.still else None, moved)

    def judged(self, moving: Moving, theta: Tensor, judge: Judge) -> Judged:
        """Return ψ and ∇_θψ, each chunk read once."""
        found: Judged | None = None
        for _, part in self._parts():
            found = plus(found, part.judged(part.moving(moving.omega), theta, judge))
        assert found is not None
        return found

    def left_out(self, moving: Moving, fit: Fitted, start: int = 0, log_weight: Tensor | None = None) -> LeftOut:
        """Return ψ of rows that are left out, with its slopes, each chunk read once."""
        found: LeftOut | None = None
        for cut, part in self._parts():
            mine = None if log_weight is None else log_weight[cut]
            at = part.moving(moving.omega)
            found = plus(found, part.left_out(at, fit, start + cut.start, mine))
        assert found is not None
        return found

    def flowed(self, moving: Moving, flows: Sequence[Flow], weighed: bool, log_weight: Tensor | None = None) -> Flowed:
        """Return what flows back through fits, each chunk read once."""
        weights = torch.empty(len(self), dtype=torch.float64, device=self._device) if weighed else None
        total: Flowed | None = None
        for cut, part in self._parts():
            mine = None if log_weight is None else log_weight[cut]
            found = part.flowed(part.moving(moving.omega), flows, weighed, mine)
            if weights is not None and found.weights is not None:
                weights[cut] = found.weights
            total = plus(total, found._replace(weights=None))
        assert total is not None
        return total._replace(weights=weights)

    def pull_back(self, moving: Moving, gradients: Mapping[str, list[Factors]]) -> Omega:
        """Return Σ_b ⟨∂ψ/∂X_b, ∂X_b/∂ω⟩ by entry of ω, local names, with ∂ψ/∂X_b = Σ L Rᵀ of ``gradients[b]``."""
        result: Omega = {}
        for cut, part in self._parts():
            mine = {name: [(left[cut], right) for left, right in factors] for name, factors in gradients.items()}
            result = plus(result, part.pull_back(Moving(moving.omega), mine))
        return result


def _sum(terms: Iterator[Tensor]) -> Tensor:
    """Return the sum of at least one matrix, added into the first."""
    total = next(terms)
    for term in terms:
        total += term
    return total
