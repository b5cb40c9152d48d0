"""Boxes that may be turned, and which of them lie over each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np


def overlapping(boxes: Sequence[Sequence[Sequence[float]]], least: float) -> list[tuple[int, int]]:
    """Return the pairs of boxes, given by their four corners in turn, that lie over each other by more than ``least``.

    Two convex shapes are apart where the shadows that they throw along a side of one of them are.
    """
    corners = np.asarray(boxes, dtype=float).reshape(-1, 4, 2)
    return [(a, b) for a, b in combinations(range(len(corners)), 2) if _meet(corners[a], corners[b], least)]


def _meet(one: np.ndarray, other: np.ndarray, least: float) -> bool:
    for box in (one, other):
        for side in (box[1] - box[0], box[2] - box[1]):
            axis = side / np.hypot(*side)
            here, there = one @ axis, other @ axis
            if min(here.max(), there.max()) - max(here.min(), there.min()) <= least:
                return False
    return True
