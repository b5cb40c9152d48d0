"""Run the paper's four methods on MNIST and print its table beside ours.

The exit code is 1 when a row is further from the reference figures than the tolerance.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from lsat_explorer.bench.machine import facts, peak_memory
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.table import FULL, HEADER, NEAR, SMALL, Figures, Result
from lsat_explorer.commands.errors import CommandError, user_input
from lsat_explorer.data import Data, datasets
from lsat_explorer.model import Recipe, recipes
from lsat_explorer.tune import Run

__all__ = ["RECIPES", "add_arguments", "mnist_files", "paper_data", "paper_shape", "rows", "run"]

Shape = tuple[int, int]

RECIPES: dict[Literal["standard", "raw"], dict[str, Callable[[Shape], Recipe]]] = {
    "standard": {"LS": lambda shape: recipes.paper_ls(), "reg×2": recipes.paper_reg2},
    "raw": {"reg×3+feat": recipes.paper_feat, "+weighting": recipes.paper_weighting},
}
"""The methods by the scale of the pixels that they take: those of one scale share their data."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench paper`."""
    parser.add_argument("--full", action="store_true", help="50,000 training and validation rows instead of 5,000")
    parser.add_argument("--seeds", type=int, nargs="+", metavar="SEED", help="default: those with reference figures")
    parser.add_argument("--data", metavar="DIR", help="folder of MNIST's IDX files (default: LSAT_MNIST)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Run all rows, print each as it ends, and return 1 when one is outside the tolerance."""
    table = FULL if args.full else SMALL
    start = time.perf_counter()
    machine = facts()
    print(machine_line(machine))
    print(f"MNIST, deskewed, {table.size:,} training and validation rows. Figures: validation loss / test error in %.")
    print("paper: as published. reference: true-gradient figures of the reference computation.")
    print(f"to {NEAR:g}: seconds, of features and tuning, until F is within that of the least that the row comes to.\n")
    print(HEADER, flush=True)
    results = []
    for result in rows(args.data, table.size, table.seeds() if args.seeds is None else args.seeds):
        results.append(result)
        print(table.line(result), flush=True)
    seconds, memory = time.perf_counter() - start, peak_memory()
    print()
    for seed, low, high in ((r.seed, *r.log_weights) for r in results if r.log_weights):
        print(f"Seed {seed}: the log weights of the training rows reach from {low:.3f} to {high:.3f}.")
    near = seconds - sum(result.seconds - result.near for result in results)
    print(f"{near:.1f} s until F of every row is within {NEAR:g} of its least, {seconds:.1f} s in all, data included.")
    print(f"At most {memory / 1e9:.2f} GB of memory.")
    print("\n".join(table.verdict(results)))
    if args.json is not None:
        summary = {"size": table.size, "machine": machine, "seconds": seconds, "peak_memory_bytes": memory}
        write_figures(args.json, {**summary, "rows": [table.record(result) for result in results]})
    return int(any(table.outside(result) for result in results))


def rows(folder: str | None, size: int, seeds: list[int]) -> Iterator[Result]:
    """Yield the rows of all methods at each seed, each when it is done.

    Raises
    ------
    CommandError
        When MNIST's files are missing or damaged, or a seed is out of range.
    """
    for seed in seeds:
        for scale, methods in RECIPES.items():
            data = paper_data(folder, size, seed, scale)
            for method, recipe in methods.items():
                yield _row(method, recipe(paper_shape(data)).replace(seed=seed), data)


def paper_data(folder: str | None, size: int, seed: int, scale: Literal["standard", "raw"]) -> Data:
    """Return MNIST as the paper's program divides it, deskewed; what is wrong with the files is a `CommandError`."""
    with mnist_files(folder):
        return datasets.mnist(folder, size=size, seed=seed, deskew=True, scale=scale)


@contextmanager
def mnist_files(folder: str | None) -> Iterator[None]:
    """Turn what is wrong with the folder that ``--data`` names, or with its files, into a `CommandError`."""
    try:
        with user_input():
            yield
    except CommandError as error:
        if folder is not None or os.environ.get("LSAT_MNIST"):
            raise
        raise CommandError(
            "No folder of MNIST is given: add `--data DIR`, or set LSAT_MNIST; "
            "`lsat-explorer data mnist DIR` fetches the files."
        ) from error


def _row(method: str, recipe: Recipe, data: Data) -> Result:
    start = time.perf_counter()
    tuned = Run(recipe, data)
    path = [(iterate.objective, time.perf_counter() - start) for iterate in tuned.steps()]
    least = min(objective for objective, _ in path)
    near = next(passed for objective, passed in path if objective <= least + NEAR)
    figures = Figures(tuned.iterates[-1].loss, 100 * tuned.test().error)
    seconds = time.perf_counter() - start
    return Result(
        recipe.seed,
        method,
        figures,
        tuned.iterates[-1].number,
        seconds,
        near,
        tuned.status.value,
        _log_weights(tuned),
    )


def _log_weights(tuned: Run) -> tuple[float, float] | None:
    values = tuned.omega.get("data_weights.log_weight")
    return None if values is None else (values.min().item(), values.max().item())


def paper_shape(data: Data) -> Shape:
    """Return height and width of the images."""
    if data.image_shape is None:
        raise ValueError(f"{data!r} has no image_shape: the paper's recipes smooth over the grid of an image's pixels.")
    height, width = data.image_shape
    return height, width
