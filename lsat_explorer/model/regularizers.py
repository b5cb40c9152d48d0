"""Regularizers: quadratic penalties Σ_j e^{2ω_j} ‖R_j θ‖²_F with their log weights in ω."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from scipy import sparse

from ..solve.weighted import PenaltyMatrix
from .graphs import Graph
from .piece import Omega, Piece, number, prefixed, register, tensor
from .prepared import Members, named_columns

__all__ = ["Regularizer", "Ridge", "Smooth", "Stack"]


class Regularizer(Piece, ABC):
    """Description of a quadratic penalty on θ, or on the coefficients of one block of features."""

    @abstractmethod
    def init(self, columns: Mapping[str, slice]) -> Omega:
        """Return the starting log weights for features in ``columns``, slices of the feature matrix by block name."""

    @abstractmethod
    def penalties(
        self, columns: Mapping[str, slice], device: torch.device | str = "cpu", prefix: str = ""
    ) -> list[PenaltyMatrix]:
        """Return the matrices R, each named like its log weight in `init`, behind ``prefix``."""


@dataclass(frozen=True, repr=False)
class _OneMatrix(Regularizer):
    """A penalty with one matrix R and one log weight."""

    block: str | None = None
    log_weight: float = 0.0

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.block is not None and not isinstance(self.block, str):
            raise ValueError(f"{name}: block is {self.block!r}, expected the name of a block or None.")
        number(self.log_weight, f"{name}: log_weight")

    @abstractmethod
    def matrix(self, n: int) -> sparse.csr_array:
        """Return R (q, n) for n coefficients."""

    def init(self, columns: Mapping[str, slice]) -> Omega:
        """Return the starting log weight."""
        return {"log_weight": tensor(self.log_weight)}

    def penalties(
        self, columns: Mapping[str, slice], device: torch.device | str = "cpu", prefix: str = ""
    ) -> list[PenaltyMatrix]:
        """Return the one matrix, placed on its block."""
        mine = named_columns(columns, self.block)
        total = named_columns(columns, None).stop
        name = f"{prefix}.log_weight" if prefix else "log_weight"
        return [PenaltyMatrix(name, self.matrix(mine.stop - mine.start), mine.start, total, device=device)]


@register
@dataclass(frozen=True, repr=False)
class Ridge(_OneMatrix):
    """e^{2ω} ‖θ‖²_F on one block or on all features, ω = ``log_weight``.

    Examples
    --------
    >>> Ridge(block="pixels", log_weight=1.0)
    Ridge(block="pixels", log_weight=1.0)
    """

    def matrix(self, n: int) -> sparse.csr_array:
        """Return the identity (n, n)."""
        return sparse.csr_array(sparse.eye_array(n))


@register
@dataclass(frozen=True, repr=False, init=False)
class Smooth(_OneMatrix):
    """e^{2ω} Σ_{(a, b) ∈ edges} ‖θ_a − θ_b‖² over the edges of a graph on the features, ω = ``log_weight``.

    Raises
    ------
    ValueError
        When the graph's nodes are not as many as the block's features.

    Examples
    --------
    >>> from lsat_explorer import graphs
    >>> Smooth(graphs.grid(28, 28), block="pixels")
    Smooth(block="pixels", graph=graphs.grid(28, 28))
    """

    graph: Graph = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, block: str | None = None, log_weight: float = 0.0) -> None:
        if not isinstance(graph, Graph):
            raise ValueError(f"Smooth: graph is {graph!r}, expected a Graph, for example graphs.grid(28, 28).")
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "log_weight", log_weight)
        self.__post_init__()

    def matrix(self, n: int) -> sparse.csr_array:
        """Return the incidence matrix (edges, n)."""
        if self.graph.n != n:
            where = "the features are" if self.block is None else f"block {self.block!r} has"
            raise ValueError(f"Smooth: the graph has {self.graph.n} nodes and {where} {n}: give one node a feature.")
        return self.graph.incidence()


@register
@dataclass(frozen=True, repr=False, init=False)
class Stack(Members, Regularizer):
    """The sum of named regularizers, each with its own log weight.

    Examples
    --------
    >>> Stack(pixel_ridge=Ridge(block="pixels"), archetype_ridge=Ridge(block="archetypes"))
    Stack(pixel_ridge=Ridge(block="pixels"), archetype_ridge=Ridge(block="archetypes"))
    """

    members: dict[str, Regularizer]  # type: ignore[assignment]

    def __init__(self, **members: Regularizer) -> None:
        self._accept(members, Regularizer)

    def init(self, columns: Mapping[str, slice]) -> Omega:
        """Return the starting log weights of all members."""
        return {k: v for name, r in self.members.items() for k, v in prefixed(name, r.init(columns)).items()}

    def penalties(
        self, columns: Mapping[str, slice], device: torch.device | str = "cpu", prefix: str = ""
    ) -> list[PenaltyMatrix]:
        """Return the matrices of all members."""
        inside = {name: f"{prefix}.{name}" if prefix else name for name in self.members}
        return [p for name, r in self.members.items() for p in r.penalties(columns, device, inside[name])]
