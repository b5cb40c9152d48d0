"""Featurizers: descriptions of feature maps φ(u; ω)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from .piece import Omega, number, register, tensor
from .prepared import Block, Featurizer, Members, Prepared

__all__ = ["Concat", "Constant", "Identity", "KMeansArchetypes", "Scale"]


@register
@dataclass(frozen=True, repr=False)
class Identity(Featurizer):
    """φ(x) = x, the inputs themselves.

    Examples
    --------
    >>> Identity()
    Identity()
    """

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block for inputs (k, d)."""
        return _Identity(inputs.shape[1])

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Identity(int(state["width"]))


class _Identity(Block):
    def __init__(self, width: int) -> None:
        self.width = width

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return computed

    def state(self) -> dict[str, Tensor]:
        return {"width": torch.tensor(self.width)}


@register
@dataclass(frozen=True, repr=False)
class Constant(Featurizer):
    """φ(x) = 1, an intercept.

    Examples
    --------
    >>> Concat(x=Identity(), one=Constant())
    Concat(x=Identity(), one=Constant())
    """

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block of one column."""
        return _Constant()

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Constant()


class _Constant(Block):
    width = 1

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return torch.ones_like(computed[:, :1])

    def state(self) -> dict[str, Tensor]:
        return {}


@register
@dataclass(frozen=True, repr=False)
class Scale(Featurizer):
    """φ(x)_j = e^{s_j} (x_j − b_j), ``log_scale`` s and ``shift`` b per column, both in ω.

    They start at standardisation on the training rows: b the mean, s = −log of the standard deviation, 0 where a column
    does not vary. ``tuned=False`` holds them there and leaves nothing in ω.

    Examples
    --------
    >>> Scale(tuned=False)
    Scale(tuned=False)
    """

    tuned: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.tuned, bool):
            raise ValueError(f"Scale: tuned is {self.tuned!r}, expected True or False.")

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block that starts at the mean and deviation of inputs (k, d)."""
        rows = inputs.double()
        mean = rows.mean(0)
        deviation = (rows - mean).square().mean(0).sqrt()
        varies = deviation > 1e-12 * rows.abs().amax(0)
        return _Scale(-torch.where(varies, deviation, 1.0).log(), mean, self.tuned)

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Scale(state["log_scale"], state["shift"], self.tuned)


class _Scale(Block):
    def __init__(self, log_scale: Tensor, shift: Tensor, tuned: bool) -> None:
        self._start = {"log_scale": log_scale, "shift": shift}
        self._tuned = tuned
        self.width = len(shift)

    def init(self) -> Omega:
        return dict(self._start) if self._tuned else {}

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        at = omega if self._tuned else self._start
        return ((computed - at["shift"]) * at["log_scale"].exp()).to(computed.dtype)

    def state(self) -> dict[str, Tensor]:
        return dict(self._start)


