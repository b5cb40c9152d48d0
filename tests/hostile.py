"""Text from strangers that tries to be more than text, and data, runs and recipes in which it stands for every name."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

import lsat_explorer as lsat

HOSTILE = (
    '<img src=x onerror="window.pwned=1">',
    "</script><script>window.pwned=1</script>",
    '"><svg onload="window.pwned=1">',
    "</textarea></title></style><iframe srcdoc='<script>parent.pwned=1</script>'>",
    '<a href="javascript:window.pwned=1">press</a>',
    "<b>bold</b>",
    "${7*7}{{7*7}}#{7*7}<%= 7*7 %>",
    "%{x}%{customdata}<extra></extra>",
    "'; window.pwned=1; //",
    "$\\href{javascript:window.pwned=1}{x}$ [a](javascript:window.pwned=1) ![](http://evil.invalid/x)",
    "&lt;i&gt;&#60;i&#62;",
    "👩‍👩‍👧‍👦 é",
    "user\u202etxt.exe",
    "W" * 300,
    "",
)
"""Fifteen names; the last one is empty, as a name in a file may be."""

QUICK = lsat.ProximalGradient(max_iterations=8, tolerance=0.0)


def rows(*, labels: bool = True, image: bool = False) -> lsat.Data:
    """Rows whose data set, features, classes and rows are all named by strangers."""
    generator = np.random.default_rng(0)
    d = 16 if image else len(HOSTILE)
    X = generator.normal(size=(15 * len(HOSTILE), d))
    kinds = np.arange(len(X)) % len(HOSTILE)
    X[np.arange(len(X)), kinds] += 2
    y = np.array(HOSTILE, dtype=object)[kinds] if labels else X[:, 0] + 0.1 * generator.normal(size=len(X))
    names = [f"{name}{i}" if i >= len(HOSTILE) else name for i, name in enumerate((*HOSTILE, "")[:d])]
    rows = [f"{HOSTILE[i % len(HOSTILE)]}·{i}" for i in range(len(X))]
    return lsat.Data.from_arrays(
        X, y, rows=rows, feature_names=names, name=HOSTILE[0], image_shape=(4, 4) if image else None, seed=1
    )


def recipe(data: lsat.Data) -> lsat.Recipe:
    """A recipe that tunes a weight for each of the hostile groups."""
    groups = [HOSTILE[i % 6] for i in range(len(data.train))]
    penalty = {"data_weights.log_weight": lsat.SumSquares(0.01)}
    return lsat.Recipe(data_weights=lsat.GroupWeights(groups), hyper_penalties=penalty, method=QUICK)


def graph() -> lsat.Graph:
    """A graph whose nodes are named by strangers."""
    return lsat.graphs.from_networkx(nx.cycle_graph(list(HOSTILE[:-1])))


def table(folder: Path) -> Path:
    """A CSV file of a hostile name, with hostile columns and cells."""
    path = folder / f"{HOSTILE[0]}.csv"
    kinds = [HOSTILE[i % 6] for i in range(90)]
    numbers = np.random.default_rng(1).normal(size=(90, 3))
    pd.DataFrame(numbers, columns=list(HOSTILE[:3])).assign(kind=kinds).to_csv(path, index=False)
    return path
