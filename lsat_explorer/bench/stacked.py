r"""The operation of the paper's appendix, dense and stacked: what `lsat_explorer` is measured and checked against.

    A = [diag(e^{ω_i}) X; e^{ω_1} R_1; …; e^{ω_q} R_q] (k + q, n),     B = [diag(e^{ω_i}) Y; 0],     θ = (AᵀA)⁻¹ AᵀB,
    C = (AᵀA)⁻¹ ∇_θψ,     ∇_A ψ = (B − Aθ) Cᵀ − A C θᵀ,     ∇_B ψ = A C,

then automatic differentiation through the stacking to ω. It shares with `Problem` the features, the matrices R and the
loss, and nothing of the solve or of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lsat_explorer.data import Split
from lsat_explorer.model.piece import Omega, within
from lsat_explorer.tune import Problem

__all__ = ["DenseSolve", "StackedProblem", "autograd_solve"]

Solve = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]

_WEIGHT = "data_weights.log_weight"


class DenseSolve(torch.autograd.Function):
    """θ = argmin ‖A θ − B‖²_F by Cholesky of AᵀA in A's dtype, with the gradients of the paper's appendix.

    Returns θ (n, m) and the factor L, which is float64 where there is none in A's dtype.

    Raises
    ------
    torch.linalg.LinAlgError
        When AᵀA has no factor in float64 either.
    """

    @staticmethod
    def forward(ctx: Any, A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
        """Solve for A (k, n) and B (k, m)."""
        theta, lower = autograd_solve(A, B)
        ctx.save_for_backward(A, B, theta, lower)
        ctx.mark_non_differentiable(lower)
        return theta, lower

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return ∇_A ψ and ∇_B ψ."""
        A, B, theta, lower = ctx.saved_tensors
        C = _solve(gradients[0], lower)
        image = A @ C
        through_A = None
        if ctx.needs_input_grad[0]:
            # (B − Aθ) Cᵀ − (AC) θᵀ as one product of 2 m inner columns.
            through_A = torch.cat([B - A @ theta, -image], 1) @ torch.cat([C, theta], 1).mT
        return through_A, image if ctx.needs_input_grad[1] else None


def autograd_solve(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `DenseSolve` does, by operations that torch differentiates itself: no gradient of ours."""
    gram = A.mT @ A
    lower, info = torch.linalg.cholesky_ex(gram)
    if info:
        lower = torch.linalg.cholesky(gram.double())
    return _solve(A.mT @ B, lower), lower


def _solve(right: Tensor, lower: Tensor) -> Tensor:
    return torch.cholesky_solve(right.to(lower.dtype), lower).to(right.dtype)


class StackedProblem:
    """ψ(θ(ω)) and its gradient of a `Problem` by the stacked dense operation.

    What does not depend on ω is formed once, here as in `Problem`: features that stand still, distances to archetypes.

    Parameters
    ----------
    problem : Problem
        Gives rows, prepared features, regularizers and loss.
    dtype : torch.dtype, optional
        Of all arithmetic; the recipe's by default.
    solve : callable
        From A and B to θ and the factor: `DenseSolve.apply`, with the appendix's gradients, or `autograd_solve`.

    Raises
    ------
    ValueError
        For a regularizer with more than one log weight, which the stacking here does not know.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> problem = lsat.Problem(lsat.Recipe(), lsat.datasets.digits())
    >>> loss, gradient = StackedProblem(problem).evaluate(problem.init())
    >>> abs(loss - problem.evaluate(problem.init()).loss) < 1e-9
    True
    """

    def __init__(self, problem: Problem, dtype: torch.dtype | None = None, solve: Solve = DenseSolve.apply) -> None:
        self.problem, self._solve = problem, solve
        self.dtype = dtype or getattr(torch, problem.recipe.dtype)
        self.factor_dtype = self.dtype
        start = problem.init()
        several = [p.name for p in problem.penalty_matrices if start[p.name].ndim]
        if several:
            raise ValueError(f"The stacked operation takes one log weight a regularizer; {several[0]} has several.")
        n = max(columns.stop for columns in problem.columns.values())
        identity = torch.eye(n, dtype=torch.float64, device=problem.device)
        self._R = {p.name: p.apply(identity).to(self.dtype) for p in problem.penalty_matrices}
        moving = [name.removeprefix("featurizer.") for name in problem.tuned if name.startswith("featurizer.")]
        self._moving = {name.rpartition(".")[0] for name in moving}
        self._training = self._computed(problem.data.train, start)
        self._validation = self._computed(problem.data.validation, start)
        self._targets = problem.data.train.targets.to(problem.device, self.dtype)
        self._validation_targets = problem.data.validation.targets.to(problem.device, self.dtype)

    def _computed(self, split: Split, omega: Omega) -> dict[str, Tensor]:
        """Return by block the features, or what they are computed from where they depend on ω."""
        rows = split.inputs.to(self.problem.device).double()
        computed = {}
        for name, block in self.problem.prepared.parts.items():
            values = block.precompute(rows)
            if name not in self._moving:
                values = block.features(within(name, within("featurizer", omega)), values)
            computed[name] = values.to(self.dtype)
        return computed

    def evaluate(self, omega: Omega) -> tuple[float, Omega]:
        """Return ψ and ∇ψ by name, for the tuned entries of ω."""
        loss, leaves = self.forward(omega)
        return loss.item(), self.backward(loss, leaves)

    def forward(self, omega: Omega) -> tuple[Tensor, Omega]:
        """Return ψ with its graph, and the copy of ω that the graph leads to."""
        tuned = self.problem.tuned
        there = self.problem.there(omega)
        leaves = {name: value.detach().clone().requires_grad_(name in tuned) for name, value in there.items()}
        theta, lower = self._solve(*self._stacked(leaves))
        self.factor_dtype = lower.dtype
        blocks = self._features(self._validation, leaves)
        parts = (blocks[name] @ theta[columns] for name, columns in self.problem.columns.items())
        predictions = sum(parts, theta.new_zeros(()))
        return self.problem.loss.value(predictions, self._validation_targets, within("loss", leaves)), leaves

    def backward(self, loss: Tensor, leaves: Omega) -> Omega:
        """Return ∇ψ by name from what `forward` returned; the graph is used up."""
        tuned = self.problem.tuned
        gradients = torch.autograd.grad(loss, [leaves[name] for name in tuned])
        return dict(zip(tuned, gradients, strict=True))

    def _stacked(self, omega: Omega) -> tuple[Tensor, Tensor]:
        """Return A (k + q, n) and B (k + q, m)."""
        blocks, Y = list(self._features(self._training, omega).values()), self._targets
        X = torch.cat(blocks, 1) if len(blocks) > 1 else blocks[0]
        if _WEIGHT in omega:
            scale = omega[_WEIGHT].to(self.dtype).exp()[:, None]
            X, Y = scale * X, scale * Y
        rows = [omega[name].to(self.dtype).exp() * R for name, R in self._R.items()]
        A = torch.cat([X, *rows])
        return A, torch.cat([Y, Y.new_zeros(len(A) - len(Y), Y.shape[1])])

    def _features(self, computed: dict[str, Tensor], omega: Omega) -> dict[str, Tensor]:
        parts, local = self.problem.prepared.parts, within("featurizer", omega)
        return {
            name: parts[name].features(within(name, local), values) if name in self._moving else values
            for name, values in computed.items()
        }