@register
@dataclass(frozen=True, repr=False)
class KMeansArchetypes(Featurizer):
    r"""Closeness to archetypes, the k-means centres c₁ … c_s of the training rows of each class.

    With d_j = ‖x − c_j‖ and σ = ``log_scale`` in ω, the kernel ``"softmax"`` gives
    φ_j = e^{−d_j e^{−σ}} / Σ_l e^{−d_l e^{−σ}}.

    Parameters
    ----------
    per_class : int
        Archetypes of each class; of all rows together when the targets are no classes.
    kernel : {"softmax"}
        The closeness. The softmax sums to one in each row, so beside a `Constant` its block needs a ridge.
    log_scale : float or None
        Starting σ. None takes the log of the median gap between the two nearest distances of the training rows, which
        suits any scale of the inputs.
    n_init : int
        Restarts of k-means.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), section 5; scikit-learn's KMeans, seeded by the recipe.

    Examples
    --------
    >>> KMeansArchetypes(per_class=5)
    KMeansArchetypes(per_class=5)
    """

    per_class: int = 10
    kernel: str = "softmax"
    log_scale: float | None = None
    n_init: int = 10

    kernels: ClassVar[tuple[str, ...]] = ("softmax",)

    def __post_init__(self) -> None:
        for name in ("per_class", "n_init"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100_000:
                raise ValueError(f"KMeansArchetypes: {name} is {value!r}, expected a whole number of at least 1.")
        if self.kernel not in self.kernels:
            raise ValueError(f"KMeansArchetypes: kernel is {self.kernel!r}, expected one of {', '.join(self.kernels)}.")
        if self.log_scale is not None:
            number(self.log_scale, "KMeansArchetypes: log_scale")

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block with the centres of inputs (k, d), by the one-hot targets (k, m)."""
        rows = inputs.cpu().numpy()
        groups = _classes(targets.cpu().numpy())
        centres = np.concatenate([self._centres(rows[group], generator) for group in groups])
        block = _Archetypes(torch.as_tensor(centres, dtype=torch.float64, device=inputs.device), self.log_scale)
        if self.log_scale is None:
            block.start = _median_gap(block, inputs)
        return block

    def _centres(self, rows: np.ndarray, generator: torch.Generator) -> np.ndarray:
        from sklearn.cluster import KMeans

        seed = generator.initial_seed() % 2**32  # the recipe's, the same for every class
        count = min(self.per_class, len(np.unique(rows, axis=0)) if len(rows) <= 10 * self.per_class else len(rows))
        return KMeans(count, n_init=self.n_init, random_state=seed).fit(rows).cluster_centers_

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Archetypes(state["archetypes"], float(state["start"]))


def _classes(targets: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each class of one-hot targets, or all rows at once when they are no classes."""
    if targets.shape[1] > 1 and np.isin(targets, (0.0, 1.0)).all() and (targets.sum(1) == 1).all():
        return [group for c in range(targets.shape[1]) if len(group := np.flatnonzero(targets[:, c]))]
    return [np.arange(len(targets))]


def _median_gap(block: _Archetypes, inputs: Tensor) -> float:
    if block.width < 2:
        return 0.0
    gaps = []
    for chunk in inputs.split(8192):
        nearest = block.precompute(chunk.double()).topk(2, dim=1, largest=False).values
        gaps.append(nearest[:, 1] - nearest[:, 0])
    gap = float(torch.cat(gaps).median())
    return float(np.log(gap)) if gap > 0 else 0.0


class _Archetypes(Block):
    def __init__(self, centres: Tensor, start: float | None) -> None:
        self.centres, self.start = centres, start or 0.0
        self.width = len(centres)

    def init(self) -> Omega:
        return {"log_scale": tensor(self.start)}

    def precompute(self, inputs: Tensor) -> Tensor:
        # ‖x‖² − 2 xᵀc + ‖c‖² in float64 about the mean of the centres, where cancellation is least.
        origin = self.centres.mean(0)
        rows, centres = inputs.double() - origin, self.centres - origin
        squares = rows.square().sum(1, keepdim=True) - 2 * rows @ centres.mT + centres.square().sum(1)
        return squares.clamp_min(0.0).sqrt()

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return torch.softmax(-computed * (-omega["log_scale"]).exp().to(computed.dtype), dim=1)

    def state(self) -> dict[str, Tensor]:
        return {"archetypes": self.centres, "start": tensor(self.start)}


@register
@dataclass(frozen=True, repr=False, init=False)
class Concat(Members, Featurizer):
    """Featurizers side by side, φ = (φ₁, φ₂, …): named blocks that regularizers can address.

    The members of a Concat inside a Concat are blocks of their own with dotted names, ``"outer.inner"``.

    Examples
    --------
    >>> Concat(pixels=Identity(), archetypes=KMeansArchetypes(), one=Constant())
    Concat(pixels=Identity(), archetypes=KMeansArchetypes(), one=Constant())
    """

    members: dict[str, Featurizer]  # type: ignore[assignment]

    def __init__(self, **members: Featurizer) -> None:
        self._accept(members, Featurizer)

    def prepare(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Prepared:
        """Prepare the members in order."""
        return _join({name: member.prepare(inputs, targets, generator) for name, member in self.members.items()})

    def restore(self, state: dict[str, Tensor]) -> Prepared:
        """Restore the members in order."""
        from .piece import within

        return _join({name: member.restore(within(name, state)) for name, member in self.members.items()})

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Refuse: a Concat is several blocks."""
        raise ValueError("A Concat is several blocks: use prepare().")

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Refuse: a Concat is several blocks."""
        raise ValueError("A Concat is several blocks: use restore().")


def _join(members: dict[str, Prepared]) -> Prepared:
    return Prepared(
        {f"{name}.{part}" if part else name: block for name, p in members.items() for part, block in p.parts.items()}
    )
