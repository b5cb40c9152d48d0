"""How a least squares problem is to be solved: frozen descriptions, whose repr is code."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CG", "LSMR", "MINRES", "QR", "Cholesky", "DenseSolver", "IterativeSolver", "Solver"]


@dataclass(frozen=True)
class Cholesky:
    """Factor AᵀA = LLᵀ in float64: the fastest for a dense A, right to about κ(A)² · 10⁻¹⁶.

    Columns of any scale are as good as columns of one scale. Columns whose angle to the earlier ones is below about
    10⁻⁷ are refused as dependent.

    Examples
    --------
    >>> Cholesky()
    Cholesky()
    """


@dataclass(frozen=True)
class QR:
    """Factor A = QR in float64, for an ill-conditioned dense A: backward stable, right to about κ(A) · 10⁻¹⁶.

    AᵀA is never formed. Takes about twice the work of `Cholesky` and a copy of A. Columns whose angle to the earlier
    ones is at the level of rounding are refused as dependent.

    Examples
    --------
    >>> QR()
    QR()
    """


@dataclass(frozen=True)
class _Iterative:
    """Stop when ‖Aᵀ(B − Aθ)‖ ≤ ``tolerance`` ‖AᵀB‖ in each column of B, or when rounding allows no less.

    ``max_iterations`` counts over all corrections of one solve; a solve that needs more raises SolveError with
    Reason.NOT_CONVERGED. ``jacobi`` scales the columns of A to length one first (for an operator, by an estimate).
    """

    tolerance: float = 1e-14
    max_iterations: int = 10_000
    jacobi: bool = True

    def __post_init__(self) -> None:
        _check_limits(self.tolerance, self.max_iterations)


@dataclass(frozen=True)
class LSMR(_Iterative):
    """Golub-Kahan bidiagonalization of A itself (Fong and Saunders, 2011): AᵀA is never applied as one matrix.

    The choice for a sparse A or a linear operator: ‖Aᵀr‖ falls at every iteration, so it can be stopped early. θ is
    right to about κ(A) times the tolerance where Aθ comes close to B, and elsewhere to κ(A)² times it, which is what
    `CG` comes to everywhere. A derivative takes two such solves, one with Aᵀ and one with A.

    Parameters
    ----------
    tolerance : float
        Stop when ‖Aᵀ(B − Aθ)‖ ≤ tolerance ‖AᵀB‖ in each column, or when rounding allows no less.
    max_iterations : int
        Iterations of one solve, all corrections together; one that needs more raises `SolveError`.
    jacobi : bool
        Scale the columns of A to length one first.

    Examples
    --------
    >>> LSMR(tolerance=1e-8)
    LSMR(tolerance=1e-08, max_iterations=10000, jacobi=True)
    """


@dataclass(frozen=True)
class CG(_Iterative):
    """Conjugate gradients on AᵀA θ = AᵀB, preconditioned by the diagonal of AᵀA when ``jacobi`` is True.

    Less work an iteration than `LSMR` and one solve, not two, for a derivative; for a well-conditioned A. θ is right to
    about κ(A)² times the tolerance.

    Parameters
    ----------
    tolerance : float
        Stop when ‖Aᵀ(B − Aθ)‖ ≤ tolerance ‖AᵀB‖ in each column, or when rounding allows no less.
    max_iterations : int
        Iterations of one solve, all corrections together; one that needs more raises `SolveError`.
    jacobi : bool
        Precondition by the diagonal of AᵀA.

    Examples
    --------
    >>> CG(max_iterations=500)
    CG(tolerance=1e-14, max_iterations=500, jacobi=True)
    """


@dataclass(frozen=True)
class MINRES:
    """MINRES (Paige and Saunders, 1975) on the symmetric, indefinite system of a constrained problem.

    Its rows and columns are scaled first. The choice when A or C is sparse or an operator.

    Parameters
    ----------
    tolerance : float
        Stop when the residual of the scaled system is ``tolerance`` times its right-hand side in each column, or when
        rounding allows no less.
    max_iterations : int
        Iterations of one solve, all corrections together; one that needs more raises `SolveError`.

    Examples
    --------
    >>> MINRES(tolerance=1e-8)
    MINRES(tolerance=1e-08, max_iterations=10000)
    """

    tolerance: float = 1e-10
    max_iterations: int = 10_000

    def __post_init__(self) -> None:
        _check_limits(self.tolerance, self.max_iterations)


def _check_limits(tolerance: float, max_iterations: int) -> None:
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}: expected a number between 0 and 1, such as 1e-10.")
    if int(max_iterations) != max_iterations or max_iterations < 1:
        raise ValueError(f"max_iterations is {max_iterations}: expected an integer of at least 1.")


DenseSolver = Cholesky | QR
IterativeSolver = LSMR | CG
Solver = Cholesky | QR | LSMR | CG
