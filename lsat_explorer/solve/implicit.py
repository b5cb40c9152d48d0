"""Solutions of symmetric systems M(p) x = b, differentiable by the rule of implicit functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["System", "solve_system"]


class System(ABC):
    """A symmetric matrix M(p) (s, s): its product, differentiable in p, and its solve, which need not be."""

    @abstractmethod
    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors p."""

    @abstractmethod
    def apply(self, V: Tensor) -> Tensor:
        """Return M V (s, m), written in differentiable operations."""

    @abstractmethod
    def solve(self, right: Tensor) -> Tensor:
        """Return M⁻¹ ``right`` (s, m)."""


def solve_system(system: System, right: Tensor, solve: Callable[[Tensor], Tensor] | None = None) -> Tensor:
    """Return x = M⁻¹ ``right``, with derivatives of the first and second order in ``right`` and in M's parameters.

    With C = M⁻¹ ∇_x:  ∇_right = C  and  ∇_p = −∂_p ⟨M(p) x, C⟩, x and C held.  ``solve``, when given, returns x for
    less, or more exactly, than ``system.solve`` does.
    """
    parameters = [p for p in system.parameters() if p.requires_grad]
    return _Solve.apply(system, solve or system.solve, right, *parameters)


class _Solve(torch.autograd.Function):
    """x = M(p)⁻¹ right; its backward pass calls itself."""

    @staticmethod
    def forward(
        ctx: Any, system: System, solve: Callable[[Tensor], Tensor], right: Tensor, *parameters: Tensor
    ) -> Tensor:
        solution = solve(right)
        ctx.system = system
        ctx.save_for_backward(solution, *parameters)
        return solution

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        solution, *parameters = ctx.saved_tensors
        C = _Solve.apply(ctx.system, ctx.system.solve, gradients[0], *parameters)
        slopes: Sequence[Tensor] = ()
        if parameters:
            slopes = _Slope.apply(ctx.system, solution, C, *parameters)
        return None, None, C, *(-slope for slope in slopes)


class _Slope(torch.autograd.Function):
    """∂_p ⟨M(p) x, C⟩ with x and C held: a Function of its own, so that x and C may depend on p themselves."""

    @staticmethod
    def forward(ctx: Any, system: System, x: Tensor, C: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        ctx.system = system
        ctx.save_for_backward(x, C, *parameters)
        with torch.enable_grad():
            product = system.apply(x.detach())
        return _gradients(product, parameters, C, create_graph=False)

    @staticmethod
    def backward(ctx: Any, *directions: Tensor) -> tuple[Tensor | None, ...]:
        x, C, *parameters = ctx.saved_tensors
        with torch.enable_grad():
            x, C = x.detach().requires_grad_(), C.detach().requires_grad_()
            slopes = _gradients(ctx.system.apply(x), parameters, C, create_graph=True)
            inner = sum((slope * v).sum() for slope, v in zip(slopes, directions, strict=True))
        if not isinstance(inner, Tensor) or not inner.requires_grad:
            return (None,) * (3 + len(parameters))
        found = torch.autograd.grad(inner, (x, C, *parameters), materialize_grads=True, retain_graph=True)
        return None, *_Last.apply(len(found), *found, *ctx.saved_tensors, *directions)


class _Last(torch.autograd.Function):
    """Derivatives of the second order, tied to all that they depend on so that none of a third is silently left out."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(t.clone() for t in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        raise RuntimeError(
            "A third derivative of a sparse, matrix-free, constrained or summed solve is not available: "
            "use least_squares with a dense A, which has derivatives of every order."
        )


def _gradients(product: Tensor, parameters: Sequence[Tensor], C: Tensor, *, create_graph: bool) -> tuple[Tensor, ...]:
    """Return the gradient of ⟨product, C⟩ for each parameter, zero for one that the product does not depend on."""
    if not product.requires_grad:
        return tuple(torch.zeros_like(p) for p in parameters)
    # What an operator computed once from its parameters is walked through again at the next call: keep its graph.
    found = torch.autograd.grad(product, parameters, C, allow_unused=True, retain_graph=True, create_graph=create_graph)
    return tuple(torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True))
