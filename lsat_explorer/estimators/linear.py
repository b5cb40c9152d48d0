"""The linear model in the user's own columns, where the features are linear in them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..model.featurizers import Chain, Concat, Constant, Identity, LowRank, Scale, SelectFeatures
from ..model.piece import within
from ..model.prepared import Featurizer
from ..tune.fitted import FittedModel

__all__ = ["affine", "is_linear"]


def is_linear(featurizer: Featurizer) -> bool:
    """Whether the features are linear in the columns, but for a constant."""
    if isinstance(featurizer, Chain | Concat):
        return all(is_linear(member) for member in featurizer.members.values())
    return isinstance(featurizer, Constant | Identity | LowRank | Scale | SelectFeatures)


def affine(model: FittedModel) -> tuple[np.ndarray, np.ndarray]:
    """Return A (m, d) and b (m,) with φ(x)ᵀθ = A x + b.

    Raises
    ------
    AttributeError
        When the features are not linear in the columns.
    """
    featurizer = model.recipe.featurizer
    if not is_linear(featurizer):
        raise AttributeError(
            f"{featurizer!r} is not linear in the columns of X, so there are no coefficients for them: the "
            "coefficients of the features are model_.theta."
        )
    omega = within("featurizer", model.omega)

    def outputs(x: Tensor) -> Tensor:
        return (torch.cat(list(model.prepared.blocks(omega, x[None]).values()), 1) @ model.theta)[0]

    origin = torch.zeros(len(model.feature_names), dtype=torch.float64, device=model.theta.device)
    slopes = torch.autograd.functional.jacobian(outputs, origin)
    return slopes.cpu().numpy(), outputs(origin).detach().cpu().numpy()
