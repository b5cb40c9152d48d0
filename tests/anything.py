"""Rows of any kind for the tests of any input: scales, columns that depend on each other, types, layouts, outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from hypothesis import strategies as st
from scipy import sparse

DTYPES = ("f8", "f4", "f2", ">f8", ">f4", "i1", "i4", "i8", "u1", "?", "O", "longdouble")
LAYOUTS = ("C", "F", "reversed", "every other", "read-only", "frame", "tensor", "list", "sparse")


@dataclass(frozen=True)
class Drawn:
    """Some rows, the form that they come in, and what is fitted to them."""

    seed: int = 0
    rows: int = 12
    scales: tuple[float, ...] = (0.0, 0.0)
    special: tuple[str, ...] = ()
    dtype: str = "f8"
    layout: str = "C"
    outcome: str = "one"
    weights: str = "none"
    log_weight: float = 0.0
    regularizer: str = "ridge"
    featurizer: str = "identity"
    spoil: tuple[str, float] | None = None

    @property
    def matrix(self) -> np.ndarray:
        """The rows (2 k, d) before they get their form: the first half trains, the second half validates."""
        random = np.random.default_rng(self.seed)
        X = random.normal(size=(2 * self.rows, len(self.scales))) * 10.0 ** np.array(self.scales)
        for kind in self.special:
            column = int(random.integers(X.shape[1]))
            other = int(random.integers(X.shape[1]))
            X[:, column] = {
                "zero": 0.0 * X[:, other],
                "constant": 0.0 * X[:, other] + 10.0 ** self.scales[column],
                "duplicate": X[:, other],
                "twice": 2 * X[:, other],
                "sum": X.sum(1) - X[:, column],
                "near": X[:, other] * (1 + 1e-9 * random.normal(size=len(X))),
                "far": X[:, column] + 1e6 * 10.0 ** self.scales[column],
            }[kind]
        kind = np.dtype("f8" if self.dtype == "longdouble" else self.dtype).kind
        if self.layout == "sparse" and self.seed % 2:
            X[random.random(X.shape) < 0.6] = 0.0
        if kind in "iu":
            low, high = np.iinfo(self.dtype).min, np.iinfo(self.dtype).max
            X = np.clip(np.rint(3 * X), max(low, -(2**40)), min(high, 2**40))
        if kind == "b":
            X = X > 0
        with np.errstate(over="ignore"):
            return X.astype(np.longdouble if self.dtype == "longdouble" else self.dtype)

    @property
    def labels(self) -> np.ndarray:
        """The outcomes (2 k,) or (2 k, m)."""
        random = np.random.default_rng(self.seed + 1)
        half = {
            "classes": np.array(["a", "b"])[np.arange(self.rows) % 2],
            "many classes": np.arange(self.rows) % max(2, self.rows // 2),
            "one class": np.full(self.rows, "a"),
            "lonely class": np.array(["a"] * (self.rows - 1) + ["b"]),
            "flags": np.arange(self.rows) % 2 == 0,
            "one": random.normal(size=self.rows),
            "two": random.normal(size=(self.rows, 2)),
            "constant": np.full(self.rows, 3.5),
            "large": 1e8 * random.normal(size=self.rows),
        }[self.outcome]
        return np.concatenate([half, half])

    @property
    def sample_weights(self) -> np.ndarray:
        """The weights (k,) of the training rows."""
        random = np.random.default_rng(self.seed + 2)
        some = random.uniform(0.5, 2.0, self.rows)
        return {
            "none": np.ones(self.rows),
            "some zero": np.where(np.arange(self.rows) % 3 == 0, 0.0, some),
            "all zero": np.zeros(self.rows),
            "far apart": 10.0 ** random.uniform(-6, 6, self.rows),
            "some": some,
        }[self.weights]


def formed(X: np.ndarray, layout: str) -> Any:
    """The same rows in another form."""
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if layout == "every other":
        wide = np.zeros((2 * len(X), 3 * X.shape[1]), dtype=X.dtype)
        wide[::2, 1::3] = X
        return wide[::2, 1::3]
    if layout == "read-only":
        X = X.copy()
        X.setflags(write=False)
    if layout == "frame":
        names = ["a", 1, "<b>", 2.5, ("t", 0), "", "g"][: X.shape[1]]
        return pd.DataFrame(X.astype(X.dtype.newbyteorder("=")), columns=pd.Index(names, dtype=object))
    if layout == "tensor" and X.dtype.kind in "biuf" and X.dtype.itemsize <= 8:
        return torch.from_numpy(X.astype(X.dtype.newbyteorder("=")))
    if layout == "sparse" and X.dtype.kind in "biuf" and X.dtype.itemsize <= 8 and X.dtype.name != "float16":
        return sparse.csr_array(X.astype(X.dtype.newbyteorder("=")))
    return X.tolist() if layout == "list" else X


drawn = st.builds(
    Drawn,
    seed=st.integers(0, 10_000),
    rows=st.integers(2, 30),
    scales=st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=6).map(tuple),
    special=st.lists(st.sampled_from(["zero", "constant", "duplicate", "twice", "sum", "near", "far"]), max_size=2).map(
        tuple
    ),
    dtype=st.sampled_from(DTYPES),
    layout=st.sampled_from(LAYOUTS),
    outcome=st.sampled_from(
        ["classes", "many classes", "one class", "lonely class", "flags", "one", "two", "constant", "large"]
    ),
    weights=st.sampled_from(["none", "none", "some", "some zero", "all zero", "far apart"]),
    log_weight=st.sampled_from([-40.0, -17.0, -8.0, -3.0, 0.0, 2.0, 5.0]),
    regularizer=st.sampled_from(["ridge", "diagonal", "smooth", "stack", "matrix"]),
    featurizer=st.sampled_from(["identity", "scale", "raw and one"]),
    spoil=st.none()
    | st.tuples(st.sampled_from(["X", "y", "validation X"]), st.sampled_from([np.nan, np.inf, -np.inf, 1e300])),
)
