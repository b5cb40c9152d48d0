"""The way back from the log weight of each training row to what is tuned of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..engines.by_row import ByRow
from ..model.piece import Omega

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["through_weights"]


def through_weights(problem: Problem, there: Omega, slopes: Tensor) -> Omega:
    """Return Σ_i ``slopes``_i ∂ω_i/∂(entry), by tuned entry of ω below ``data_weights``, from ∂ψ/∂ω_i (k,)."""
    if isinstance(slopes, ByRow):
        return dict.fromkeys(problem.tuned_below("data_weights"), slopes)
    with torch.enable_grad():
        leaves = {name: there[name].detach().requires_grad_() for name in problem.tuned_below("data_weights")}
        rows = problem.log_weights({**there, **leaves})
        assert rows is not None
        # A sum, since slopes that torch is handed make it load a library of symbols.
        found = torch.autograd.grad((rows * slopes).sum(), list(leaves.values()))
    return dict(zip(leaves, found, strict=True))
