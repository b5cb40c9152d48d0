"""Time fits to rows on disk against reading and multiplying them, and measure the memory they take.

Random rows are written to a folder, which is deleted afterwards. Each number of rows is fitted in a process of its own,
by ridge, graph and temperature of the loss, then with a weight per row too.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from lsat_explorer.bench.floor import products, reading
from lsat_explorer.bench.machine import facts, held_memory, peak_memory
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.rows_file import divided, forget, paths, write_rows
from lsat_explorer.bench.timing import positive, take_turns, timed
from lsat_explorer.bench.workers import Shared, table, with_workers
from lsat_explorer.commands.errors import CommandError, user_input
from lsat_explorer.data import Data
from lsat_explorer.model import (
    Chunks,
    Concat,
    Constant,
    CrossEntropy,
    Identity,
    LogWeights,
    Recipe,
    Ridge,
    Smooth,
    Stack,
    graphs,
)
from lsat_explorer.model.piece import Omega
from lsat_explorer.tune import Problem

__all__ = ["CASES", "Case", "Fitted", "add_arguments", "fit_alone", "run", "slope"]

RATIO, MEMORY = 1.5, 1.2e9
"""Goals: an iteration's seconds, of the larger of reading and product; bytes beyond the interpreter."""

CASES = ("still", "weighted")
"""Ridge, graph and temperature; with row weights too."""

_LEAST = 125_000


@dataclass(frozen=True)
class Case:
    """What one process fits: ``name`` of `CASES`, the first ``rows`` rows of a folder, in chunks of so much memory.

    The system's ``cache`` holds what was read of them, or is emptied of it before each turn that is timed.
    """

    name: str
    folder: str
    rows: int
    memory: str
    repeat: int
    cache: str = "warm"

    def data(self) -> Data:
        """Open the rows, four in five to train, which reads and checks them."""
        counts = divided(self.rows)
        files = {split: [np.load(path, mmap_mode="r") for path in paths(self.folder, split)] for split in counts}
        pairs: dict[str, Any] = {split: (X[: counts[split]], y[: counts[split]]) for split, (X, y) in files.items()}
        return Data.from_rows(**pairs)

    def recipe(self, columns: int) -> Recipe:
        """Return the recipe."""
        return Recipe(
            featurizer=Concat(x=Identity(), one=Constant()),
            regularizer=Stack(ridge=Ridge(block="x"), smooth=Smooth(graphs.path(columns), block="x")),
            loss=CrossEntropy(temperature=True),
            data_weights=LogWeights() if self.name == "weighted" else None,
            engine=Chunks(memory=self.memory),
        )


