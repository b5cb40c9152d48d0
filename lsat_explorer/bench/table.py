"""The paper's table on MNIST: the published figures, the reference figures, and how near ours must come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["FULL", "HEADER", "NEAR", "SMALL", "Figures", "Result", "Table"]

NEAR = 1e-3
"""Distance from the least F of a run at which it could as well have ended."""


@dataclass(frozen=True)
class Figures:
    """Validation loss, and test error in per cent."""

    loss: float
    error: float


@dataclass(frozen=True)
class Result:
    """One row of ours: a method at a seed.

    ``iterations`` counts evaluations after the starting point, ``seconds`` features, tuning and test together, ``near``
    features and tuning until F is within `NEAR` of the least that the run comes to, ``status`` is how the run ended and
    ``log_weights`` the range of the tuned log weights of training rows, if any.
    """

    seed: int
    method: str
    figures: Figures
    iterations: int
    seconds: float
    near: float
    status: str
    log_weights: tuple[float, float] | None = None


@dataclass(frozen=True)
class Table:
    """What the rows on one set are compared with.

    Parameters
    ----------
    size : int
        Training and validation rows together.
    published : dict of str to Figures
        By method; Barratt and Boyd, "Least squares auto-tuning" (2019), section 5.
    reference : dict of (int, str) to Figures
        By seed and method. Source: true-gradient figures of the reference computation, which has the configuration of
        the recipes ``paper_*`` and is independent of this package.
    tolerance : dict of str to Figures
        By method, the largest difference from the reference that is allowed.
    """

    size: int
    published: Mapping[str, Figures]
    reference: Mapping[tuple[int, str], Figures]
    tolerance: Mapping[str, Figures]

    def seeds(self) -> list[int]:
        """Return the seeds that have reference figures."""
        return sorted({seed for seed, _ in self.reference})

    def outside(self, result: Result) -> str | None:
        """Say how a row misses the reference: "" where it does not, None where there is no reference for its seed.

        Examples
        --------
        >>> SMALL.outside(Result(0, "LS", Figures(1.834, 13.46), 0, 0.1, 0.1, "converged"))
        'loss 1.8340 is 0.0050 from 1.829 (tolerance 0.003)'
        """
        reference = self.reference.get((result.seed, result.method))
        if reference is None:
            return None
        ours, allowed, parts = result.figures, self.tolerance[result.method], []
        loss, error = abs(ours.loss - reference.loss), abs(ours.error - reference.error)
        # Not "larger than", which a NaN never is. A billionth, for the differences of decimal figures are rounded.
        if not loss <= allowed.loss + 1e-9:
            parts.append(f"loss {ours.loss:.4f} is {loss:.4f} from {reference.loss} (tolerance {allowed.loss})")
        if not error <= allowed.error + 1e-9:
            parts.append(f"error {ours.error:.2f} % is {error:.2f} from {reference.error} (tolerance {allowed.error})")
        return "; ".join(parts)

    def line(self, result: Result) -> str:
        """Return a row of text under `HEADER`."""
        published, reference = self.published[result.method], self.reference.get((result.seed, result.method))
        outside = self.outside(result)
        return _COLUMNS.format(
            result.seed,
            result.method,
            f"{published.loss:.2f} / {published.error:.1f}",
            f"{reference.loss:.4g} / {reference.error:.2f}" if reference else "none",
            f"{result.figures.loss:.4f} / {result.figures.error:.2f}",
            result.iterations,
            f"{result.seconds:.1f}",
            f"{result.near:.1f}",
            result.status,
            {None: "no reference", "": "yes"}.get(outside, "NO"),
        )

    def verdict(self, results: Iterable[Result]) -> list[str]:
        """Return the closing lines: how many rows are within the tolerance, and what is wrong with the others."""
        judged = [(result, outside) for result in results if (outside := self.outside(result)) is not None]
        wrong = [f"Outside: seed {r.seed}, {r.method}: {outside}." for r, outside in judged if outside]
        return [f"{len(judged) - len(wrong)} of {len(judged)} rows are within the tolerance of the reference.", *wrong]

    def record(self, result: Result) -> dict[str, Any]:
        """Return a row with what it is compared with, as JSON takes it."""
        reference, outside = self.reference.get((result.seed, result.method)), self.outside(result)
        return {
            "seed": result.seed,
            "method": result.method,
            "published": vars(self.published[result.method]),
            "reference": vars(reference) if reference else None,
            "tolerance": vars(self.tolerance[result.method]),
            "ours": vars(result.figures),
            "iterations": result.iterations,
            "seconds": result.seconds,
            "near": result.near,
            "status": result.status,
            "log_weights": result.log_weights,
            "within": None if outside is None else not outside,
        }


_COLUMNS = "{:>4}  {:<10}  {:>11}  {:>14}  {:>15} {:>10} {:>8} {:>9}  {:<15} {}"
HEADER = _COLUMNS.format(
    "seed",
    "method",
    "paper",
    "reference",
    "ours",
    "iterations",
    "seconds",
    f"to {NEAR:g}",
    "status",
    "within tolerance",
).rstrip()

METHODS = ("LS", "reg×2", "reg×3+feat", "+weighting")


def _by_method(*figures: Figures) -> dict[str, Figures]:
    return dict(zip(METHODS, figures, strict=True))


def _by_seed(seed: int, *figures: Figures) -> dict[tuple[int, str], Figures]:
    return {(seed, method): each for method, each in _by_method(*figures).items()}


SMALL = Table(
    size=5_000,
    published=_by_method(Figures(1.77, 13.0), Figures(1.76, 11.6), Figures(1.54, 6.1), Figures(1.54, 6.0)),
    reference={
        **_by_seed(0, Figures(1.829, 13.46), Figures(1.753, 10.83), Figures(1.538, 5.92), Figures(1.533, 6.30)),
        **_by_seed(1, Figures(1.865, 13.32), Figures(1.789, 10.33), Figures(1.546, 6.33), Figures(1.527, 6.75)),
        **_by_seed(2, Figures(1.792, 13.33), Figures(1.766, 11.37), Figures(1.536, 5.77), Figures(1.531, 5.76)),
    },
    tolerance=_by_method(*2 * [Figures(0.003, 0.15)], *2 * [Figures(0.006, 0.6)]),
)
"""The small set: 3,500 training and 1,500 validation rows."""

FULL = Table(
    size=50_000,
    published=_by_method(Figures(1.74, 10.3), Figures(1.74, 10.3), Figures(1.53, 4.7), Figures(1.53, 4.8)),
    reference=_by_seed(0, Figures(1.7445, 10.32), Figures(1.7439, 10.16), Figures(1.5325, 4.85), Figures(1.5320, 4.86)),
    tolerance=_by_method(*4 * [Figures(0.004, 0.3)]),
)
"""The full set: 35,000 training and 15,000 validation rows."""
