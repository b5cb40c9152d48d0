"""The power transform."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..hyper_penalties import Box, HyperPenalty
from ..piece import Omega, flag, register
from ..prepared import Block, Featurizer

__all__ = ["PowerTransform", "signed_power"]


@register
@dataclass(frozen=True, repr=False)
class PowerTransform(Featurizer):
    r"""φ(x)_j = sgn(x_j − c_j) |x_j − c_j|^{γ_j}, ``centre`` c and ``exponent`` γ in ω.

    They start at c = the mean of the training rows and γ = 1, where φ(x) = x − c. An exponent below one compresses
    large values, one above stretches them, and γ = 0 leaves the sign. The exponent's own hyper-penalty is
    ``Box(0.0, 8.0)``: below 0 the feature has a pole at c.

    Parameters
    ----------
    shared : bool
        One c and one γ for all columns, instead of one each.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), section 3.1. Where it has no derivative one is defined: at
    x = c the features change with neither c nor γ, except for γ = 1, where ∂φ/∂c = −1 holds at every x; at γ = 0,
    ∂φ/∂γ = sgn(x − c) log |x − c| and ∂φ/∂c = 0. Powers depend on the units of x: put a `Scale` before.

    Examples
    --------
    >>> from lsat_explorer import Chain, Scale
    >>> Chain(Scale(tuned=False), PowerTransform())
    Chain(Scale(tuned=False), PowerTransform())
    """

    shared: bool = False

    def __post_init__(self) -> None:
        flag(self.shared, "PowerTransform: shared")

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block that starts at the mean of inputs (k, d)."""
        rows = inputs.double()
        return _Power(rows.mean() if self.shared else rows.mean(0), rows.shape[1])

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Power(state["centre"], int(state["width"]))


def signed_power(z: Tensor, exponent: Tensor) -> Tensor:
    """Return sgn(z) |z|^γ, 0 at z = 0, with finite derivatives everywhere."""
    zero = z == 0
    size = torch.where(zero, torch.ones_like(z), z.abs())
    # At z = 0 only the identity γ = 1 has a slope: z itself, which is 0 there, carries it.
    return torch.where(zero, z * (exponent.detach() == 1), z.detach().sign() * size**exponent)


class _Power(Block):
    def __init__(self, centre: Tensor, width: int) -> None:
        self._centre = centre
        self.width = width

    def init(self) -> Omega:
        return {"centre": self._centre, "exponent": torch.ones_like(self._centre)}

    def hyper_penalties(self) -> dict[str, HyperPenalty]:
        return {"exponent": Box(0.0, 8.0)}

    def precompute(self, inputs: Tensor) -> Tensor:
        # The start is subtracted in float64: a column of large, close numbers then survives float32.
        return inputs - self._centre

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        z = computed - (omega["centre"] - self._centre).to(computed.dtype)
        return signed_power(z, omega["exponent"].to(computed.dtype))

    def state(self) -> dict[str, Tensor]:
        return {"centre": self._centre, "width": torch.tensor(self.width)}
