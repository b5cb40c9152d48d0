"""Run a benchmark, which prints its figures beside those to compare with."""

from __future__ import annotations

import argparse
from importlib import import_module

SUMMARY = "run a benchmark"
# Each module has `add_arguments(parser)` and `run(args)`, as a command has; it is imported when it is asked for.
BENCHES: dict[str, str] = {
    "paper": "lsat_explorer.bench.paper",
    "step": "lsat_explorer.bench.step",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench`."""
    parser.add_argument("name", choices=sorted(BENCHES), help="the benchmark; `bench NAME --help` shows its options")
    parser.add_argument("options", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    # The benchmark's own parser is of the class that made this one, for the same form of errors.
    parser.set_defaults(parser_class=type(parser))


def run(args: argparse.Namespace) -> int:
    """Hand the remaining words to the benchmark."""
    module = import_module(BENCHES[args.name])
    parser = args.parser_class(prog=f"lsat-explorer bench {args.name}", description=module.__doc__)
    module.add_arguments(parser)
    return int(module.run(parser.parse_args(args.options)))
