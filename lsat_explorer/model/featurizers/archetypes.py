"""Closeness to archetypes found by k-means."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import threshold

from ..piece import Omega, number, one_of, register, tensor, whole
from ..prepared import Block, Featurizer

__all__ = ["KMeansArchetypes"]

_SMALL = 2.0**10
"""Times the smallest number with all its digits, what closeness is taken for zero below.

Products with numbers that have lost digits already take a processor a hundred times as long.
"""

_SAME = 1e-6
"""Share of its distance to another archetype within which a row is its nearest one."""


@register
@dataclass(frozen=True, repr=False)
class KMeansArchetypes(Featurizer):
    r"""Closeness to archetypes c₁ … c_s, k-means centres of the training rows, of each class apart or of all rows.

    With d_j = ‖x − c_j‖ and σ = ``log_scale`` in ω, the kernel ``"softmax"`` gives
    φ_j = e^{−d_j e^{−σ}} / Σ_l e^{−d_l e^{−σ}}, and ``"gaussian"`` gives φ_j = e^{−d_j² / (2 e^{2σ})}.

    Parameters
    ----------
    per_class : int
        Archetypes of each class; of all rows together when the targets are no classes.
    kernel : {"softmax", "gaussian"}
        The closeness. The softmax sums to one in each row, so beside a `Constant` its block needs a ridge.
    log_scale : float or None
        Starting σ. None suits any scale of the inputs. It takes, over the training rows, for the softmax the log of the
        median gap between the two nearest distances; for the Gaussian the log of the median nearest distance, so that
        a typical row has φ = e^{−1/2} at its nearest archetype. Of a row that is an archetype the nearest other counts.
    n_init : int
        Restarts of k-means.
    total : int or None
        Archetypes of all rows together, whatever their classes; `per_class` is then not used.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), section 5; scikit-learn's KMeans, seeded by the recipe. Where
    there are fewer different rows than archetypes asked for, every row is one.

    Examples
    --------
    >>> KMeansArchetypes(per_class=5)
    KMeansArchetypes(per_class=5)
    >>> KMeansArchetypes(kernel="gaussian", total=200)
    KMeansArchetypes(kernel="gaussian", total=200)
    """

    per_class: int = 10
    kernel: str = "softmax"
    log_scale: float | None = None
    n_init: int = 10
    total: int | None = None

    kernels: ClassVar[tuple[str, ...]] = ("softmax", "gaussian")

    def __post_init__(self) -> None:
        for name in ("per_class", "n_init", "total"):
            if name != "total" or self.total is not None:
                whole(getattr(self, name), f"KMeansArchetypes: {name}", high=100_000)
        one_of(self.kernel, "KMeansArchetypes: kernel", self.kernels)
        if self.log_scale is not None:
            number(self.log_scale, "KMeansArchetypes: log_scale")

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block with the centres of inputs (k, d), by the one-hot targets (k, m)."""
        rows = inputs.cpu().numpy()
        groups = [np.arange(len(rows))] if self.total is not None else _classes(targets.cpu().numpy())
        centres = np.concatenate([self._centres(rows[group], generator) for group in groups])
        block = self._kernel(torch.as_tensor(centres, dtype=torch.float64, device=inputs.device), self.log_scale or 0.0)
        if self.log_scale is None:
            block.start = block.suitable(inputs)
        return block

    def _centres(self, rows: np.ndarray, generator: torch.Generator) -> np.ndarray:
        from sklearn.cluster import KMeans

        seed = generator.initial_seed() % 2**32  # the recipe's, the same for every class
        wanted = self.per_class if self.total is None else self.total
        count = min(wanted, len({row.tobytes() for row in np.ascontiguousarray(rows)}))
        return KMeans(count, n_init=self.n_init, random_state=seed).fit(rows).cluster_centers_

    def _kernel(self, centres: Tensor, start: float) -> _Archetypes:
        return (_Softmax if self.kernel == "softmax" else _Gaussian)(centres, start)

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return self._kernel(state["archetypes"], float(state["start"]))


