"""Recipes for images of handwritten digits: those of the paper, and one with an error of one per cent.

The first four are those of Barratt and Boyd, "Least squares auto-tuning" (2019), section 5, for 28 × 28 images of ten
classes. They state the configuration of the authors' program, with the true gradient and the accept test on F = ψ + r.
`paper_ls` and `paper_reg2` take standardised pixels, ``datasets.mnist(folder, deskew=True, scale="standard")``;
`paper_feat` and `paper_weighting` raw ones, ``scale="raw"``. `mnist_one_percent` takes pixels of 0..1,
``scale="unit"``. `shape` serves other images, such as 8 × 8 digits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from .choices import registered
from .data_weights import LogWeights
from .featurizers import Concat, Constant, Identity, KMeansArchetypes, RandomPatches
from .graphs import grid
from .hyper_penalties import Frozen, SumSquares, ZeroSum
from .losses import CrossEntropy
from .recipe import Recipe
from .regularizers import Ridge, Smooth, Stack

__all__ = ["mnist_one_percent", "paper_feat", "paper_ls", "paper_reg2", "paper_weighting"]


def _paper(**choices: Any) -> Recipe:
    """Return a recipe with what the paper's four share."""
    return Recipe(loss=CrossEntropy(), method=registered("ProximalGradient")(), dtype="float32", **choices)


def paper_ls() -> Recipe:
    """Return plain least squares: pixels, R = 2 I, nothing tuned.

    Examples
    --------
    >>> paper_ls().regularizer
    Ridge(log_weight=0.6931471805599453)
    """
    return _paper(
        featurizer=Identity(),
        regularizer=Ridge(log_weight=math.log(2)),
        hyper_penalties={"regularizer.log_weight": Frozen()},
    )


def paper_reg2(shape: tuple[int, int] = (28, 28)) -> Recipe:
    """Return two tuned regularizers on pixels: a ridge and the grid graph, from (0, 0)."""
    return _paper(featurizer=Identity(), regularizer=Stack(ridge=Ridge(), smooth=Smooth(grid(*shape))))


def paper_feat(shape: tuple[int, int] = (28, 28), per_class: int = 10) -> Recipe:
    """Return three tuned regularizers from (1, 1, 1) on pixels, archetypes of tuned scale σ from 0, a constant."""
    return _paper(
        featurizer=Concat(
            pixels=Identity(), archetypes=KMeansArchetypes(per_class=per_class, log_scale=0.0), one=Constant()
        ),
        regularizer=Stack(
            pixel_ridge=Ridge(block="pixels", log_weight=1.0),
            archetype_ridge=Ridge(block="archetypes", log_weight=1.0),
            smooth=Smooth(grid(*shape), block="pixels", log_weight=1.0),
        ),
    )


def paper_weighting(shape: tuple[int, int] = (28, 28), per_class: int = 10, penalty: float = 1e-3) -> Recipe:
    """Return `paper_feat` with a weight for each training row, penalised by λ ‖ω‖² with 1ᵀω = 0."""
    return replace(
        paper_feat(shape, per_class),
        data_weights=LogWeights(),
        hyper_penalties={"data_weights.log_weight": SumSquares(penalty) + ZeroSum()},
    )


def mnist_one_percent(shape: tuple[int, int] = (28, 28), patches: int = 500, size: int = 10, cells: int = 3) -> Recipe:
    """Return three tuned numbers on pixels and random patches: a ridge weight for each of them, and a temperature.

    The patches are copies of places of training images and are not tuned, so that the features are computed once and
    an evaluation is one factor of n = h w + s · cells² + 1 columns. On deskewed MNIST of unit scale, 35,000 training
    and 15,000 validation rows, the defaults err on 0.65 % of the test images after `refit`.

    Parameters
    ----------
    shape : tuple of int
        (h, w) of the images.
    patches : int
        s, the number of patches; memory and time grow with its square.
    size : int
        Height and width of a patch.
    cells : int
        Parts along each side over which the responses to a patch are averaged.

    Examples
    --------
    >>> mnist_one_percent().loss
    CrossEntropy(temperature=True)
    """
    return Recipe(
        featurizer=Concat(pixels=Identity(), patches=RandomPatches(shape, patches, size, cells), one=Constant()),
        regularizer=Stack(
            pixel_ridge=Ridge(block="pixels", log_weight=2.0), patch_ridge=Ridge(block="patches", log_weight=-1.0)
        ),
        loss=CrossEntropy(temperature=True),
        method=replace(registered("LBFGS")(), tolerance=1e-4),
        dtype="float32",
    )
