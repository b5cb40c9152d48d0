"""Least squares θ = argmin ‖A θ − B‖²: one function for a dense, a sparse and a matrix-free A."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .checks import check_matrix, check_right, is_dense, refuse_transforms, refuse_unusable
from .direct import fit_dense
from .gram import unit
from .matrices import as_operator
from .operators import LinearOperator, check_products, refuse_chained
from .solvers import LSMR, Cholesky, DenseSolver, Solver
from .sparse import Term, solve_iteratively

__all__ = ["least_squares"]


def least_squares(A: Any, B: Tensor, *, solver: Solver | None = None) -> Tensor:
    r"""Solve θ = argmin ‖A θ − B‖²_F, differentiable in A and B.

    With C = (AᵀA)⁻¹ ∇_θψ the gradients are ∇_A ψ = (B − Aθ) Cᵀ − A C θᵀ and ∇_B ψ = A C. Arithmetic is float64 whatever
    comes in; the (n, n) factor of a dense A is made once and serves all derivatives. Of a sparse A the gradient has
    the pattern of A, and neither A nor AᵀA is ever made dense.

    Parameters
    ----------
    A : Tensor, scipy sparse matrix or LinearOperator, (k, n)
        k ≥ n, independent columns: regularize by stacking rows under it, by `multi_objective`, or with
        `lsat_explorer.Problem`, which never stacks. A tensor is strided, sparse CSR or sparse COO; a scipy matrix is a
        constant; of a `LinearOperator` the gradient reaches its ``parameters()``, of a `SparseMatrix` its values.
    B : Tensor (k, m) or (k,)
        Right-hand sides, on the device of A and, if A is a tensor, of its dtype. All columns are solved at once.
    solver : Cholesky, QR, LSMR or CG, optional
        None chooses `Cholesky` for a dense A, and `LSMR` for a sparse one or an operator: it works with A where `CG`
        works with AᵀA. `QR` is for an ill-conditioned dense A.

    Returns
    -------
    Tensor (n, m) or (n,)
        The solution θ, of B's dtype.

    Raises
    ------
    ValueError
        When shapes, dtypes, devices or solver do not fit.
    SolveError
        When A or B holds a NaN or an infinity, the columns of A are dependent, or the iterations do not converge;
        ``.outcome`` says which.

    Notes
    -----
    Derivatives: of every order with a dense A and `Cholesky` or `QR`; of the first and second order otherwise, and a
    third raises RuntimeError. Torch hands on no second derivative through its own sparse tensors, a COO leaf excepted:
    ``create_graph=True`` raises RuntimeError there and works with `SparseMatrix`.

    Dense solves work under ``torch.func.grad``, ``vjp``, ``jacrev``, ``jvp``, ``jacfwd``, ``hessian`` and ``vmap``,
    over A, B or both, nested at will; only ``jvp`` inside ``jvp`` (``jacfwd`` of ``jacfwd``) raises ValueError.
    Iterative solves work under ``torch.autograd`` only and raise ValueError inside a ``torch.func`` transform.

    Barratt and Boyd, "Least squares auto-tuning" (2019), appendix A.

    Examples
    --------
    >>> import torch
    >>> A = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    >>> B = torch.tensor([1.0, 3.0, 5.0], dtype=torch.float64)
    >>> theta = least_squares(A, B)
    >>> [round(t, 6) for t in theta.tolist()]
    [1.0, 2.0]

    A sparse matrix; its gradient is sparse too:

    >>> S = A.detach().to_sparse().requires_grad_()
    >>> least_squares(S, B).sum().backward()
    >>> S.grad.layout, S.grad.coalesce().values().numel()
    (torch.sparse_coo, 5)
    """
    _check(A, B, solver)
    a, b = (unit(A), unit(B)) if is_dense(A) else (1.0, 1.0)
    if not a == b == 1:  # AᵀB alone may leave the range of floats
        return least_squares(a * A, b * B, solver=solver) * a / b
    right = (B if B.ndim == 2 else B[:, None]).double()
    if is_dense(A) and (solver is None or isinstance(solver, DenseSolver)):
        theta = fit_dense(A.double(), right, solver or Cholesky())
    else:
        theta = _iterate(A, right, solver)
    return (theta if B.ndim == 2 else theta[:, 0]).to(B.dtype)


def _iterate(A: Any, right: Tensor, solver: Solver | None) -> Tensor:
    if isinstance(solver, DenseSolver):
        raise ValueError(f"{solver!r} needs a dense A: use LSMR() or CG(), or give A.to_dense().")
    refuse_transforms()
    refuse_unusable(right, "B")
    operator = as_operator(A, right.device)
    if isinstance(A, LinearOperator):
        check_products(A, right)
        refuse_chained([A])
    return solve_iteratively([Term(operator, right)], solver or LSMR())


def _check(A: Any, B: Any, solver: Any) -> None:
    check_matrix(A)
    check_right(A, B)
    if not isinstance(solver, Solver | None):
        raise ValueError(f"solver is {solver!r}: expected Cholesky(), QR(), LSMR(), CG() or None.")
    if A.shape[0] < A.shape[1]:
        raise ValueError(
            f"A has {A.shape[0]} rows and {A.shape[1]} columns: θ is not determined, add regularizer rows."
        )
