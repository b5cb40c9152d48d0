"""Run a benchmark, which prints its figures beside those to compare with."""

from __future__ import annotations

import argparse
from importlib import import_module

from lsat_explorer.commands.errors import CommandError

SUMMARY = "run a benchmark"
# Each module has `add_arguments(parser)` and `run(args)`, as a command has; it is imported when it is asked for.
BENCHES: dict[str, str] = {
    "gpu": "lsat_explorer.bench.gpu",
    "gram": "lsat_explorer.bench.gram",
    "live": "lsat_explorer.bench.live",
    "memory": "lsat_explorer.bench.memory",
    "methods": "lsat_explorer.bench.methods",
    "noise": "lsat_explorer.bench.noise",
    "paper": "lsat_explorer.bench.paper",
    "peers": "lsat_explorer.bench.peers",
    "scale": "lsat_explorer.bench.scale",
    "step": "lsat_explorer.bench.step",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench`."""
    names = sorted(BENCHES)
    # Not required of argparse, whose sentence would name the remaining words too, and not the choices.
    parser.add_argument("name", nargs="?", choices=names, help="the benchmark; `bench NAME --help` shows its options")
    parser.add_argument("options", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    # The benchmark's own parser is of the class that made this one, for the same form of errors.
    parser.set_defaults(parser_class=type(parser))


def run(args: argparse.Namespace) -> int:
    """Hand the remaining words to the benchmark.

    Raises
    ------
    CommandError
        When no benchmark is named.
    """
    if args.name is None:
        raise CommandError(
            f"Name a benchmark: `lsat-explorer bench NAME`, where NAME is {' or '.join(sorted(BENCHES))}."
        )
    module = import_module(BENCHES[args.name])
    parser = args.parser_class(prog=f"lsat-explorer bench {args.name}", description=module.__doc__)
    module.add_arguments(parser)
    return int(module.run(parser.parse_args(args.options)))
