"""Training rows with labels drawn at random, and how well a choice of rows to keep undoes it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from lsat_explorer.data import Data, Split

__all__ = ["Cleaning", "Noisy", "f1", "noisy", "suspects"]

Rows = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Noisy:
    """Data some of whose training labels were drawn anew, uniformly over all classes.

    ``polluted`` (k,) are the rows whose labels were drawn, ``wrong`` those of them that have another class since: of m
    classes, a draw gives the true one back once in m.
    """

    data: Data
    polluted: Rows
    wrong: Rows

    @property
    def expected_wrong(self) -> int:
        """How many wrong labels the known share of drawn ones leads to expect: (m − 1)/m of them."""
        m = len(self.data.classes or ())
        return round(float(self.polluted.sum()) * (m - 1) / m)


def noisy(data: Data, share: float, seed: int) -> Noisy:
    """Draw the labels of a ``share`` of the training rows anew; validation and test rows stay clean."""
    random = np.random.default_rng(seed)
    train, classes = data.train, data.classes or ()
    codes = train.targets.argmax(1).numpy()
    polluted = np.zeros(len(codes), dtype=bool)
    polluted[random.permutation(len(codes))[: round(share * len(codes))]] = True
    drawn = np.where(polluted, random.integers(len(classes), size=len(codes)), codes)
    targets = torch.nn.functional.one_hot(torch.from_numpy(drawn), len(classes)).double()
    labels = np.empty_like(train.labels)
    labels[:] = np.asarray(classes, dtype=labels.dtype)[drawn]
    changed = Split(train.inputs, targets, labels, train.rows)
    return Noisy(replace(data, train=changed, source=""), polluted, drawn != codes)


def f1(found: Rows, truth: Rows) -> float:
    """Return 2 TP / (found + true) in per cent.

    Examples
    --------
    >>> f1(np.array([True, True, False]), np.array([True, False, False])).__round__(1)
    66.7
    """
    total = int(found.sum() + truth.sum())
    return 100 * 2 * int((found & truth).sum()) / total if total else 100.0


def suspects(suspicion: NDArray[np.floating], count: int) -> Rows:
    """Return the ``count`` most suspect rows, of equals the first."""
    chosen = np.zeros(len(suspicion), dtype=bool)
    chosen[np.argsort(-suspicion, kind="stable")[:count]] = True
    return chosen


@dataclass(frozen=True)
class Cleaning:
    """What a method flags, and what comes of it in per cent.

    ``kept_f1`` judges the rows kept against those whose labels were not drawn, ``flagged_f1`` the rows flagged against
    the wrong labels; ``accuracy`` is that of the fit without them on the test rows.
    """

    share: float
    seed: int
    method: str
    flagged: int
    kept_f1: float
    flagged_f1: float
    accuracy: float