@dataclass(frozen=True)
class Fitted:
    """Seconds and bytes of one case.

    ``check`` is the pass that opens the data, ``first`` the first F with all that is formed once, ``iteration`` a
    further F and its gradient; ``reading`` is what its passes take to read, ``product`` its products with the features
    of rows in memory, and ``sums`` all that it adds up of such rows, the loss and its slopes too. ``once`` are reading
    and products of ``first``. ``memory`` is the most held beyond the imports.
    """

    case: str
    rows: int
    columns: int
    memory: int
    check: float
    first: float
    iteration: float
    reading: float
    product: float
    sums: float
    once: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Seconds of an iteration by the larger of reading and products."""
        return self.iteration / max(self.reading, self.product)

    @property
    def by_sums(self) -> float:
        """Seconds of an iteration by the larger of reading and all sums."""
        return self.iteration / max(self.reading, self.sums)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench scale`."""
    parser.add_argument("--rows", type=positive, default=2_000_000, metavar="K", help="rows (default: 2000000)")
    parser.add_argument("--columns", type=positive, default=300, metavar="D", help="columns (default: 300)")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES, help="what to fit (default: both)")
    parser.add_argument("--memory", default="512 MB", metavar="SIZE", help="of the chunks (default: 512 MB)")
    parser.add_argument("--folder", metavar="DIR", help="where to write the rows (default: the temporary folder)")
    cache = "whether the system's cache has the rows, or they come from the disk (default: warm)"
    parser.add_argument("--cache", choices=("warm", "cold"), default="warm", help=cache)
    parser.add_argument("--keep", action="store_true", help="leave the rows there")
    parser.add_argument("--repeat", type=positive, default=3, metavar="N", help="turns timed (default: 3)")
    more = "then fit the weighted rows with so many workers of dask, such as 1 2"
    parser.add_argument("--workers", nargs="+", type=positive, default=(), metavar="W", help=more)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Write the rows, fit each number of them and print what it took; a figure is printed and not judged."""
    if args.rows < 100:
        raise CommandError(f"--rows is {args.rows}, expected at least 100; give more rows.")
    machine = facts()
    print(f"{machine_line(machine)}\n")
    found: list[Fitted] = []
    with user_input():
        Chunks(memory=args.memory)
    shared: list[Shared] = []
    with _rows(args) as folder:
        print(_COLUMNS.format(*_HEAD))
        for name in args.cases:
            for rows in _sizes(args.rows):
                found.append(_in_a_process(Case(name, folder, rows, args.memory, args.repeat, args.cache)))
                print(_line(found[-1]), flush=True)
        if args.workers:
            case = Case("weighted", folder, args.rows, args.memory, args.repeat)
            shared = with_workers(case.recipe(args.columns), case.data(), args.memory, args.workers, args.repeat)
    print(f"\n{_report(found, args.cache)}")
    if shared:
        print(f"\n{table(shared)}")
    if args.json is not None:
        rows_of = [{**asdict(fitted), "ratio": fitted.ratio, "by_sums": fitted.by_sums} for fitted in found]
        slopes = {name: slope([fitted for fitted in found if fitted.case == name]) for name in args.cases}
        goals = {"ratio": RATIO, "memory": MEMORY}
        more = {"slopes": slopes, "workers": [asdict(one) for one in shared]}
        write_figures(args.json, {"machine": machine, "cache": args.cache, "goals": goals, "rows": rows_of, **more})
    return 0


@contextmanager
def _rows(args: argparse.Namespace) -> Iterator[str]:
    """Write the rows to a new folder, and delete it afterwards."""
    with user_input():
        folder = tempfile.mkdtemp(prefix="lsat-scale-", dir=args.folder)
    try:
        with user_input():
            seconds, _, size = timed(lambda: write_rows(folder, args.rows, args.columns))
        print(f"{size / 1e9:.2f} GB of rows written in {seconds:.1f} s.\n", flush=True)
        yield folder
    finally:
        if args.keep:
            print(f"\nThe rows are kept in {folder}.")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _sizes(rows: int) -> list[int]:
    """Return ``rows`` and its halves down to 125,000, at least one of them."""
    sizes = [rows, rows // 2]
    while sizes[-1] // 2 >= _LEAST:
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]


def _in_a_process(case: Case) -> Fitted:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(fit_alone, case).result()


def _iteration(problem: Problem, omega: Omega) -> Omega:
    return problem.gradient(problem.evaluate(omega))


def fit_alone(case: Case) -> Fitted:
    """Fit in this process; an earlier fit here would hide the memory that this one takes."""
    for name in ("sklearn.cluster", "sklearn.model_selection", "pandas"):
        import_module(name)
    imported = held_memory()
    check, _, data = timed(case.data)
    d = data.train.inputs.shape[1]

    def begin() -> Problem:
        problem = Problem(case.recipe(d), data)
        problem.evaluate(problem.init())
        return problem

    first, _, problem = timed(begin)
    numbers = count(1)

    def iteration() -> Omega:
        by = 0.01 * next(numbers)
        return _iteration(problem, {name: value + by for name, value in problem.init().items()})

    for _ in range(2):
        iteration()
    memory = peak_memory() - imported
    found, everything, once = products(problem, data, case.name == "weighted")
    works = {"iteration": iteration, "T": reading(data.train.inputs), "V": reading(data.validation.inputs)}
    works |= {name: work for name, (_, work) in (found | everything | once).items()}
    # In turns: what slows a machine down for a while then slows down all that is compared.
    times = take_turns(
        works, case.repeat, before=partial(forget, case.folder) if case.cache == "cold" else lambda: None
    )
    seconds = {name: taken.median for name, taken in times.items()}
    product, sums, formed = (sum(by * seconds[name] for name, (by, _) in w.items()) for w in (found, everything, once))
    weighs = 2 if case.name == "weighted" else 0  # passes over the training rows
    return Fitted(
        case=case.name,
        rows=case.rows,
        columns=d,
        memory=memory,
        check=check,
        first=first,
        iteration=seconds["iteration"],
        reading=weighs * seconds["T"] + seconds["V"],
        product=product,
        sums=sums,
        once=(seconds["T"] + seconds["V"], formed),
    )


_COLUMNS = "{:<9} {:>10} {:>10} {:>8} {:>8} {:>12} {:>8} {:>9} {:>6} {:>6} {:>8}"
_HEAD = (
    "",
    "rows",
    "memory MB",
    "check s",
    "first s",
    "iteration s",
    "reading",
    "products",
    "ratio",
    "sums",
    "by sums",
)


def _line(fitted: Fitted) -> str:
    seconds = (f"{value:.2f}" for value in (fitted.check, fitted.first, fitted.iteration))
    floor = (f"{value:.2f}" for value in (fitted.reading, fitted.product, fitted.ratio, fitted.sums, fitted.by_sums))
    return _COLUMNS.format(fitted.case, f"{fitted.rows:,}", f"{fitted.memory / 1e6:.0f}", *seconds, *floor)


def slope(found: list[Fitted]) -> float:
    """Return the power of the number of rows that an iteration's seconds grow with, by least squares of logarithms."""
    rows, seconds = (np.log([getattr(fitted, name) for fitted in found]) for name in ("rows", "iteration"))
    return float(np.polyfit(rows, seconds, 1)[0])


def _report(found: list[Fitted], cache: str) -> str:
    cases = dict.fromkeys(fitted.case for fitted in found)
    slopes = ", ".join(f"{name} {slope([fitted for fitted in found if fitted.case == name]):.2f}" for name in cases)
    last = {name: [fitted for fitted in found if fitted.case == name][-1] for name in cases}
    ratios = ", ".join(f"{name} {one.ratio:.2f} (by sums {one.by_sums:.2f})" for name, one in last.items())
    memories = ", ".join(f"{name} {fitted.memory / 1e6:.0f} MB" for name, fitted in last.items())
    return "\n".join(
        [
            f"Iterations, reading and products are medians of turns they took, rows in a {cache} cache of the system.",
            "check: opens the data, reading every row once. first: the first F, with what is formed once.",
            "iteration: a further F and its gradient. reading: its passes read. products: with features in memory.",
            "ratio: iteration by the larger of both. sums: all that it adds up of such rows, the loss and slopes too.",
            "still: ridge, graph and temperature; this reads validation rows only. weighted: row weights too.",
            f"Seconds of an iteration grow with the rows to the power: {slopes}.",
            f"Goal: an iteration within {RATIO} times the larger of reading and product. In this run: {ratios}.",
            f"Goal: less than {MEMORY / 1e6:.0f} MB beyond the interpreter. In this run: {memories}.",
        ]
    )
