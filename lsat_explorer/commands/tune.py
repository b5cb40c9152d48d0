"""Tune a recipe on data, and leave a folder with the iterates, the model and a picture of the curves."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from tqdm import tqdm

import lsat_explorer as lsat
from lsat_explorer.commands.errors import FAILURE, INTERRUPTED, CommandError, user_input
from lsat_explorer.commands.folders import new_folder, path_of
from lsat_explorer.commands.output import say, shows_progress
from lsat_explorer.commands.source import add_data_arguments, load_data
from lsat_explorer.commands.summary import CURVES, summary, write_curves
from lsat_explorer.data.safe_file import refuse_path
from lsat_explorer.model.cluster import ClusterLost
from lsat_explorer.tune.iterates import Iterates
from lsat_explorer.tune.last_look import last_rows
from lsat_explorer.tune.run_folder import refuse_foreign

if TYPE_CHECKING:
    from lsat_explorer.tune import Run

SUMMARY = "tune a recipe on data"
PATIENCE = 2
"""So many interrupts leave the run the time to stop and to be saved."""
GOES_ON = {lsat.Status.READY, lsat.Status.BROKEN_OFF, lsat.Status.STOPPED_BY_USER, lsat.Status.MAX_ITERATIONS}
"""Where a run may stand that is pulled; one that has ended by itself is only saved."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer tune`."""
    recipe = "what `Recipe.to_json()` wrote; left out with --resume"
    parser.add_argument("recipe", type=path_of, nargs="?", metavar="RECIPE.json", help=recipe)
    add_data_arguments(parser)
    engines = "where features are held, in place of what the recipe says: in memory, a chunk of rows at a time, or dask"
    parser.add_argument("--engine", choices=lsat.Recipe.engines, help=engines)
    scheduler = "of --engine dask (default: one that is started here, with a worker a core)"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=scheduler)
    kept = "the folder to write; the run is kept there as it goes on"
    parser.add_argument("--out", type=path_of, metavar="RUN", help=f"{kept} (default: that of --resume)")
    goes_on = "go on, on the same --data, with a run that was broken off, as if it had not been, or that was stopped"
    parser.add_argument("--resume", type=path_of, metavar="RUN", help=goes_on)
    parser.add_argument("--overwrite", action="store_true", help="replace the run that --out holds already")
    look = "print the loss and error of the test rows when the run has ended; the run counts the look"
    parser.add_argument("--look", action="store_true", help=look)


def run(args: argparse.Namespace) -> int:
    """Tune, save and print a summary; after Ctrl-C the same, from the last accepted iterate."""
    with user_input():
        tuning = resumed(args) if args.resume is not None else begun(args)
        if args.look:
            refuse_no_rows(tuning)
    # Made now, for a folder that cannot be made is to be known before the work, not after it.
    with new_folder(args.out), stop_on_interrupt(tuning):
        try:
            if tuning.status in GOES_ON:
                pull(tuning)
            return save(tuning, args.out, look=args.look)
        except (ClusterLost, CommandError) as error:
            lost = error if isinstance(error, ClusterLost) else error.__cause__
            if not isinstance(lost, ClusterLost) or not tuning.iterates:
                raise
            write(here(tuning), args.out)
            raise CommandError(f"{lost} The iterate is in {args.out}.", FAILURE) from error
        except KeyboardInterrupt:
            if not tuning.iterates:
                raise
            sentence = (
                f"interrupted {PATIENCE + 1} times; the run is not saved, and `lsat-explorer tune --resume {args.out}` "
                "goes on with what it has kept of itself."
            )
            raise CommandError(sentence, INTERRUPTED) from None


def begun(args: argparse.Namespace) -> Run:
    """Return the new run that the arguments ask for, which keeps itself in --out.

    Raises
    ------
    ValueError
        When something is missing, cannot be read or does not go together.
    """
    for name, value in (("RECIPE.json", args.recipe), ("--out", args.out)):
        if value is None:
            raise ValueError(f"{name} is missing: give RECIPE.json and --out, or --resume a run that was broken off.")
    recipe = read_recipe(args.recipe)
    if args.scheduler is not None and args.engine != "dask":
        raise ValueError("--scheduler goes with --engine dask; add it, or leave the scheduler out.")
    if args.engine is not None:
        recipe = recipe.replace(engine=lsat.Dask(args.scheduler) if args.scheduler else args.engine)
    refuse_to_overwrite(args.out, allowed=args.overwrite)
    data = load_data(args)
    return lsat.Run(recipe, data, checkpoint=lsat.Checkpoint(args.out, replace=args.overwrite))


def resumed(args: argparse.Namespace) -> Run:
    """Return the run that --resume names, and have it kept and saved in its own folder where --out names no other.

    Raises
    ------
    ValueError
        When there is no checkpoint, it is of other data, or there are arguments that are for new runs.
    """
    for name, value in (("RECIPE.json", args.recipe), ("--engine", args.engine), ("--scheduler", args.scheduler)):
        if value is not None:
            raise ValueError(f"{name} is for a new run: leave it out with --resume, which has its own recipe.")
    refuse_path(args.resume)
    tuning = lsat.Run.resume(args.resume, load_data(args))
    if args.out is None or args.out.resolve() == args.resume.resolve():
        args.out = args.resume if args.resume.is_dir() else args.resume.parent
        refuse_to_lose(args.out)
    else:
        refuse_to_overwrite(args.out, allowed=args.overwrite)
        tuning.keep_in(lsat.Checkpoint(args.out, replace=args.overwrite))
    return tuning


