r"""Least squares with a sparse matrix or a linear operator, by iterations, with derivatives of two orders.

The normal equations M θ = Σ_i λ_i A_iᵀB_i, M = Σ_i λ_i A_iᵀA_i, are solved and never formed. On the pattern Γ of a
sparse A, with C = M⁻¹ ∇_θψ and b_i, a_i the rows of B and A,

    (∇_A ψ)_ij = (b_i − a_iθ) · C_j − (a_iC) · θ_j,     (i, j) ∈ Γ,     ∇_B ψ = A C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .gram import unit
from .implicit import System, solve_system
from .krylov import Goal, Progress, conjugate_gradient, lsmr, normalise
from .operators import LinearOperator, StackedOperator, column_norms
from .outcome import Outcome, Reason, SolveError
from .solvers import CG, IterativeSolver

__all__ = ["Term", "normal_product", "normal_right", "parameters", "solve_iteratively"]

_CORRECTIONS = 8
_EPS = torch.finfo(torch.float64).eps
# A part of a random vector that the fit does not give back lies in the null space of A.
_LOST = 1e-2
_CLOSEST = 1e-10


@dataclass(frozen=True)
class Term:
    """One objective λ ‖A θ − B‖²: an operator, its right-hand sides (k, m) float64, and λ, None for 1."""

    A: LinearOperator
    B: Tensor
    weight: Tensor | None = None


def normal_product(terms: Sequence[Term], V: Tensor) -> Tensor:
    """Return Σ λ_i A_iᵀ A_i V, differentiable."""
    return _weighted_sum(terms, [term.A.rmatvec(term.A.matvec(V)) for term in terms])


def normal_right(terms: Sequence[Term]) -> Tensor:
    """Return Σ λ_i A_iᵀ B_i, differentiable."""
    return _weighted_sum(terms, [term.A.rmatvec(term.B) for term in terms])


def _weighted_sum(terms: Sequence[Term], products: Sequence[Tensor]) -> Tensor:
    weighted = [p if t.weight is None else t.weight * p for t, p in zip(terms, products, strict=True)]
    return torch.stack(weighted).sum(0) if len(weighted) > 1 else weighted[0]


def parameters(terms: Sequence[Term]) -> list[Tensor]:
    """Return every tensor that M depends on, once."""
    found = [p for term in terms for p in (*term.A.parameters(), term.weight) if p is not None]
    return list({id(p): p for p in found}.values())


def solve_iteratively(terms: Sequence[Term], solver: IterativeSolver) -> Tensor:
    """Return θ (n, m) float64, or raise SolveError with what the columns or the iterations lack."""
    system = _Normal(terms, solver)
    return solve_system(system, normal_right(terms), lambda _: system.fit())


class _Normal(System):
    """M, its columns scaled by ``scale`` (n, 1) for the iterations: (DMD) y = D right, x = D y."""

    def __init__(self, terms: Sequence[Term], solver: IterativeSolver) -> None:
        self._terms, self._solver = terms, solver
        with torch.no_grad():
            like = terms[0].B
            weights = [like.new_ones(()) if t.weight is None else t.weight for t in terms]
            single = len(terms) == 1 and terms[0].weight is None
            self._stack = terms[0].A if single else StackedOperator([t.A for t in terms], weights)
            norms = [w * column_norms(t.A, like) for t, w in zip(terms, weights, strict=True)]
            self._scale = self._scaling(torch.stack(norms).sum(0))
            self._norm = self._largest()

    def _scaling(self, squares: Tensor) -> Tensor:
        zero = (squares == 0).nonzero().flatten().tolist()
        if zero:
            raise SolveError(_dependent(zero, "zero"))
        return squares.rsqrt()[:, None] if self._solver.jacobi else torch.ones_like(squares)[:, None]

    def _largest(self) -> Tensor:
        """Return the norm of A to some tenths, by the power method."""
        v = torch.randn(
            self._scale.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64, device="cpu"
        )
        v = v.to(self._scale.device)
        for _ in range(5):
            v, square = normalise(self._rmatvec(self._matvec(v)))
        return square.sqrt()[0]

    def parameters(self) -> Sequence[Tensor]:
        return parameters(self._terms)

    def apply(self, V: Tensor) -> Tensor:
        return normal_product(self._terms, V)

    def _matvec(self, y: Tensor) -> Tensor:
        return self._stack.matvec(self._scale * y)

    def _rmatvec(self, u: Tensor) -> Tensor:
        return self._scale * self._stack.rmatvec(u)

    @torch.no_grad()
    def fit(self) -> Tensor:
        """Return θ from B itself, with a probe beside it: a random z that must come back from A z."""
        B = torch.cat([t.B if t.weight is None else t.weight.sqrt() * t.B for t in self._terms])
        z = torch.randn(self._scale.shape, generator=torch.Generator().manual_seed(2), dtype=B.dtype, device="cpu").to(
            B.device
        )
        right = torch.cat([B, self._matvec(z)], 1)
        y, excess = self._correct(self._rmatvec(right), right)
        if excess[-1] <= 1 and (lost := self._lost(y[:, -1:], z, right[:, -1:])):
            raise SolveError(_dependent(lost, "linearly dependent"))
        self._refuse_unreached(excess[:-1])
        return self._scale * y[:, :-1]

    def _lost(self, y: Tensor, z: Tensor, rows: Tensor) -> list[int]:
        """Return the columns in which y (n, 1), solved for ``rows`` = A z (k, 1), does not give z back.

        A y that was stopped early differs from z too, wherever A is ill-conditioned. So it is solved on, a hundred
        times as closely each time, until it gives z back or even ``_CLOSEST`` leaves a difference.
        """
        tolerance = max(self._solver.tolerance, _CLOSEST)
        progress = Progress(self._solver.max_iterations)
        target = torch.full_like(_lengths(rows), torch.inf)
        while lost := ((y - z).abs() > _LOST).nonzero()[:, 0].tolist():
            if target[0] <= _CLOSEST * _lengths(rows)[0]:
                return lost
            tolerance = max(1e-2 * tolerance, _CLOSEST)
            target = tolerance * _lengths(rows)
            goal = Goal(torch.full_like(target, torch.inf), target, torch.zeros_like(target))
            y = y + lsmr(self._matvec, self._rmatvec, rows - self._matvec(y), goal, progress)
            if progress.left < 0:
                return []
        return []

    @torch.no_grad()
    def solve(self, right: Tensor) -> Tensor:
        size = unit(right)  # its squares are to be floats
        y, excess = self._correct(self._scale * (size * right))
        self._refuse_unreached(excess)
        return self._scale * y / size

    def _correct(self, normal: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return y with AᵀA y = ``normal``, which is Aᵀ ``rows`` if these are known, and residual / tolerated (m,).

        What an iteration believes of its residual drifts by rounding, so the true one is formed and corrected for.
        """
        progress = Progress(self._solver.max_iterations)
        target = self._solver.tolerance * _lengths(normal)
        size = _lengths(normal) if rows is None else self._norm * _lengths(rows)
        small = self._solver.tolerance * (size if rows is None else _lengths(rows))
        goal = Goal(target / 2, small / 2, self._solver.tolerance * self._norm / 2)
        y, residual, left = torch.zeros_like(normal), normal, rows
        for _ in range(_CORRECTIONS):
            y = y + self._iterate(residual, left, goal, progress)
            image = self._matvec(y)
            if rows is None:
                residual = normal - self._rmatvec(image)
            else:
                left = rows - image
                residual = self._rmatvec(left)
            # Products with A round at this level: no residual can be formed that is smaller.
            floor = 8 * _EPS * (size + self._norm**2 * _lengths(y))
            tolerated = torch.maximum(target, floor).clamp_min(torch.finfo(y.dtype).tiny)
            excess = _lengths(residual) / tolerated
            if progress.left <= 0 or (excess <= 1).all():
                break
        return y, excess

    def _iterate(self, normal: Tensor, rows: Tensor | None, goal: Goal, progress: Progress) -> Tensor:
        if isinstance(self._solver, CG):
            return conjugate_gradient(lambda y: self._rmatvec(self._matvec(y)), normal, goal.normal, progress)
        if rows is None:
            # The shortest w with Aᵀw = normal is A (AᵀA)⁻¹ normal: two solves with A, none with AᵀA.
            anything = torch.full_like(goal.normal, torch.inf)
            consistent = Goal(anything, goal.rows, torch.zeros_like(goal.slope))
            rows = lsmr(self._rmatvec, self._matvec, normal, consistent, progress)
            goal = Goal(goal.normal, self._solver.tolerance / 2 * _lengths(rows), goal.slope)
        return lsmr(self._matvec, self._rmatvec, rows, goal, progress)

    def _refuse_unreached(self, excess: Tensor) -> None:
        worst = float(excess.max()) if len(excess) else 0.0
        if not worst <= 1:
            solver = self._solver
            sentence = (
                f"{type(solver).__name__} stopped within {solver.max_iterations} iterations with the residual at "
                f"{worst * solver.tolerance:.1e} of its start, where {solver.tolerance:.1e} was asked for: raise "
                "max_iterations or tolerance, or add a ridge."
            )
            raise SolveError(Outcome(Reason.NOT_CONVERGED, sentence))


def _lengths(U: Tensor) -> Tensor:
    return torch.linalg.vector_norm(U, dim=0)


def _dependent(columns: list[int], what: str) -> Outcome:
    shown = ", ".join(str(c) for c in columns[:8]) + (", …" if len(columns) > 8 else "")
    noun = f"Column {shown} of A is" if len(columns) == 1 else f"Columns {shown} of A are"
    sentence = (
        f"{noun} {what} (to rounding): add a ridge that covers {'it' if len(columns) == 1 else 'them'}, or remove "
    )
    sentence += "the column." if len(columns) == 1 else "all but independent ones."
    column = columns[0] if what == "zero" else None
    return Outcome(Reason.RANK_DEFICIENT, sentence, column, tuple(columns))
