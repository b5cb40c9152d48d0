"""Print what a saved run came to: status, iterations, loss, error and hyper-parameters."""

from __future__ import annotations

import argparse
from pathlib import Path

import lsat_explorer as lsat
from lsat_explorer.commands.errors import CommandError, user_input
from lsat_explorer.commands.summary import CURVES, summary

SUMMARY = "print what a saved run came to"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer show`."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="a folder that `tune --out` or `Run.save` wrote")


def run(args: argparse.Namespace) -> int:
    """Print the summary; nothing is written."""
    folder: Path = args.folder
    if folder.is_file():
        raise CommandError(f"{folder} is a file; `show` takes the folder of a run, which `tune --out` wrote.")
    if not folder.is_dir():
        raise CommandError(f"There is no folder {folder}; `lsat-explorer tune --out {folder}` makes one.")
    with user_input():
        loaded, model = lsat.Run.load(folder), lsat.FittedModel.load(folder / "model.safetensors")
    curves = folder / CURVES
    print(summary(loaded, model, curves if curves.exists() else None))
    return 0
