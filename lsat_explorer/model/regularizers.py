"""Regularizers: quadratic penalties Σ_j e^{2ω_j} ‖R_j θ‖²_F with their log weights in ω."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..solve.weighted import PenaltyMatrix
from .constants import as_constant, as_sparse
from .graph import Graph
from .piece import Omega, Piece, number, prefixed, register, tensor
from .prepared import Members, named_columns

__all__ = ["Diagonal", "Matrix", "Regularizer", "Ridge", "Smooth", "Stack"]


class Regularizer(Piece, ABC):
    """Description of a quadratic penalty on θ, or on the coefficients of one block of features."""

    @abstractmethod
    def init(self, columns: Mapping[str, slice]) -> Omega:
        """Return the starting log weights for features in ``columns``, slices of the feature matrix by block name."""

    def block_names(self) -> tuple[str, ...]:
        """Return the blocks that the penalty names, which its featurizer must have; none by default."""
        return ()

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

    def block_names(self) -> tuple[str, ...]:
        """Return the block, if one is named."""
        return () if self.block is None else (self.block,)

    @abstractmethod
    def matrix(self, n: int) -> sparse.csr_array:
        """Return R (q, n) for n coefficients."""

    def groups(self, n: int) -> np.ndarray | None:
        """Return the entry of the log weight (q,) that each row of R takes; None where all share one."""
        return None

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
        n = mine.stop - mine.start
        return [PenaltyMatrix(name, self.matrix(n), mine.start, total, self.groups(n), device=device)]


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
@dataclass(frozen=True, repr=False)
class Diagonal(_OneMatrix):
    """Σ_j e^{2ω_j} ‖θ_j‖², one log weight ω_j for each feature of one block, or of all; ``log_weight`` (n,).

    ``log_weight`` here is where all of them start. A feature whose weight grows is switched off, one by one.

    Examples
    --------
    >>> Diagonal(block="pixels")
    Diagonal(block="pixels")
    """

    def init(self, columns: Mapping[str, slice]) -> Omega:
        """Return the starting log weight of each feature."""
        mine = named_columns(columns, self.block)
        return {"log_weight": tensor(self.log_weight).repeat(mine.stop - mine.start)}

    def matrix(self, n: int) -> sparse.csr_array:
        """Return the identity (n, n)."""
        return sparse.csr_array(sparse.eye_array(n))

    def groups(self, n: int) -> np.ndarray:
        """Return the number of each row."""
        return np.arange(n)


@register
@dataclass(frozen=True, repr=False, init=False)
class Matrix(_OneMatrix):
    """e^{2ω} ‖R θ‖²_F with a constant matrix R (q, n) of your own on n features, ω = ``log_weight``.

    Parameters
    ----------
    R : array-like, scipy sparse, or dict
        The matrix. A dense one is kept as nested tuples, a sparse one as its shape and entries,
        ``{"shape": (q, n), "entries": ((row, column, value), …)}``, which can be given too.
    block : str or None
        The block of features; None for all.
    log_weight : float
        Where ω starts.

    Raises
    ------
    ValueError
        When R is no finite matrix, or its columns are not as many as the features.

    Examples
    --------
    >>> Matrix([[1, -2, 1]], block="pixels")
    Matrix(block="pixels", R=((1.0, -2.0, 1.0),))
    """

    R: Any = None

    def __init__(self, R: Any, block: str | None = None, log_weight: float = 0.0) -> None:
        object.__setattr__(self, "R", as_constant(R))
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "log_weight", log_weight)
        self.__post_init__()

    def __hash__(self) -> int:
        matrix = tuple(self.R.values()) if isinstance(self.R, dict) else self.R
        return hash((type(self), matrix, self.block, self.log_weight))

    def matrix(self, n: int) -> sparse.csr_array:
        """Return R (q, n)."""
        found = as_sparse(self.R)
        if found.shape[1] != n:
            where = "the features are" if self.block is None else f"block {self.block!r} has"
            raise ValueError(f"Matrix: R has {found.shape[1]} columns and {where} {n}: give one column a feature.")
        return found


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
            raise ValueError(
                f"Smooth: graph is of type {type(graph).__name__}, expected a Graph, for example graphs.grid(28, 28)."
            )
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
@dataclass(frozen=True, repr=False, init=False, eq=False)
class Stack(Members, Regularizer):
    """The sum of named regularizers, each with its own log weight.

    Examples
    --------
    >>> Stack(pixel_ridge=Ridge(block="pixels"), archetype_ridge=Ridge(block="archetypes"))
    Stack(pixel_ridge=Ridge(block="pixels"), archetype_ridge=Ridge(block="archetypes"))
    """

    members: dict[str, Regularizer]  # type: ignore[assignment]

    def __init__(self, *nameless: Regularizer, **members: Regularizer) -> None:
        self._accept(members, Regularizer, nameless)

    def block_names(self) -> tuple[str, ...]:
        """Return the blocks that its members name."""
        return tuple(name for member in self.members.values() for name in member.block_names())

    def init(self, columns: Mapping[str, slice]) -> Omega:
        """Return the starting log weights of all members."""
        return {k: v for name, r in self.members.items() for k, v in prefixed(name, r.init(columns)).items()}

    def penalties(
        self, columns: Mapping[str, slice], device: torch.device | str = "cpu", prefix: str = ""
    ) -> list[PenaltyMatrix]:
        """Return the matrices of all members."""
        inside = {name: f"{prefix}.{name}" if prefix else name for name in self.members}
        return [p for name, r in self.members.items() for p in r.penalties(columns, device, inside[name])]
