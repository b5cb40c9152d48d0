"""What a fit says of its rows: doubt, effect, attribution, and what would be had rows been dropped or relabelled."""

from __future__ import annotations

from .consequences import consequences
from .influence import attribution
from .overview import overview
from .shapley import knn_shapley
from .weights import effect_on_validation, label_doubt
from .what_if import Judged, WhatIf, what_if

__all__ = [
    "Judged",
    "WhatIf",
    "attribution",
    "consequences",
    "effect_on_validation",
    "knn_shapley",
    "label_doubt",
    "overview",
    "what_if",
]