def refuse_no_rows(tuning: Run) -> None:
    """Refuse a look at rows that are not there, before the work.

    Raises
    ------
    ValueError
        With what to do.
    """
    rows = last_rows(tuning.recipe)
    if getattr(tuning.data, rows) is not None:
        return
    if rows == "test":
        raise ValueError("--look needs test rows, and the data have none: name some by --test, or leave --look out.")
    raise ValueError(
        "--look needs final rows, for early stopping goes by the test rows, and no command makes them: leave it out, "
        "and look in Python, at data with a final split."
    )


def here(tuning: Run) -> Run:
    """Return a run at the same iterate whose model this process fits, where its cluster is gone."""
    run = lsat.Run(tuning.recipe.replace(engine="chunks"), tuning.data)
    run.restore(Iterates(tuning.iterates, tuning.iterates.since), tuning.omega, tuning.status, tuning.looks)
    run.leg, run.memory = tuning.leg, tuning.memory
    return run


def read_recipe(path: Path) -> lsat.Recipe:
    """Read the recipe of a file.

    Raises
    ------
    ValueError
        When there is no such file, it is not text, or it holds no recipe.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        sentence = f"There is no recipe {path}; write one with Path({path.name!r}).write_text(recipe.to_json())."
        raise ValueError(sentence) from error
    except OSError as error:
        raise ValueError(f"The recipe {path} cannot be read: {error.strerror}; give the file of a recipe.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"The recipe {path} is not text; give what `Recipe.to_json()` wrote.") from error
    try:
        return lsat.Recipe.from_json(text)
    except ValueError as error:
        raise ValueError(f"{path} holds no recipe: {error}") from error


def refuse_to_overwrite(folder: Path, *, allowed: bool) -> None:
    """Keep an older run from being lost, and a new one from a folder that it could not be read from.

    Raises
    ------
    ValueError
        When the path is not encoded in UTF-8, or is a file, or a folder that holds something and overwriting was not
        asked for; where it was, as `refuse_to_lose` does.
    """
    refuse_path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; --out names a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not allowed:
        raise ValueError(f"{folder} is not empty; name another folder, or add --overwrite.")
    refuse_to_lose(folder)


def refuse_to_lose(folder: Path) -> None:
    """Keep what is no run's from being replaced by a run that ends, before the work, not after it.

    Raises
    ------
    ValueError
        When a file of the folder has the name of one of a run's, and is none.
    """
    refuse_foreign(folder)
    curves = folder / CURVES
    if curves.exists() and not (folder / "run.json").exists():  # which a run has written before its curves
        raise ValueError(
            f"{curves} holds no curves of a run, for none is beside it, and would be lost: give another folder, or "
            "move that file away first."
        )


def pull(tuning: Run) -> None:
    """Pull a run to its end with a progress bar; under `stop_on_interrupt` Ctrl-C ends it at the last accepted iterate.

    Raises
    ------
    CommandError
        When the recipe and the data do not fit each other, which shows at the first pull.
    """
    steps = tuning.steps()
    limit = getattr(tuning.recipe.method, "max_iterations", None)
    said = False
    with tqdm(total=limit, desc="Tuning", unit="it", dynamic_ncols=True, disable=not shows_progress()) as bar:
        with user_input():
            first = list(islice(steps, 1))  # none where a run that goes on has ended
        for iterate in chain(first, steps):
            bar.set_postfix_str(f"loss {iterate.loss:.4f}, step {iterate.step:.3g}", refresh=False)
            bar.update(iterate.number - bar.n)
            if tuning.unsaved and not said:
                bar.write(f"lsat-explorer: {tuning.unsaved}", file=sys.stderr)
            said = bool(tuning.unsaved)


@contextmanager
def stop_on_interrupt(tuning: Run) -> Iterator[None]:
    """Let Ctrl-C ask the run to stop and be saved; a third one, or one before the first fit, ends it at once.

    A second one is nearly always impatience, or a key held too long: it must not cost the run.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C before the first fit, when there is nothing to keep, or on a third one.
    """
    asked = 0

    def handle(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        if asked > PATIENCE or not tuning.iterates:
            raise KeyboardInterrupt
        # Not from here: the interrupted line may hold the lock that stop() takes.
        threading.Thread(target=tuning.stop, daemon=True).start()

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def write(tuning: Run, folder: Path, *, look: bool = False) -> None:
    """Write the run's folder and print its summary, with what a look at the test rows shows.

    Raises
    ------
    CommandError
        When it cannot be written, as on a full disk; what was kept there as the run went on is left.
    """
    with user_input():
        seen = tuning.test() if look else None  # before the run is written, which says how many looks there were
        try:
            tuning.save(folder)
        except OSError as error:
            kept = any(folder.glob("checkpoint*"))
            rest = f"; go on from its last checkpoint with --resume {folder}" if kept else ", and run it again"
            sentence = (
                f"The run could not be written to {folder}: {error}. Make room there, or mend what is wrong{rest}."
            )
            raise CommandError(sentence, FAILURE) from error
        said = summary(tuning, tuning.model, {"curves": write_curves(tuning, folder)}, folder, seen)
    say(said, f"The run is whole in {folder}.")


def save(tuning: Run, folder: Path, *, look: bool) -> int:
    """Write the run's folder, print its summary and return the exit code; a run that was stopped does not ``look``."""
    stopped = tuning.status is lsat.Status.STOPPED_BY_USER
    write(tuning, folder, look=look and not stopped)
    if stopped:
        print(f"lsat-explorer: interrupted; the last accepted iterate is kept in {folder}.", file=sys.stderr)
        return INTERRUPTED
    return 0
