"""Tune a recipe on data, and leave a folder with the iterates, the model and a picture of the curves."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from tqdm import tqdm

import lsat_explorer as lsat
from lsat_explorer.commands.errors import INTERRUPTED, user_input
from lsat_explorer.commands.source import add_data_arguments, load_data

if TYPE_CHECKING:
    from lsat_explorer.tune import Run

SUMMARY = "tune a recipe on data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer tune`."""
    parser.add_argument("recipe", type=Path, metavar="RECIPE.json", help="what `Recipe.to_json()` wrote")
    add_data_arguments(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="RUN", help="the folder to write")
    parser.add_argument("--overwrite", action="store_true", help="replace the run that --out holds already")


def run(args: argparse.Namespace) -> int:
    """Tune, save and print a summary; after Ctrl-C the same, from the last accepted iterate."""
    with user_input():
        refuse_to_overwrite(args.out, allowed=args.overwrite)
        recipe = lsat.Recipe.from_json(args.recipe.read_text(encoding="utf-8"))
        tuning = lsat.Run(recipe, load_data(args))
        # Made now, for a folder that cannot be made is to be known before the work, not after it.
        args.out.mkdir(parents=True, exist_ok=True)
    pull(tuning)
    return save(tuning, args.out)


def refuse_to_overwrite(folder: Path, *, allowed: bool) -> None:
    """Keep an older run from being lost.

    Raises
    ------
    ValueError
        When the path is a file, or a folder that holds something and overwriting was not asked for.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; --out names a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not allowed:
        raise ValueError(f"{folder} is not empty; name another folder, or add --overwrite.")


def pull(tuning: Run) -> None:
    """Pull a run to its end with a progress bar; Ctrl-C ends it at the last accepted iterate.

    Raises
    ------
    CommandError
        When the recipe and the data do not fit each other, which shows at the first pull.
    KeyboardInterrupt
        On Ctrl-C before the first fit, when there is nothing to keep, or on a second one.
    """
    steps = tuning.steps()
    limit = getattr(tuning.recipe.method, "max_iterations", None)
    with tqdm(total=limit, desc="Tuning", unit="it", dynamic_ncols=True) as bar, stop_on_interrupt(tuning):
        with user_input():
            first = next(steps)
        for iterate in chain([first], steps):
            bar.set_postfix_str(f"loss {iterate.loss:.4f}, step {iterate.step:.3g}", refresh=False)
            bar.update(iterate.number - bar.n)


@contextmanager
def stop_on_interrupt(tuning: Run) -> Iterator[None]:
    """Let the first Ctrl-C ask the run to stop, and a second one, or one before the first fit, end it at once."""
    asked = False

    def handle(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked or not tuning.iterates:
            raise KeyboardInterrupt
        asked = True
        # Not from here: the interrupted line may hold the lock that stop() takes.
        threading.Thread(target=tuning.stop, daemon=True).start()

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def save(tuning: Run, folder: Path) -> int:
    """Write the run's folder, print its summary and return the exit code."""
    # matplotlib takes a while to load, and an error of the input should not wait for it.
    from lsat_explorer.commands.summary import summary, write_curves

    with user_input():
        tuning.save(folder)
        print(summary(tuning, tuning.model, write_curves(tuning, folder)))
    if tuning.status is lsat.Status.STOPPED_BY_USER:
        print(f"lsat-explorer: interrupted; the last accepted iterate is kept in {folder}.", file=sys.stderr)
        return INTERRUPTED
    return 0
