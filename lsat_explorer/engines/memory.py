"""Rows that fit in memory, or on one card: sums over them, and features computed once where ω does not move them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..model.piece import Omega, within
from ..model.prepared import Block, Prepared
from ..solve.gram import CHUNK, gram, product
from ..solve.weighted import Moments, feature_gradient

__all__ = ["Interrupted", "MemoryRows", "Moving"]


class Interrupted(Exception):
    """Raised between row chunks when the run was asked to stop."""


@dataclass(frozen=True)
class Moving:
    """The blocks of one set of rows that depend on ω, at one ω, with their graph back to it."""

    leaves: Omega = field(default_factory=dict)
    blocks: Mapping[str, Tensor] = field(default_factory=dict)


def _never() -> None:
    """Interrupt nothing."""


class MemoryRows:
    """Inputs and targets of one split as feature blocks X_b (N, n_b).

    Blocks without a tuned parameter are computed once, in float64, and stored in ``dtype``; of the others only what
    does not depend on ω is kept. Their products with each other are formed once too, in float64.

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
        dtype: torch.dtype,
        device: torch.device,
        check: Callable[[], None] = _never,
    ) -> None:
        self.columns = prepared.columns()
        self.dtype = dtype
        self._check = check
        self.targets = targets.to(device=device, dtype=dtype)
        self._moving = {name: prepared.parts[name] for name in self.columns if name in moving}
        self._computed: dict[str, Tensor] = {}
        self._still: dict[str, Tensor] = {}
        for name, block in prepared.parts.items():
            rows = self._by_chunks(block, within(name, omega), inputs, name in moving, device)
            (self._computed if name in moving else self._still)[name] = rows
        self._known: Moments | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def _by_chunks(self, block: Block, omega: Omega, inputs: Tensor, moves: bool, device: torch.device) -> Tensor:
        parts = []
        for chunk in inputs.split(4 * CHUNK):
            self._check()
            computed = block.precompute(chunk.to(device).double())
            parts.append((computed if moves else block.features(omega, computed)).to(self.dtype))
        return torch.cat(parts)

    def moving(self, omega: Omega) -> Moving:
        """Return the blocks that depend on ω at ``omega``, differentiable in it."""
        if not self._moving:
            return Moving()
        leaves: Omega = {}
        blocks: dict[str, Tensor] = {}
        with torch.enable_grad():
            for name, block in self._moving.items():
                local = {key: value.detach().requires_grad_() for key, value in within(name, omega).items()}
                leaves |= {f"{name}.{key}" if name else key: value for key, value in local.items()}
                blocks[name] = block.features(local, self._computed[name])
        return Moving(leaves, blocks)

    def _blocks(self, moving: Moving) -> dict[str, Tensor]:
        return {n: self._still[n] if n in self._still else moving.blocks[n].detach() for n in self.columns}

    def predict(self, moving: Moving, theta: Tensor) -> Tensor:
        """Return X θ (N, m) in the rows' dtype."""
        self._check()
        blocks = self._blocks(moving)
        theta = theta.to(self.dtype)
        total = blocks[first := next(iter(blocks))] @ theta[self.columns[first]]
        for name, block in blocks.items():
            if name != first:
                total.addmm_(block, theta[self.columns[name]])
        return total

    def transposed(self, moving: Moving, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) in float64 from (N, m) rows."""
        rows = rows.to(self.dtype)
        return torch.cat([product(block, rows, check=self._check) for block in self._blocks(moving).values()])

    def chunks(self, moving: Moving) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows and their features (chunk, n) in float64, a chunk at a time."""
        sides = _Side(list(self._blocks(moving).values()))
        for start in range(0, len(self), CHUNK):
            self._check()
            rows = slice(start, start + CHUNK)
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

    def moments(self, moving: Moving, log_weight: Tensor | None) -> Moments:
        """Return XᵀW²X and XᵀW²Y, W = e^{ω} or one."""
        if log_weight is not None:
            return self._weighted(moving, log_weight.exp().to(self.dtype))
        if self._known is None:
            self._known = self._still_moments()
        if not self._moving:
            return self._known
        return self._with_moved(self._known, moving)

    def _weighted(self, moving: Moving, scale: Tensor) -> Moments:
        m = self.targets.shape[1]
        everything = _Side([*self._blocks(moving).values(), self.targets], scale)
        total = gram(everything, check=self._check)
        return Moments(total[:-m, :-m].contiguous(), total[:-m, -m:].contiguous())

    def _still_moments(self) -> Moments:
        """Form once, in float64, what does not move; the columns that move stay zero."""
        n, m = max(c.stop for c in self.columns.values()), self.targets.shape[1]
        result = Moments(*(torch.zeros(n, w, dtype=torch.float64, device=self.targets.device) for w in (n, m)))
        if self._still:
            total = gram(_Side([*self._still.values(), self.targets]), precise=True, check=self._check)
            place = torch.cat(
                [torch.arange(c.start, c.stop) for name, c in self.columns.items() if name in self._still]
            )
            place = place.to(total.device)
            result.gram[place[:, None], place] = total[:-m, :-m]
            result.cross[place] = total[:-m, -m:]
        return result

    def _with_moved(self, known: Moments, moving: Moving) -> Moments:
        """Add the columns and rows that moved to what stands still."""
        gram_, cross = known.gram.clone(), known.cross.clone()
        names = list(self.columns)
        rows = self._blocks(moving)
        for name in moving.blocks:
            mine = self.columns[name]
            # A pair of moved blocks is formed by the earlier of the two.
            others = [o for o in names if o in self._still or names.index(o) >= names.index(name)]
            right = _Side([rows[o] for o in others] + [self.targets])
            total = product(rows[name], right, check=self._check)
            start = 0
            for other in others:
                width = rows[other].shape[1]
                part = total[:, start : start + width]
                gram_[mine, self.columns[other]] = part
                gram_[self.columns[other], mine] = part.mT
                start += width
            cross[mine] = total[:, start:]
        return Moments(gram_, cross)

    def feature_gradients(
        self, moving: Moving, residual: Tensor, image: Tensor, theta: Tensor, C: Tensor, scale: Tensor | None
    ) -> dict[str, Tensor]:
        """Return ∂ψ/∂X_b = W²(E C_bᵀ − (XC) θ_bᵀ) of the blocks that move, E ``residual`` and XC ``image``, (N, m)."""
        return {
            name: feature_gradient(residual, image, theta[self.columns[name]], C[self.columns[name]], scale)
            for name in moving.blocks
        }

    def pull_back(self, moving: Moving, gradients: Mapping[str, Tensor]) -> Omega:
        """Return Σ_b ⟨gradients_b, ∂X_b/∂ω⟩ by entry of ω, local names."""
        if not moving.blocks:
            return {}
        outputs = [moving.blocks[name] for name in gradients]
        seeds = [gradients[name].to(self.dtype) for name in gradients]
        found = torch.autograd.grad(outputs, list(moving.leaves.values()), seeds, retain_graph=True, allow_unused=True)
        return {
            name: torch.zeros_like(leaf) if g is None else g
            for (name, leaf), g in zip(moving.leaves.items(), found, strict=True)
        }


class _Side:
    """Blocks side by side, each row times its ``scale``, put together a chunk of rows at a time."""

    def __init__(self, blocks: list[Tensor], scale: Tensor | None = None) -> None:
        self._blocks, self._scale = blocks, scale
        self.shape = (blocks[0].shape[0], sum(block.shape[1] for block in blocks))
        self.device = blocks[0].device

    def __getitem__(self, rows: slice) -> Tensor:
        if self._scale is None:
            return torch.cat([block[rows] for block in self._blocks], 1)
        scale = self._scale[rows, None]
        chunk = torch.empty(len(scale), self.shape[1], dtype=scale.dtype, device=self.device)
        start = 0
        for block in self._blocks:
            torch.mul(block[rows], scale, out=chunk[:, start : start + block.shape[1]])
            start += block.shape[1]
        return chunk
