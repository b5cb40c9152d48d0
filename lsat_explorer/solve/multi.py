"""A sum of weighted least squares objectives, its terms never stacked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from .checks import check_matrix, check_right, is_dense, refuse_transforms, refuse_unusable
from .direct import factor_gram, solve_gram
from .gram import column_units, gram, unit
from .implicit import System, solve_system
from .matrices import as_operator
from .operators import LinearOperator, apart, check_products, refuse_chained
from .solvers import CG, LSMR, Cholesky
from .sparse import Term, normal_product, normal_right, parameters, solve_iteratively

__all__ = ["multi_objective"]


def multi_objective(
    terms: Iterable[tuple[Any, Tensor, Tensor | float]], *, solver: Cholesky | LSMR | CG | None = None
) -> Tensor:
    r"""Solve θ = argmin Σ_i λ_i ‖A_i θ − B_i‖²_F, differentiable in every A_i, B_i and λ_i.

    The normal equations (Σ λ_i A_iᵀA_i) θ = Σ λ_i A_iᵀB_i are summed, so nothing of the size of all rows is made. With
    C = (Σ λ_i A_iᵀA_i)⁻¹ ∇_θψ and E_i = B_i − A_iθ the gradients are

        ∂ψ/∂λ_i = ⟨E_i, A_iC⟩,   ∂ψ/∂A_i = λ_i (E_i Cᵀ − A_i C θᵀ),   ∂ψ/∂B_i = λ_i A_i C.

    Parameters
    ----------
    terms : iterable of (A, B, weight)
        A (k_i, n) and B (k_i, m) or (k_i,) as for `least_squares`, all B of one dtype; the weight λ_i ≥ 0 is a tensor
        with one element or a number.
    solver : Cholesky, LSMR or CG, optional
        None chooses `Cholesky` when every A is dense and `LSMR` when one is sparse or an operator.

    Returns
    -------
    Tensor (n, m) or (n,)
        The solution θ, of B's dtype.

    Raises
    ------
    ValueError
        When there is no term, or shapes, dtypes, devices, weights or solver do not fit.
    SolveError
        When the terms together do not determine θ, a NaN or an infinity comes in, or the iterations do not converge.

    Notes
    -----
    Derivatives of the first and second order under ``torch.autograd``; a third raises RuntimeError, and a
    ``torch.func`` transform ValueError.

    Examples
    --------
    Halfway between 0 and 4, then a quarter of the way back:

    >>> import torch
    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> weight = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    >>> theta = multi_objective([(one, 0 * one, weight), (one, 4 * one, 1.0)])
    >>> theta.backward()
    >>> round(theta.item(), 6), round(weight.grad.item(), 6)
    (2.0, -1.0)
    """
    refuse_transforms()
    if not isinstance(terms, Iterable):
        raise ValueError(f"terms is of type {type(terms).__name__}: expected a list of (A, B, weight).")
    given = list(terms)
    _check(given, solver)
    a = b = 1.0
    if all(is_dense(A) for A, _, _ in given):
        a, b = (unit(*matrices) for matrices in list(zip(*given, strict=True))[:2])
        if not a == b == 1:  # A_iᵀB_i alone may leave the range of floats
            given = [(a * A, b * B, weight) for A, B, weight in given]
    prepared = [_term(i, *term) for i, term in enumerate(given)]
    refuse_chained([term.A for term in prepared], [term.weight for term in prepared if term.weight is not None])
    if solver is None:
        solver = Cholesky() if all(is_dense(A) for A, _, _ in given) else LSMR()
    if isinstance(solver, Cholesky):
        matrices = [A.detach().double() for A, _, _ in given]
        theta = solve_system(_Summed(prepared, matrices), normal_right(prepared))
    else:
        theta = solve_iteratively(prepared, solver)
    B = given[0][1]
    theta = theta if a == b == 1 else theta * a / b
    return (theta if B.ndim == 2 else theta[:, 0]).to(B.dtype)


class _Summed(System):
    """G = Σ λ_i A_iᵀA_i of dense terms, factored once."""

    def __init__(self, terms: Sequence[Term], matrices: Sequence[Tensor]) -> None:
        self._terms = terms
        with torch.no_grad():
            n, like = matrices[0].shape[1], terms[0].B
            sizes = torch.stack([like.new_zeros(n), *(A.abs().amax(0) for A in matrices if len(A))])
            units = column_units(sizes)
            G = like.new_zeros(n, n)
            for term, A in zip(terms, matrices, strict=True):
                square = gram(A if units is None else A * units)
                G += square if term.weight is None else term.weight * square
            self._units = None if units is None else units[:, None]
            self._gram = G
            self._factor = factor_gram(G)

    def parameters(self) -> Sequence[Tensor]:
        return parameters(self._terms)

    def apply(self, V: Tensor) -> Tensor:
        return normal_product(self._terms, V)

    @torch.no_grad()
    def solve(self, right: Tensor) -> Tensor:
        right = right if self._units is None else self._units * right
        solution = solve_gram(*self._factor, right)
        solution = solution + solve_gram(*self._factor, right - self._gram @ solution)
        return solution if self._units is None else self._units * solution


def _term(number: int, A: Any, B: Tensor, weight: Tensor | float) -> Term:
    """Return one term in float64; its weight keeps its graph."""
    right = (B if B.ndim == 2 else B[:, None]).double()
    refuse_unusable(right, f"B of term {number}")
    operator = as_operator(A, B.device, f"A of term {number}")
    if isinstance(A, LinearOperator):
        check_products(operator, right, f"A of term {number}")
    scalar = weight if isinstance(weight, Tensor) else torch.tensor(float(weight), dtype=torch.float64, device=B.device)
    return Term(operator, right, apart(scalar.to(device=B.device, dtype=torch.float64).reshape(())))


def _check(terms: list[tuple[Any, Tensor, Tensor | float]], solver: Any) -> None:
    if not terms:
        raise ValueError("There is no term: expected at least one (A, B, weight).")
    if not isinstance(solver, Cholesky | LSMR | CG | None):
        raise ValueError(f"solver is {solver!r}: expected Cholesky(), LSMR(), CG() or None.")
    for number, term in enumerate(terms):
        if not isinstance(term, Sequence):
            raise ValueError(f"Term {number} is of type {type(term).__name__}: expected (A, B, weight).")
        if len(term) != 3:
            raise ValueError(f"Term {number} has {len(term)} parts: expected (A, B, weight).")
        A, B, weight = term
        names = f"A of term {number}", f"B of term {number}"
        check_matrix(A, names[0])
        check_right(A, B, names)
        if isinstance(solver, Cholesky) and not is_dense(A):
            raise ValueError(f"{solver!r} needs dense matrices and {names[0]} is not: use LSMR() or CG().")
        first = terms[0]
        if A.shape[1] != first[0].shape[1] or B.shape[1:] != first[1].shape[1:]:
            got, expected = (f"A {tuple(a.shape)} and B {tuple(b.shape)}" for a, b, _ in (term, first))
            raise ValueError(f"Term {number} has {got}, term 0 {expected}: expected the same columns.")
        if B.dtype != first[1].dtype or B.device != first[1].device:
            raise ValueError(
                f"B of term {number} is {B.dtype} on {B.device}, of term 0 {first[1].dtype} on {first[1].device}: "
                "expected the same, use .to(…)."
            )
        _check_weight(weight, number)


def _check_weight(weight: Any, number: int) -> None:
    if isinstance(weight, str):
        raise ValueError(f"The weight of term {number} is {weight!r}: expected a real number, 0 or more.")
    if isinstance(weight, Tensor) and weight.numel() != 1:
        raise ValueError(f"The weight of term {number} has shape {tuple(weight.shape)}: expected one element.")
    try:
        size = float(weight.detach() if isinstance(weight, Tensor) else weight)
    except (TypeError, ValueError, RuntimeError) as error:  # no number, or a complex one
        raise ValueError(f"The weight of term {number} is {weight!r}: expected a real number, 0 or more.") from error
    if not 0 <= size < float("inf"):
        raise ValueError(f"The weight of term {number} is {size}: expected a finite number, 0 or more.")
