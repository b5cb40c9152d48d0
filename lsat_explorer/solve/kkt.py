"""The system of a constrained problem, M = [[AᵀA, Cᵀ], [C, 0]], solved by LDLᵀ or by MINRES."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .constraints import judge_constraints
from .factor import factorize
from .gram import gram
from .implicit import System
from .krylov import Progress, normalise
from .minres import minres
from .operators import LinearOperator, apart, column_norms, row_norms
from .outcome import Outcome, Reason, SolveError
from .solvers import MINRES

__all__ = ["DenseKKT", "IterativeKKT"]

_EPS = torch.finfo(torch.float64).eps
_CORRECTIONS = 8
# A part of a random vector that the solve does not give back lies in the null space of M.
_LOST = 1e-2
# Rows of C (numbers of them) that are made dense to say how they depend on one another.
_EXAMINED = 1 << 24


class DenseKKT(System):
    """M of dense A (k, n) and C (q, n): M = D⁻¹ L Δ Lᵀ D⁻¹, pivoted, made once for the solve and its derivatives."""

    def __init__(self, A: Tensor, C: Tensor, D: Tensor) -> None:
        self._A, self._C = apart(A), apart(C)
        with torch.no_grad():
            outcome = judge_constraints(C.cpu().numpy(), D.detach().cpu().numpy())
            if not outcome.ok:
                raise SolveError(outcome)
            G = gram(A)
            columns = _column_scale(G.diagonal(), C.square().sum(0))
            rows = (C * columns).square().sum(1).rsqrt()
            scaled = C * columns * rows[:, None]
            _refuse_undetermined(G * columns * columns[:, None] + scaled.mT @ scaled)
            self._M = torch.cat([torch.cat([G, C.mT], 1), torch.cat([C, C.new_zeros(len(C), len(C))], 1)])
            self._scale = torch.cat([columns, rows])[:, None]
            # On the CPU whatever the device, so that pivots and outcomes are the same everywhere.
            self._factor = torch.linalg.ldl_factor((self._scale * self._M * self._scale.mT).cpu())

    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that may want a gradient."""
        return self._A, self._C

    def apply(self, V: Tensor) -> Tensor:
        """Return M V, differentiable."""
        theta, nu = V.split([self._A.shape[1], len(self._C)])
        return torch.cat([self._A.mT @ (self._A @ theta) + self._C.mT @ nu, self._C @ theta])

    @torch.no_grad()
    def solve(self, right: Tensor) -> Tensor:
        """Return M⁻¹ ``right``, without a graph."""
        x = self._solve(right)
        return x + self._solve(right - self._M @ x)

    def _solve(self, right: Tensor) -> Tensor:
        solution = torch.linalg.ldl_solve(self._factor[0], self._factor[1], (self._scale * right).cpu())
        return self._scale * solution.to(right.device)


