"""Featurizers: descriptions of feature maps φ(u; ω)."""

from __future__ import annotations

from .archetypes import KMeansArchetypes
from .chain import Chain
from .concat import Concat
from .from_module import FromModule, register_module
from .low_rank import LowRank
from .patches import RandomPatches
from .plain import Constant, Identity
from .power import PowerTransform
from .scale import Scale
from .select import SelectFeatures
from .spline import Spline

__all__ = [
    "Chain",
    "Concat",
    "Constant",
    "FromModule",
    "Identity",
    "KMeansArchetypes",
    "LowRank",
    "PowerTransform",
    "RandomPatches",
    "Scale",
    "SelectFeatures",
    "Spline",
    "register_module",
]
