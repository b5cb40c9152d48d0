"""The command line, `lsat-explorer` or `python -m lsat_explorer`: lab, data, tune, show, predict, bench."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from lsat_explorer import __version__
from lsat_explorer.commands import COMMANDS
from lsat_explorer.commands.errors import INTERRUPTED, USAGE, CommandError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence, as every other error of the command line."""

    def error(self, message: str) -> NoReturn:
        """Print the message as one line on stderr and exit with code 2."""
        self.exit(USAGE, f"{self.prog}: {message} (`{self.prog} --help` shows what is understood).\n")


def build_parser() -> Parser:
    """Assemble the parser of all the commands of `COMMANDS`."""
    parser = Parser(prog="lsat-explorer", description="Least squares auto-tuning, explored in JupyterLab.")
    parser.add_argument("--version", action="version", version=f"lsat-explorer {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, path in COMMANDS.items():
        module = import_module(path)
        subparser = subparsers.add_parser(name, help=module.SUMMARY, description=module.__doc__)
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run)
    return parser


def ended(sentence: str) -> str:
    """Return a sentence with one mark at its end: a full stop, unless it asks something.

    Examples
    --------
    >>> ended("There is no run in runs/a"), ended("did you mean 'Ridge'?")
    ('There is no run in runs/a.', "did you mean 'Ridge'?")
    """
    bare = sentence.rstrip().rstrip(".")
    return bare if bare.endswith("?") else f"{bare}."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after the program's name; those of the process when absent.

    Returns
    -------
    int
        The exit code: 0, 1 where something outside failed, 2 for bad input, 130 after Ctrl-C.

    Examples
    --------
    >>> main(["show", "no-such-run"])
    2
    """
    try:
        args = build_parser().parse_args(argv)
        return int(args.run(args))
    except CommandError as error:
        print(f"lsat-explorer: {ended(str(error))}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("lsat-explorer: interrupted; nothing was saved.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
