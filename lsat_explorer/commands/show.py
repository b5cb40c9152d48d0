"""Print what a saved run came to: status, iterations, loss, error and hyper-parameters."""

from __future__ import annotations

import argparse
from pathlib import Path

import lsat_explorer as lsat
from lsat_explorer.commands.errors import CommandError, user_input

SUMMARY = "print what a saved run came to"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer show`."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="a folder that `tune --out` or `Run.save` wrote")


def run(args: argparse.Namespace) -> int:
    """Print the summary, and draw the curves where `tune` has not drawn them."""
    folder: Path = args.folder
    if not folder.is_dir():
        raise CommandError(f"There is no folder {folder}; `lsat-explorer tune --out {folder}` makes one.")
    with user_input():
        loaded, model = lsat.Run.load(folder), lsat.FittedModel.load(folder / "model.safetensors")
    from lsat_explorer.commands.summary import CURVES, summary, write_curves

    with user_input():
        curves = folder / CURVES
        print(summary(loaded, model, curves if curves.exists() else write_curves(loaded, folder)))
    return 0
