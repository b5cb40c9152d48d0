"""Measure the peak memory of whole tunes against the bytes of their data, each in a process of its own."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from lsat_explorer.bench.machine import facts, held_memory, peak_memory
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.paper import RECIPES, paper_data, paper_shape
from lsat_explorer.bench.random_data import random_table
from lsat_explorer.bench.table import FULL, SMALL
from lsat_explorer.bench.timing import positive, timed
from lsat_explorer.data import Data
from lsat_explorer.model import Recipe
from lsat_explorer.tune import ProximalGradient, tune

__all__ = ["CASES", "Case", "Memory", "add_arguments", "measure", "run", "tune_alone"]

GOAL = 1.6
"""Most bytes that a tune takes beyond its data, in bytes of the data."""

TABLE = "table"
CASES = (*RECIPES["raw"], TABLE)
"""What is tuned: the paper's recipes that move features, and the default recipe on random numbers."""

_LAZY = ("sklearn.cluster", "sklearn.model_selection", "pandas")
"""Libraries that a tune would import on its way."""


@dataclass(frozen=True)
class Case:
    """What a process tunes: MNIST of ``rows`` rows by the recipe ``name``, or a table (``rows``, ``columns``).

    ``iterations`` ends a tune early; None lets it run to its end.
    """

    name: str
    rows: int
    columns: int
    folder: str | None = None
    iterations: int | None = None

    def load(self) -> tuple[Data, Recipe]:
        """Return the data and the recipe."""
        if self.name == TABLE:
            data, recipe = random_table(self.rows, self.columns), Recipe()
        else:
            data = paper_data(self.folder, self.rows, 0, "raw")
            recipe = RECIPES["raw"][self.name](paper_shape(data))
        if self.iterations is None:
            return data, recipe
        return data, recipe.replace(method=ProximalGradient(max_iterations=self.iterations))


@dataclass(frozen=True)
class Memory:
    """Bytes of one tune: of the training and validation inputs, and that the process held at three moments.

    ``imported`` is what it held with every library imported, ``loaded`` with the data loaded too, and ``peak`` the most
    at any time of the tune and of the fit of its model.
    """

    case: str
    k: int
    d: int
    data: int
    imported: int
    loaded: int
    peak: int
    iterations: int
    seconds: float

    @property
    def beyond(self) -> float:
        """The most that tuning took beyond the loaded data, in bytes of the data."""
        return (self.peak - self.loaded) / self.data

    @property
    def whole(self) -> float:
        """The most that data and tuning took together, in bytes of the data."""
        return (self.peak - self.imported) / self.data


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench memory`."""
    small = "5,000 rows of MNIST and a table of 20,000 × 100, which take seconds"
    parser.add_argument("--small", action="store_true", help=small)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES, help="what to tune (default: all)")
    shape = "rows and columns of the table (default: 200000 200)"
    parser.add_argument("--table", type=positive, nargs=2, metavar=("ROWS", "COLUMNS"), help=shape)
    parser.add_argument("--data", metavar="DIR", help="folder of MNIST's IDX files (default: LSAT_MNIST)")
    limit = "end each tune after so many (default: run to the end)"
    parser.add_argument("--iterations", type=positive, metavar="N", help=limit)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Tune each case in a process of its own and print its peak; a figure is printed and not judged."""
    machine = facts()
    print(f"{machine_line(machine)}\n")
    print(_COLUMNS.format("", "rows k", "columns", "data MB", "loaded MB", "tuning MB", "ratio", "whole", "iterations"))
    found = []
    for memory in measure(_cases(args)):
        found.append(memory)
        print(_line(memory), flush=True)
    print(f"\n{_report(found)}")
    if args.json is not None:
        rows = [{**asdict(memory), "beyond": memory.beyond, "whole": memory.whole} for memory in found]
        write_figures(args.json, {"machine": machine, "goal": GOAL, "rows": rows})
    return 0


def _cases(args: argparse.Namespace) -> list[Case]:
    size = (SMALL if args.small else FULL).size
    rows, columns = args.table or ((20_000, 100) if args.small else (200_000, 200))
    shapes = {name: (rows, columns) if name == TABLE else (size, 784) for name in CASES if name in args.cases}
    return [Case(name, *shape, args.data, args.iterations) for name, shape in shapes.items()]


def measure(cases: list[Case]) -> Iterator[Memory]:
    """Yield the memory of each case, tuned in a fresh process that has done nothing before."""
    for case in cases:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            yield process.submit(tune_alone, case).result()


def tune_alone(case: Case) -> Memory:
    """Tune in this process and return what it held; an earlier tune here would hide what this one takes."""
    for name in _LAZY:
        import_module(name)
    imported = held_memory()
    data, recipe = case.load()
    loaded = held_memory()
    seconds, _, tuned = timed(lambda: tune(recipe, data, progress=False))
    assert tuned.model
    inputs = data.train.inputs, data.validation.inputs
    return Memory(
        case=case.name,
        k=len(data.train),
        d=inputs[0].shape[1],
        data=sum(rows.nbytes for rows in inputs),
        imported=imported,
        loaded=loaded,
        peak=peak_memory(),
        iterations=tuned.iterates[-1].number,
        seconds=seconds,
    )


_COLUMNS = "{:<11} {:>8} {:>8} {:>8} {:>10} {:>10} {:>6} {:>6} {:>11}"


def _line(memory: Memory) -> str:
    loaded, tuning = memory.loaded - memory.imported, memory.peak - memory.loaded
    millions = (f"{count / 1e6:.1f}" for count in (memory.data, loaded, tuning))
    ratios = (f"{ratio:.2f}" for ratio in (memory.beyond, memory.whole))
    return _COLUMNS.format(memory.case, memory.k, memory.d, *millions, *ratios, memory.iterations)


def _report(found: list[Memory]) -> str:
    ratios = ", ".join(f"{memory.beyond:.2f}" for memory in found)
    return "\n".join(
        [
            "data: bytes of the training and validation inputs as loaded, float32.",
            "loaded: what the process holds more with the data, test rows and targets too, than with imports alone.",
            "tuning: the most it holds more than that at any time of the whole tune and of the fit of its model.",
            "ratio: tuning over data. whole: loaded and tuning together over data.",
            f"Goal: each ratio at most {GOAL}. In this run: {ratios}.",
        ]
    )