class IterativeKKT(System):
    """M of A and C known by their products, its rows and columns scaled by ``scale`` (n + q, 1) for the iterations."""

    def __init__(self, A: LinearOperator, C: LinearOperator, D: Tensor, solver: MINRES) -> None:
        self._A, self._C, self._D, self._solver = A, C, D.detach(), solver
        with torch.no_grad():
            columns = _column_scale(column_norms(A, D), column_norms(C, D))
            squares = row_norms(C, columns)
            rows = torch.where(squares > 0, squares, 1.0).rsqrt()
            self._scale = torch.cat([columns, rows])[:, None]
            v = self._random(3)
            for _ in range(5):
                v, norm = normalise(self._scaled(v))
            self._norm = norm[0]

    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that may want a gradient."""
        return list({id(p): p for p in (*self._A.parameters(), *self._C.parameters())}.values())

    def apply(self, V: Tensor) -> Tensor:
        """Return M V, differentiable."""
        theta, nu = V.split([self._A.shape[1], self._C.shape[0]])
        return torch.cat([self._A.rmatvec(self._A.matvec(theta)) + self._C.rmatvec(nu), self._C.matvec(theta)])

    def _scaled(self, y: Tensor) -> Tensor:
        return self._scale * self.apply(self._scale * y)

    def _random(self, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(self._scale.shape, generator=generator, dtype=torch.float64, device="cpu").to(
            self._scale.device
        )

    @torch.no_grad()
    def fit(self, right: Tensor) -> Tensor:
        """Return M⁻¹ ``right``, with a probe beside it: a random z that must come back from M z."""
        z = self._random(2)
        y, excess, stuck = self._correct(torch.cat([self._scale * right, self._scaled(z)], 1))
        lost = ((y[:, -1:] - z).abs() > _LOST).flatten()
        if (excess[-1] <= 1 and lost.any()) or stuck.any():
            self._refuse_dependent(lost)
        self._refuse_unreached(excess[:-1])
        return self._scale * y[:, :-1]

    @torch.no_grad()
    def solve(self, right: Tensor) -> Tensor:
        """Return M⁻¹ ``right``, without a graph."""
        y, excess, _ = self._correct(self._scale * right)
        self._refuse_unreached(excess)
        return self._scale * y

    def _correct(self, right: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return y, residual / tolerated (m,), and which columns have no solution (m,)."""
        progress = Progress(self._solver.max_iterations)
        size = torch.linalg.vector_norm(right, dim=0)
        target = self._solver.tolerance * size
        y, residual = torch.zeros_like(right), right
        for _ in range(_CORRECTIONS):
            step, stuck = minres(self._scaled, residual, target / 2, progress)
            y = y + step
            residual = right - self._scaled(y)
            floor = 8 * _EPS * (size + self._norm * torch.linalg.vector_norm(y, dim=0))
            tolerated = torch.maximum(target, floor).clamp_min(torch.finfo(y.dtype).tiny)
            excess = torch.linalg.vector_norm(residual, dim=0) / tolerated
            stuck = stuck & (excess > 1)
            if progress.left <= 0 or ((excess <= 1) | stuck).all():
                break
        return y, excess, stuck

    def _refuse_dependent(self, lost: Tensor) -> None:
        """Raise for the columns or the rows where the probe was ``lost`` (n + q,)."""
        n = self._A.shape[1]
        columns, rows = (part.nonzero().flatten().tolist() for part in (lost[:n], lost[n:]))
        if columns:
            raise SolveError(_undetermined(columns))
        if not rows:
            return
        if len(rows) * n <= _EXAMINED:
            unit = torch.zeros(self._C.shape[0], len(rows), dtype=torch.float64, device=lost.device)
            unit[rows, range(len(rows))] = 1.0
            C = self._C.rmatvec(unit).mT.cpu().numpy()
            outcome = judge_constraints(np.ascontiguousarray(C), self._D[rows].cpu().numpy(), rows)
            if not outcome.ok:
                raise SolveError(outcome)
        sentence = f"{len(rows)} rows of C, from row {rows[0]}, are linearly dependent: drop all but independent ones."
        raise SolveError(Outcome(Reason.REDUNDANT_CONSTRAINTS, sentence, rows=tuple(rows)))

    def _refuse_unreached(self, excess: Tensor) -> None:
        worst = float(excess.max()) if len(excess) else 0.0
        if not worst <= 1:
            sentence = (
                f"MINRES stopped within {self._solver.max_iterations} iterations with the residual at "
                f"{worst * self._solver.tolerance:.1e} of its start, where {self._solver.tolerance:.1e} was asked for: "
                "raise max_iterations or tolerance, or add a ridge."
            )
            raise SolveError(Outcome(Reason.NOT_CONVERGED, sentence))


def _column_scale(in_A: Tensor, in_C: Tensor) -> Tensor:
    """Return the scale (n,) that gives the columns of A, or those of C where A has a zero column, length one."""
    squares = torch.where(in_A > 0, in_A, in_C)
    return torch.where(squares > 0, squares, 1.0).rsqrt()


def _refuse_undetermined(G: Tensor) -> None:
    """Raise when AᵀA + CᵀC is singular: some θ changes neither A θ nor C θ."""
    outcome = factorize(G).outcome
    if not outcome.ok:
        raise SolveError(outcome if outcome.column is None else _undetermined([outcome.column]))


def _undetermined(columns: list[int]) -> Outcome:
    shown = ", ".join(map(str, columns[:8])) + (", …" if len(columns) > 8 else "")
    noun = f"Column {shown}" if len(columns) == 1 else f"Columns {shown}"
    sentence = f"{noun} of A and C together do not determine θ: add a ridge or a constraint that covers them."
    column = columns[0] if len(columns) == 1 else None
    return Outcome(Reason.RANK_DEFICIENT, sentence, column, tuple(columns))
