"""Who trains, who validates, who is kept for the test, who for the very end."""

from __future__ import annotations

import math

import numpy as np

from lsat_explorer.data.split import SPLITS

__all__ = ["check_seed", "partition"]


def partition(
    count: int,
    codes: np.ndarray | None,
    *,
    validation: float,
    test: float | None,
    final: float | None = 0.0,
    seed: int,
) -> dict[str, np.ndarray]:
    """Positions of the rows of each split, increasing; a split without rows is left out.

    Drawn in the order final, test, validation: another validation share does not draw other test and final rows.
    Stratified by class where codes are given, as far as whole rows allow; a class of two rows or more has one at least
    in training and in validation, where need be moved there from the test, or else from the final rows.

    Parameters
    ----------
    count
        Number N of rows.
    codes
        Class of each row (N,), 0..m-1, or None for a plain random division.
    validation, test, final
        Share of all rows, between 0 and 1, or number of rows. The test and final shares are rounded up and the
        validation share down; a test or final of 0 or None keeps no such rows.
    seed
        Seed of the division.

    Raises
    ------
    ValueError
        When no training or no validation rows would be left, or no final rows although some were asked for, and as
        in `check_seed`.
    """
    check_seed(seed)
    from sklearn.model_selection import train_test_split

    sizes = _sizes(count, validation, test, final)
    random = np.random.RandomState(seed)
    parts = {"train": np.arange(count)}
    for split, size in sizes.items():
        rest = parts["train"]
        parts[split] = rest[:0]
        if size:
            strata = _strata(codes, rest, size)
            parts["train"], parts[split] = train_test_split(rest, test_size=size, random_state=random, stratify=strata)
    if codes is not None:
        parts = _spread(parts, codes)
    if sizes["final"] and not len(parts["final"]):
        raise ValueError(
            f"training and validation need every row that final={final} asks for, as each class must have one in both; "
            f"give more rows, or final=0"
        )
    return {split: np.sort(parts[split]) for split in SPLITS if len(parts[split])}


def check_seed(seed: int) -> None:
    """Refuse what seeds no division.

    Raises
    ------
    ValueError
        When it is no whole number from 0 to 2³² − 1, which is what numpy's ``RandomState`` takes.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed!r}, expected a whole number from 0 to 2³² − 1; give for instance seed=0")


def _sizes(count: int, validation: float, test: float | None, final: float | None) -> dict[str, int]:
    """Return the number of rows of each split that is drawn, in the order of the draws; the others train."""
    sizes = {
        "final": _rows(final or 0, count, "final", up=True),
        "test": _rows(test or 0, count, "test", up=True),
        "validation": _rows(validation, count, "validation", up=False),
    }
    training = count - sum(sizes.values())
    if sizes["validation"] < 1 or training < 1:
        shares = f", test={test} and final={final}" if sizes["final"] else f" and test={test}"
        raise ValueError(
            f"{count:,} row{'' if count == 1 else 's'} with validation={validation}{shares} leave {max(0, training):,} "
            f"training and {sizes['validation']:,} validation rows, expected at least one of each; give more rows or "
            f"other shares"
        )
    return sizes


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


def _spread(parts: dict[str, np.ndarray], codes: np.ndarray) -> dict[str, np.ndarray]:
    """Move single rows so that each class with two rows or more is in training and in validation."""
    parts = dict(parts)
    totals = np.bincount(codes)
    for target, other in (("train", "validation"), ("validation", "train")):
        held = np.bincount(codes[parts[target]], minlength=len(totals))
        for code in np.flatnonzero((held == 0) & (totals > 1)):
            # where neither the test nor the final rows have any to give, the other part has at least two
            donor = next((split for split in ("test", "final") if (codes[parts[split]] == code).any()), other)
            place = int(np.argmax(codes[parts[donor]] == code))
            parts[target] = np.append(parts[target], parts[donor][place])
            parts[donor] = np.delete(parts[donor], place)
    return parts