def _classes(targets: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each class of one-hot targets, or all rows at once when they are no classes."""
    if targets.shape[1] > 1 and np.isin(targets, (0.0, 1.0)).all() and (targets.sum(1) == 1).all():
        return [group for c in range(targets.shape[1]) if len(group := np.flatnonzero(targets[:, c]))]
    return [np.arange(len(targets))]


class _Archetypes(Block):
    """What both kernels share: centres (s, d) and squared distances to them."""

    def __init__(self, centres: Tensor, start: float) -> None:
        self.centres, self.start = centres, start
        self.width = len(centres)

    def init(self) -> Omega:
        return {"log_scale": tensor(self.start)}

    def squares(self, inputs: Tensor) -> Tensor:
        # ‖x‖² − 2 xᵀc + ‖c‖² in float64 about the mean of the centres, where cancellation is least.
        origin = self.centres.mean(0)
        rows, centres = inputs.double() - origin, self.centres - origin
        squares = rows.square().sum(1, keepdim=True) - 2 * rows @ centres.mT + centres.square().sum(1)
        return squares.clamp_min(0.0)

    def distances(self, inputs: Tensor) -> Tensor:
        squares = self.squares(inputs)
        # A row may be an archetype: the root then has no slope, 0 stands for it in a chain.
        away = squares > 0
        return torch.where(away, torch.where(away, squares, 1.0).sqrt(), 0.0)

    def nearest(self, inputs: Tensor, count: int) -> Tensor:
        """Return the least distances (N, count) of each row, in order."""
        chunks = (self.distances(chunk).topk(count, dim=1, largest=False).values for chunk in inputs.split(8192))
        return torch.cat(list(chunks))

    @abstractmethod
    def suitable(self, inputs: Tensor) -> float:
        """Return a starting σ for the training rows."""

    def state(self) -> dict[str, Tensor]:
        return {"archetypes": self.centres, "start": tensor(self.start)}


class _Softmax(_Archetypes):
    def suitable(self, inputs: Tensor) -> float:
        if self.width < 2:
            return 0.0
        two = self.nearest(inputs, 2)
        return _log_or_zero(float((two[:, 1] - two[:, 0]).median()))

    def precompute(self, inputs: Tensor) -> Tensor:
        # What a row's distances have in common does not count, and would take digits where they are stored in float32.
        distances = self.distances(inputs)
        return distances - distances.detach().amin(1, keepdim=True)

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return _kept(torch.softmax(self._exponents(omega, computed), dim=1))

    def write(self, omega: Omega, computed: Tensor, place: Tensor) -> None:
        _kept(torch.softmax(self._exponents(omega, computed), dim=1, out=place), inplace=True)

    def _exponents(self, omega: Omega, computed: Tensor) -> Tensor:
        """Return −d e^{−σ}, as low as counts: numbers that have lost digits take an exponential far longer."""
        return (computed * -_inverse_scale(omega, computed.dtype)).clamp_min_(_lowest(computed.dtype))

    def slope(self, omega: Omega, computed: Tensor, features: Tensor) -> Tensor:
        # With u = d e^{−σ}: ∂φ_j/∂σ = φ_j u_j − φ_j Σ_l φ_l u_l. Where φ is zero, u may be too large for a number.
        weighed = (computed * features).mul_(_inverse_scale(omega, computed.dtype))
        return weighed.addcmul_(features, weighed.sum(1, keepdim=True), value=-1)


class _Gaussian(_Archetypes):
    def suitable(self, inputs: Tensor) -> float:
        nearest = self.nearest(inputs, min(self.width, 2))
        first, other = nearest[:, 0], nearest[:, -1]
        return _log_or_zero(float(torch.where(first > _SAME * other, first, other).median()))

    def precompute(self, inputs: Tensor) -> Tensor:
        return self.distances(inputs)  # of rows whose squares float32 has no numbers for, too

    def _scaled(self, omega: Omega, computed: Tensor) -> Tensor:
        """Return d e^{−σ} up to where the closeness is zero."""
        return (computed * _inverse_scale(omega, computed.dtype)).clamp_max(math.sqrt(-2 * _lowest(computed.dtype)))

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return _kept((-0.5 * self._scaled(omega, computed).square()).exp())

    def slope(self, omega: Omega, computed: Tensor, features: Tensor) -> Tensor:
        return self._scaled(omega, computed).square_().mul_(features)


def _inverse_scale(omega: Omega, dtype: torch.dtype) -> Tensor:
    """Return e^{−σ}, up to numbers that are finite: a distance of zero stays zero."""
    return (-omega["log_scale"]).clamp_max(math.log(torch.finfo(dtype).max) - 1).exp().to(dtype)


def _lowest(dtype: torch.dtype) -> float:
    """Return the least exponent that counts: e to it is `_SMALL` times the smallest number with all its digits."""
    return math.log(_SMALL * torch.finfo(dtype).tiny)


def _kept(closeness: Tensor, inplace: bool = False) -> Tensor:
    """Return closeness with zeros where it is too small to count."""
    return threshold(closeness, 2 * _SMALL * torch.finfo(closeness.dtype).tiny, 0.0, inplace)


def _log_or_zero(value: float) -> float:
    return float(np.log(value)) if value > 0 else 0.0
