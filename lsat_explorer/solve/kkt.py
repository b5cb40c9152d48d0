"""The system of a constrained problem, M = [[AᵀA, Cᵀ], [C, 0]], solved by MINRES."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .constraints import judge_constraints, refuse_missed, undetermined
from .elimination import Elimination, bounded
from .gram import unit
from .implicit import System
from .krylov import Progress, normalise
from .minres import minres
from .operators import LinearOperator, column_norms, probes, row_norms
from .outcome import Outcome, Reason, SolveError
from .solvers import MINRES

__all__ = ["IterativeKKT"]

_EPS = torch.finfo(torch.float64).eps
_CORRECTIONS = 8
# A part of a random vector that the solve does not give back lies in the null space of M.
_LOST = 1e-2
# Of the sizes of C θ and D, what they may differ by, unless the tolerance is that coarse.
_MISSED = 1e-6
# Rows of C (numbers of them) that are made dense to say how they depend on one another.
_EXAMINED = 1 << 24
# Numbers of a C that is eliminated: its dense product, a few milliseconds, is taken at each iteration.
_ELIMINATED = 1 << 22


class IterativeKKT(System):
    """M of A and C known by their products, in coordinates in which its columns have one size for the iterations.

    Where C has few numbers they are those of an `Elimination`, in which its rows can be made orthonormal whatever the
    units of the columns are; where it has more, rows and columns of M are scaled.
    """

    def __init__(self, A: LinearOperator, C: LinearOperator, D: Tensor, solver: MINRES) -> None:
        self._A, self._C, self._D, self._solver = A, C, D.detach(), solver
        with torch.no_grad():
            in_A = column_norms(A, D)
            self._refuse_tiny(in_A)
            self._kept: Elimination | None = None
            if C.shape[0] * C.shape[1] <= _ELIMINATED:
                columns = self._eliminate(in_A)
                rows = columns.new_ones(C.shape[0])
            else:
                columns = _column_scale(in_A, column_norms(C, D))
                squares = row_norms(C, columns)
                rows = torch.where(squares > 0, squares, 1.0).rsqrt()
            self._columns, self._scale = columns[:, None], torch.cat([columns, rows])[:, None]
            v = self._random(3)
            for _ in range(5):
                v, norm = normalise(self._scaled(v))
            self._norm = norm[0]

    def _refuse_tiny(self, squares: Tensor) -> None:
        """Raise for a column of A whose square is zero, and the column is not."""
        if bool((squares > 0).all()):
            return
        sizes = self._A.rmatvec(probes(self._A.shape[0], self._D)).abs().amax(1)
        tiny = ((squares == 0) & (sizes > 0)).nonzero().flatten().tolist()
        if tiny:
            sentence = f"Column {tiny[0]} of A holds numbers too small to be squared: multiply it by a constant."
            raise SolveError(Outcome(Reason.NOT_FINITE, sentence, tiny[0]))

    def _eliminate(self, in_A: Tensor) -> Tensor:
        """Make the elimination, and return the units (n,) of its columns."""
        C = self._rows(list(range(self._C.shape[0])))
        outcome = judge_constraints(C.cpu().numpy(), self._D.cpu().numpy())
        if not outcome.ok:
            raise SolveError(outcome)
        columns = bounded(torch.where(in_A > 0, in_A, 1.0).rsqrt(), in_A > 0)
        self._kept = Elimination(C, columns)
        identity = torch.eye(len(C), dtype=torch.float64, device=C.device)
        self._Q, self._R = torch.linalg.qr(self._kept.rmatvec(identity))  # constraints of length one, at right angles
        return columns

    def _rows(self, rows: list[int]) -> Tensor:
        """Return some rows of C as a dense matrix."""
        unit = torch.zeros(self._C.shape[0], len(rows), dtype=torch.float64, device=self._D.device)
        unit[rows, range(len(rows))] = 1.0
        return self._C.rmatvec(unit).mT.contiguous()

    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that may want a gradient."""
        return list({id(p): p for p in (*self._A.parameters(), *self._C.parameters())}.values())

    def apply(self, V: Tensor) -> Tensor:
        """Return M V, differentiable."""
        theta, nu = V.split([self._A.shape[1], self._C.shape[0]])
        return torch.cat([self._A.rmatvec(self._A.matvec(theta)) + self._C.rmatvec(nu), self._C.matvec(theta)])

    def _scaled(self, y: Tensor) -> Tensor:
        """Return M y in the coordinates of the iterations."""
        if self._kept is None:
            return self._scale * self.apply(self._scale * y)
        theta, nu = y.split([self._A.shape[1], self._C.shape[0]])
        return torch.cat([self._normal(theta) + self._Q @ nu, self._Q.mT @ theta])

    def _normal(self, theta: Tensor) -> Tensor:
        return self._columns * self._A.rmatvec(self._A.matvec(self._columns * theta))

    def _entered(self, right: Tensor) -> Tensor:
        """Return a right-hand side in the coordinates of the iterations."""
        if self._kept is None:
            return self._scale * right
        f, g = right.split([self._A.shape[1], self._C.shape[0]])
        level = torch.linalg.solve_triangular(self._R.mT, self._kept.solve(self._kept.rows[:, None] * g), upper=False)
        return torch.cat([self._columns * f, level])

    def _left(self, y: Tensor, right: Tensor) -> Tensor:
        """Return [θ; ν] of y, which solves ``right`` in the coordinates of the iterations.

        What was eliminated is found from the rest once more: constraints are met to rounding, and not to a tolerance.
        """
        if self._kept is None:
            return self._scale * y
        n, kept = self._A.shape[1], self._kept
        theta = y[:n].clone()
        theta[kept.basis] -= kept.matvec(theta) - self._R.mT @ right[n:]
        nu = kept.solve((right[:n] - self._normal(theta))[kept.basis], transposed=True)
        return torch.cat([self._columns * theta, kept.rows[:, None] * nu])

    def _random(self, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(self._scale.shape, generator=generator, dtype=torch.float64, device="cpu").to(
            self._scale.device
        )

    @torch.no_grad()
    def fit(self, right: Tensor) -> Tensor:
        """Return M⁻¹ ``right``, with a probe beside it: a random z that must come back from M z."""
        z, entered = self._random(2), self._entered(right)
        y, excess, stuck = self._correct(torch.cat([entered, self._scaled(z)], 1))
        lost = ((y[:, -1:] - z).abs() > _LOST).flatten()
        if (excess[-1] <= 1 and lost.any()) or stuck.any():
            self._refuse_dependent(lost)
        self._refuse_unreached(excess[:-1])
        solution = self._left(y[:, :-1], entered)
        theta, largest = solution[: self._A.shape[1]], row_norms(self._C, torch.ones_like(self._columns[:, 0])).sqrt()
        tolerance = max(_MISSED, 1e3 * self._solver.tolerance)
        refuse_missed(self._C.matvec(theta) - self._D, theta, largest[:, None], self._D, tolerance)
        return solution

    @torch.no_grad()
    def solve(self, right: Tensor) -> Tensor:
        """Return M⁻¹ ``right``, without a graph."""
        size = unit(right)  # its squares are to be floats
        entered = self._entered(size * right)
        y, excess, _ = self._correct(entered)
        self._refuse_unreached(excess)
        return self._left(y, entered) / size

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
            raise SolveError(undetermined(columns))
        if not rows:
            return
        if len(rows) * n <= _EXAMINED:
            outcome = judge_constraints(self._rows(rows).cpu().numpy(), self._D[rows].cpu().numpy(), rows)
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
    """Return the scale (n,) for columns of squared lengths ``in_A`` (n,) and ``in_C`` (n,).

    Both count, as if the longest of each were as long: a column that A makes short and C does not would be blown up
    by A's alone until rows of C look parallel.
    """
    largest_A, largest_C = (t.max() if len(t) else t.new_zeros(()) for t in (in_A, in_C))
    both = (largest_A > 0) & (largest_C > 0)
    squares = in_A + in_C * torch.where(both, largest_A / torch.where(both, largest_C, 1.0), 1.0)
    return torch.where(squares > 0, squares, 1.0).rsqrt()
