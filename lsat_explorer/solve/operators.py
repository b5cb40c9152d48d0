"""Matrices known by their products: what a sparse or matrix-free solve asks of A."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

__all__ = [
    "LinearOperator",
    "Matrix",
    "StackedOperator",
    "apart",
    "check_products",
    "column_norms",
    "probes",
    "refuse_chained",
    "row_norms",
]

_PROBES = 32


class LinearOperator(ABC):
    """A matrix A (k, n) given by V ↦ A V and U ↦ Aᵀ U, never stored.

    Both maps take and return float64 tensors on the device of B, and are written in torch: gradients flow to
    whatever `parameters` lists through their own autograd.

    Examples
    --------
    The matrix a · diag(1 … n), with one tuned number a:

    >>> import torch
    >>> from lsat_explorer.solve import LinearOperator, least_squares
    >>> class Ramp(LinearOperator):
    ...     def __init__(self, a, n):
    ...         self.a, self.diagonal = a, torch.arange(1.0, n + 1, dtype=torch.float64)[:, None]
    ...     @property
    ...     def shape(self):
    ...         return len(self.diagonal), len(self.diagonal)
    ...     def matvec(self, V):
    ...         return self.a * self.diagonal * V
    ...     def rmatvec(self, U):
    ...         return self.a * self.diagonal * U
    ...     def parameters(self):
    ...         return (self.a,)
    >>> a = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    >>> theta = least_squares(Ramp(a, 3), torch.full((3,), 6.0, dtype=torch.float64))
    >>> [round(t, 6) for t in theta.tolist()]
    [3.0, 1.5, 1.0]
    >>> theta.sum().backward()
    >>> round(a.grad.item(), 6)
    -2.75
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of rows k and columns n."""

    @abstractmethod
    def matvec(self, V: Tensor) -> Tensor:
        """Return A V (k, m) for V (n, m)."""

    @abstractmethod
    def rmatvec(self, U: Tensor) -> Tensor:
        """Return Aᵀ U (n, m) for U (k, m)."""

    @abstractmethod
    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that `matvec` and `rmatvec` depend on and that may want a gradient; () when none.

        None of them may be computed from another one: list what both are computed from, or ``clone()`` the first.
        """


class Matrix(LinearOperator):
    """A linear operator whose entries are at hand."""

    @abstractmethod
    def column_norms(self) -> Tensor:
        """Return the squared length (n,) of each column."""

    @abstractmethod
    def row_norms(self, scale: Tensor) -> Tensor:
        """Return the squared length (k,) of each row of A diag(``scale``)."""


def apart(tensor: Tensor) -> Tensor:
    """Return the tensor under a node of its own in the graph, which nothing that the user has leads to.

    The slope by one parameter of a system holds the others. Where one is computed from the other, it does so for nodes
    of their own alone: the way from the second to the first would be gone twice, here and by the user's graph.
    """
    return tensor.view_as(tensor)


def refuse_chained(operators: Sequence[LinearOperator], others: Sequence[Tensor] = ()) -> None:
    """Refuse an operator of which a parameter leads to another one, or to ``others``: both slopes would have it."""
    listed = [p for operator in operators if not isinstance(operator, Matrix) for p in operator.parameters()]
    given = [get_gradient_edge(p).node for p in listed if p.requires_grad]
    if not given:
        return
    known = [*(p for operator in operators for p in operator.parameters()), *others]
    if not _before({get_gradient_edge(p).node for p in known if p.requires_grad}).isdisjoint(given):
        raise ValueError(
            "parameters() of a LinearOperator lists a tensor from which another one of the same solve is computed, "
            "and its gradient would count twice: let the operator use and list a clone() of the first."
        )


def _before(nodes: Iterable[Node]) -> set[Node]:
    """Return the nodes of the graph from which any of some is computed."""
    found: set[Node] = set()
    ahead = list(nodes)
    while ahead:
        for before, _ in ahead.pop().next_functions:
            if before is not None and before not in found:
                found.add(before)
                ahead.append(before)
    return found


class StackedOperator(LinearOperator):
    """The matrices √λ_i A_i under one another, for the iterations of a sum of objectives; it takes no derivative."""

    def __init__(self, blocks: Sequence[LinearOperator], weights: Sequence[Tensor]) -> None:
        self._blocks = tuple(blocks)
        self._roots = [weight.sqrt() for weight in weights]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows k and columns n."""
        return sum(block.shape[0] for block in self._blocks), self._blocks[0].shape[1]

    def matvec(self, V: Tensor) -> Tensor:
        """Return A V (k, m)."""
        return torch.cat([root * block.matvec(V) for root, block in zip(self._roots, self._blocks, strict=True)])

    def rmatvec(self, U: Tensor) -> Tensor:
        """Return Aᵀ U (n, m)."""
        parts = U.split([block.shape[0] for block in self._blocks])
        triples = zip(self._roots, self._blocks, parts, strict=True)
        return sum((root * block.rmatvec(part) for root, block, part in triples), torch.zeros_like(U[:0].sum(0)))

    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that may want a gradient."""
        return ()


def column_norms(operator: LinearOperator, like: Tensor) -> Tensor:
    """Return the squared length (n,) of each column, float64 on the device of ``like``.

    Where only the products are known, the mean of (Aᵀu)² over random signs u has it for its expectation.
    """
    if isinstance(operator, Matrix):
        return operator.column_norms()
    return operator.rmatvec(probes(operator.shape[0], like)).square().mean(1)


def row_norms(operator: LinearOperator, scale: Tensor) -> Tensor:
    """Return the squared length (k,) of each row of A diag(``scale``), as `column_norms` does for columns."""
    if isinstance(operator, Matrix):
        return operator.row_norms(scale)
    return operator.matvec(scale[:, None] * probes(operator.shape[1], scale)).square().mean(1)


def probes(size: int, like: Tensor) -> Tensor:
    """Return random signs (size, 32), the same at each call, of the dtype and on the device of ``like``."""
    generator = torch.Generator().manual_seed(0)
    signs = torch.randint(0, 2, (size, _PROBES), generator=generator, dtype=torch.int8, device="cpu")
    return signs.to(like) * 2 - 1


def check_products(operator: LinearOperator, like: Tensor, name: str = "A") -> None:
    """Refuse an operator whose maps return the wrong shape, or whose `rmatvec` is not the transpose of `matvec`."""
    k, n = operator.shape
    generator = torch.Generator().manual_seed(1)
    V, U = (
        torch.randn(size, 1, generator=generator, dtype=torch.float64, device="cpu").to(like.device) for size in (n, k)
    )
    AV, ATU = operator.matvec(V), operator.rmatvec(U)
    for product, size, method in ((AV, k, "matvec"), (ATU, n, "rmatvec")):
        if product.shape != (size, 1) or product.dtype != torch.float64:
            got = f"{product.dtype} of shape {tuple(product.shape)}"
            raise ValueError(f"{method} of {name} returned {got}: expected torch.float64 of shape ({size}, 1).")
    left, right, size = torch.stack([(AV * U).sum(), (V * ATU).sum(), AV.norm() * U.norm() + 1e-300]).tolist()
    if abs(left - right) > 1e-6 * size:
        raise ValueError(
            f"rmatvec of {name} is not the transpose of matvec: ⟨A v, u⟩ = {left:g} and ⟨v, Aᵀu⟩ = {right:g}."
        )
