"""The power transform."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..hyper_penalties import Box, HyperPenalty
from ..piece import Omega, flag, number, register
from ..prepared import Block, Featurizer

__all__ = ["PowerTransform", "signed_power"]


@register
@dataclass(frozen=True, repr=False)
class PowerTransform(Featurizer):
    r"""φ(x)_j = sgn(x_j − c_j) ∣x_j − c_j∣^{γ_j}, ``centre`` c and ``exponent`` γ in ω.

    Unless told otherwise they start at c = the mean of the training rows and γ = 1, where φ(x) = x − c. An exponent
    below one compresses large values, one above stretches them, and γ = 0 leaves the sign. The exponent's own
    hyper-penalty is ``Box(0.0, 8.0)``: below 0 the feature has a pole at c.

    Parameters
    ----------
    shared : bool
        One c and one γ for all columns, instead of one each.
    centre : float, tuple of d numbers, or None
        Where c starts: one number, or one for each column. None stands for the mean of the training rows.
    exponent : float or tuple of d numbers
        Where γ starts, from 0 to 8: one number, or one for each column.

    Raises
    ------
    ValueError
        For an exponent out of 0 … 8, and for a tuple that does not hold one number for each column.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), section 3.1. Where it has no derivative one is defined: at
    x = c the features change with neither c nor γ, except for γ = 1, where ∂φ/∂c = −1 holds at every x; at γ = 0,
    ∂φ/∂γ = sgn(x − c) log ∣x − c∣ and ∂φ/∂c = 0. Powers depend on the units of x: put a `Scale` before.

    Examples
    --------
    >>> from lsat_explorer import Chain, Scale
    >>> Chain(Scale(tuned=False), PowerTransform())
    Chain(Scale(tuned=False), PowerTransform())
    """

    shared: bool = False
    centre: float | tuple[float | None, ...] | None = None
    exponent: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        flag(self.shared, "PowerTransform: shared")
        for name, low, high in (("centre", -math.inf, math.inf), ("exponent", 0.0, 8.0)):
            given = getattr(self, name)
            if isinstance(given, tuple | list):
                if self.shared:
                    raise ValueError(f"PowerTransform: {name} is {given!r}, but shared has one for all: give a number.")
                object.__setattr__(self, name, tuple(given))
            for value in given if isinstance(given, tuple | list) else (given,):
                if value is not None or name == "exponent":
                    number(value, f"PowerTransform: {name}", low=low, high=high)

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block that starts at the mean of inputs (k, d)."""
        rows = inputs.double()
        mean = rows.mean() if self.shared else rows.mean(0)
        return self._start(_filled(self.centre, mean, "centre"), rows.shape[1])

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return self._start(state["centre"], int(state["width"]))

    def _start(self, centre: Tensor, width: int) -> Block:
        return _Power(centre, _filled(self.exponent, torch.ones_like(centre), "exponent"), width)


def _filled(given: float | tuple[float | None, ...] | None, usual: Tensor, name: str) -> Tensor:
    """Return what is given in the shape of ``usual``, which stands where nothing is."""
    if not isinstance(given, tuple):
        return usual if given is None else torch.full_like(usual, given)
    if len(given) != len(usual):
        raise ValueError(
            f"PowerTransform: {name} holds {len(given)} numbers, but the inputs have {len(usual)} columns: "
            "give one number, or one for each column."
        )
    return torch.stack([u if g is None else torch.full_like(u, g) for g, u in zip(given, usual, strict=True)])


def signed_power(z: Tensor, exponent: Tensor) -> Tensor:
    """Return sgn(z) ∣z∣^γ, 0 at z = 0, with finite derivatives everywhere."""
    zero = z == 0
    size = torch.where(zero, torch.ones_like(z), z.abs())
    # At z = 0 only the identity γ = 1 has a slope: z itself, which is 0 there, carries it.
    return torch.where(zero, z * (exponent.detach() == 1), z.detach().sign() * size**exponent)


class _Power(Block):
    def __init__(self, centre: Tensor, exponent: Tensor, width: int) -> None:
        self._centre, self._exponent = centre, exponent
        self.width = width

    def init(self) -> Omega:
        return {"centre": self._centre, "exponent": self._exponent}

    def hyper_penalties(self) -> dict[str, HyperPenalty]:
        return {"exponent": Box(0.0, 8.0)}

    def precompute(self, inputs: Tensor) -> Tensor:
        # The start is subtracted in float64: a column of large, close numbers then survives float32.
        return inputs - self._centre

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        z = computed - (omega["centre"] - self._centre).to(computed.dtype)
        return signed_power(z, omega["exponent"].to(computed.dtype))

    def state(self) -> dict[str, Tensor]:
        return {"centre": self._centre, "width": torch.tensor(self.width, device="cpu")}
