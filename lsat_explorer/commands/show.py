"""Print what a saved run came to: status, iterations, loss, error and hyper-parameters; or write it as a page."""

from __future__ import annotations

import argparse
from pathlib import Path

import lsat_explorer as lsat
from lsat_explorer.commands.errors import CommandError, user_input
from lsat_explorer.commands.folders import path_of
from lsat_explorer.commands.output import say
from lsat_explorer.commands.source import add_data_arguments, load_data
from lsat_explorer.commands.summary import CURVES, summary

SUMMARY = "print what a saved run came to"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer show`."""
    parser.add_argument("saved", type=path_of, metavar="RUN", help="a folder that `tune --out` or `Run.save` wrote")
    parser.add_argument("--html", type=path_of, metavar="FILE", help="write a page with all that there is to see, too")
    add_data_arguments(parser, required=False, why="; with them the page shows the rows that weigh least and most")


def run(args: argparse.Namespace) -> int:
    """Print the summary; nothing is written but the page that `--html` names."""
    folder: Path = args.saved
    if folder.is_file():
        raise CommandError(f"{folder} is a file; `show` takes the folder of a run, which `tune --out` wrote.")
    if not folder.is_dir():
        raise CommandError(f"There is no folder {folder}; `lsat-explorer tune --out {folder}` makes one.")
    with user_input():
        loaded = lsat.Run.load(folder, None if args.data is None else load_data(args))
        model = lsat.FittedModel.load(folder / "model.safetensors")
        if args.html is not None:
            loaded.report(args.html, name=folder.resolve().name)
    curves = folder / CURVES
    files = {"curves": curves} if curves.exists() else {}
    say(summary(loaded, model, files | ({"page": args.html} if args.html else {}), folder))
    return 0
