"""Who trains, who validates, who is kept for the test."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["partition"]


def partition(
    count: int,
    codes: np.ndarray | None,
    *,
    validation: float,
    test: float | None,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Positions of the training, validation and test rows, each increasing.

    Stratified by class where codes are given, as far as whole rows allow; a class of two rows or more has one at least
    in training and in validation.

    Parameters
    ----------
    count
        Number N of rows.
    codes
        Class of each row (N,), 0..m-1, or None for a plain random division.
    validation, test
        Share of all rows, between 0 and 1, or number of rows. The test share is rounded up and the validation share
        down; a test of 0 or None keeps no test rows.
    seed
        Seed of the division.

    Raises
    ------
    ValueError
        When no training or no validation rows would be left.
    """
    from sklearn.model_selection import train_test_split

    held_out = _rows(test or 0, count, "test", up=True)
    validating = _rows(validation, count, "validation", up=False)
    if validating < 1 or count - held_out - validating < 1:
        raise ValueError(
            f"{count:,} row{'' if count == 1 else 's'} with validation={validation} and test={test} leave "
            f"{max(0, count - held_out - validating):,} training and {validating:,} validation rows, expected at least "
            f"one of each; give more rows or other shares"
        )
    random = np.random.RandomState(seed)
    rest, parts = np.arange(count), []
    for size in (held_out, validating):
        if not size:
            parts.append(rest[:0])
            continue
        strata = _strata(codes, rest, size)
        rest, part = train_test_split(rest, test_size=size, random_state=random, stratify=strata)
        parts.append(part)
    train, valid, tested = rest, parts[1], parts[0]
    if codes is not None:
        train, valid, tested = _spread([train, valid, tested], codes)
    return np.sort(train), np.sort(valid), np.sort(tested) if len(tested) else None


def _rows(share: float, count: int, name: str, *, up: bool) -> int:
    """Return the number of rows that a share or a number of rows stands for."""
    whole = isinstance(share, int | np.integer) and not isinstance(share, bool)
    if whole and 0 <= share < count:
        return int(share)
    if not isinstance(share, float | np.floating) or not 0 <= share < 1:
        raise ValueError(
            f"{name} is {share!r}, expected a share between 0 and 1 or a number of rows below {count:,}; give for "
            f"instance {name}=0.2"
        )
    # 0.07 * 100 is 7.000000000000001, which is seven rows
    exact = round(share * count, 9)
    return math.ceil(exact) if up else math.floor(exact)


def _strata(codes: np.ndarray | None, positions: np.ndarray, size: int) -> np.ndarray | None:
    """Classes to stratify by; a class of one row is drawn along with the commonest, as it cannot be divided."""
    if codes is None:
        return None
    strata = codes[positions]
    counts = np.bincount(strata)
    strata = np.where(counts[strata] < 2, counts.argmax(), strata)
    groups = np.count_nonzero(np.bincount(strata))
    possible = groups <= size and groups <= len(positions) - size and np.bincount(strata).max() > 1
    return strata if possible else None


def _spread(parts: list[np.ndarray], codes: np.ndarray) -> list[np.ndarray]:
    """Move single rows so that each class with two rows or more is in training (part 0) and in validation (part 1)."""
    parts = list(parts)
    totals = np.bincount(codes)
    for target, other in ((0, 1), (1, 0)):
        held = np.bincount(codes[parts[target]], minlength=len(totals))
        for code in np.flatnonzero((held == 0) & (totals > 1)):
            # the test rows give first; without any, the other part has at least two
            donor = 2 if (codes[parts[2]] == code).any() else other
            place = int(np.argmax(codes[parts[donor]] == code))
            parts[target] = np.append(parts[target], parts[donor][place])
            parts[donor] = np.delete(parts[donor], place)
    return parts
