"""The options that name the data of a command, and the data they name."""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from lsat_explorer.commands.folders import path_of
from lsat_explorer.commands.output import shows_progress
from lsat_explorer.data import Data, datasets
from lsat_explorer.data.missing import Missing
from lsat_explorer.data.separators import TABLES, separator_of, table_ending
from lsat_explorer.model.piece import nearest

MNIST_ONLY = ("size", "deskew", "scale")
PARQUET_ONLY = ("validation", "test", "folder")
CSV_ONLY = ("separator", "decimal")
TABLE_ONLY = ("index", "drop", "categories", "missing", *CSV_ONLY)


def add_data_arguments(parser: argparse.ArgumentParser, *, required: bool = True, why: str = "") -> None:
    """Declare `--data` and what goes with it; ``why`` says what it is for where it may be left out."""
    told = f"scikit-learn's digits, a folder of MNIST's IDX files, Parquet (a file, or a folder of them), or CSV{why}"
    parser.add_argument("--data", type=os.path.expanduser, required=required, metavar="digits|DIR|FILE", help=told)
    parser.add_argument("--seed", type=int, default=0, help="the split into training, validation and test (default: 0)")
    group = parser.add_argument_group("options of a folder of MNIST")
    group.add_argument("--size", type=int, help="training and validation rows together (default: 50000)")
    group.add_argument("--deskew", action="store_true", default=None, help="straighten the digits")
    group.add_argument("--scale", choices=["raw", "unit", "standard"], help="of the pixels (default: raw, 0 to 255)")
    group = parser.add_argument_group("options of CSV, whose rows --seed divides, and of Parquet")
    target = "the column to predict; may be given again for several of numbers; all others are features"
    group.add_argument("--target", action="append", metavar="COLUMN", help=target)
    add_table_arguments(group)
    group.add_argument("--missing", choices=get_args(Missing), help="what missing entries are filled with")
    categories = "a column of categories, whatever it holds; may be given again"
    group.add_argument("--categories", action="append", metavar="COLUMN", help=categories)
    group = parser.add_argument_group(
        "options of Parquet, whose rows --data are to train, where none of those is given"
    )
    group.add_argument("--validation", type=path_of, metavar="PATH", help="Parquet with the rows to validate")
    group.add_argument("--test", type=path_of, metavar="PATH", help="Parquet with the rows to test (default: none)")
    group.add_argument("--folder", type=path_of, help="where rows are copied to, seen by all workers of dask")


def add_table_arguments(group: argparse._ActionsContainer) -> None:
    """Declare how a table in a file is read."""
    group.add_argument("--index", action=_Once, metavar="COLUMN", help="the column that names the rows")
    group.add_argument("--drop", action="append", metavar="COLUMN", help="a column to leave out; may be given again")
    separates = r"what stands between two entries of CSV, \s+ for any spaces (default: a comma; a tab in .tsv and .tab)"
    group.add_argument("--separator", type=separator, metavar="TEXT", help=separates)
    decimal = "what stands before the decimals of a number in CSV (default: a point)"
    group.add_argument("--decimal", choices=[".", ","], help=decimal)


class _Once(argparse.Action):
    """Take one column alone: of two the first would become a feature."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        if before is not None:
            raise argparse.ArgumentError(self, f"it is {before!r} and {values!r}, expected one column; leave one out")
        setattr(namespace, self.dest, values)


def separator(text: str) -> str:
    r"""Return what separates entries of CSV, as it is given but for ``\t``, which a shell leaves as two characters.

    Raises
    ------
    ArgumentTypeError
        When there is nothing, the end of a line, or no text in UTF-8.

    Examples
    --------
    >>> separator(";"), separator(r"\t")
    (';', '\t')
    """
    if not text or "\n" in text or "\r" in text or text != text.encode(errors="replace").decode():
        raise argparse.ArgumentTypeError(
            f"it is {text!r}, expected what stands between two entries, such as ';'; leave it out where that is a comma"
        )
    return separator_of(Path(), text)


def refuse_csv_options(args: argparse.Namespace) -> None:
    """Refuse how CSV is read where `--data` is Parquet.

    Raises
    ------
    ValueError
        With the option.
    """
    if _is_parquet(args.data):
        _refuse({name: 0 for name in CSV_ONLY if getattr(args, name) is not None}, CSV_ONLY, "CSV")


def load_data(args: argparse.Namespace) -> Data:
    """Load what `--data` names.

    Raises
    ------
    ValueError
        When `--data` is a file of another kind, an option of one kind of data is given with another or one is lacking,
        or the loader refuses one.
    FileNotFoundError
        When the folder lacks MNIST's files.
    """
    with told_as_options():
        return _load(args)


def _load(args: argparse.Namespace) -> Data:
    given = {name: getattr(args, name) for name in ("target", *MNIST_ONLY, *PARQUET_ONLY, *TABLE_ONLY)}
    chosen = {name: value for name, value in given.items() if value is not None}
    if "target" in chosen:
        targets = chosen["target"]  # as one names them in Python, so that what was read is in the same cache
        chosen["target"] = targets[0] if len(targets) == 1 else targets
    if _is_parquet(args.data):
        _refuse(chosen, MNIST_ONLY, "a folder of MNIST")
        divided = "validation" not in chosen and any(name in chosen for name in TABLE_ONLY)
        for name in ("target",) if divided else ("target", "validation"):
            if name not in chosen:
                raise ValueError(f"--data is Parquet and --{name} is not given; name the {_LACKING[name]}.")
        _refuse(chosen, CSV_ONLY, "CSV")
        if divided:
            _refuse(chosen, ("test", "folder"), "--validation")
            return datasets.from_parquet(args.data, seed=args.seed, progress=shows_progress(), **chosen)
        _refuse(chosen, TABLE_ONLY, "CSV, or with Parquet without --validation, whose rows --seed divides")
        return Data.from_rows(Path(args.data), name=Path(args.data).stem, **chosen)
    if _is_csv(args.data):
        _refuse(chosen, MNIST_ONLY, "a folder of MNIST")
        _refuse(chosen, PARQUET_ONLY, "Parquet")
        if "target" not in chosen:
            raise ValueError(f"--data is CSV and --target is not given; name the {_LACKING['target']}.")
        return datasets.from_csv(args.data, seed=args.seed, progress=shows_progress(), **chosen)
    if args.data != "digits" and Path(args.data).is_file():
        raise ValueError(
            f"{args.data} is a file and not Parquet; --data takes digits, a folder of MNIST's IDX files, .parquet, or "
            f"{', '.join(TABLES)}, plain or compressed."
        )
    _refuse(chosen, ("target", *TABLE_ONLY), "CSV and Parquet")
    _refuse(chosen, PARQUET_ONLY, "Parquet")
    if args.data != "digits" and not Path(args.data).exists():
        meant = nearest(args.data, ["digits"])
        if "did you mean" in meant:
            raise ValueError(f"--data is {args.data}{meant}")
    if args.data != "digits":
        return datasets.mnist(Path(args.data), seed=args.seed, **chosen)
    _refuse(chosen, MNIST_ONLY, "a folder of MNIST")
    return datasets.digits(seed=args.seed)


_LACKING = {
    "target": "column to predict",
    "validation": "Parquet with the rows to validate, or have --seed divide the rows, by --missing refuse",
}
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_LEFT_OUT = re.compile(rf"X\.drop\(columns=(\[(?:{_TEXT})(?:, (?:{_TEXT}))*\])\)")
_OPTION = re.compile(rf"\b({'|'.join(('target', *TABLE_ONLY))})=(?:\[({_TEXT})\]|({_TEXT})|(?=[\s,;.]|$))")


@contextmanager
def told_as_options() -> Iterator[None]:
    """Name the option of the command line beside what a message advises in Python: ``drop=['id'] (--drop id)``.

    Raises
    ------
    ValueError
        In place of one inside.
    """
    try:
        yield
    except ValueError as error:
        words = _LEFT_OUT.sub(lambda found: _dropped(ast.literal_eval(found[1])), str(error))
        raise ValueError(_OPTION.sub(_as_option, words)) from error


def _dropped(columns: list[str]) -> str:
    return " ".join(f"--drop {shlex.quote(column)}" for column in columns)


def _as_option(found: re.Match[str]) -> str:
    name, value = found[1], found[2] or found[3]
    if value is None:
        return f"--{name}"
    written = ast.literal_eval(value)
    written = written.replace("\t", r"\t") if name == "separator" else written
    return f"{found[0]} (--{name} {shlex.quote(written)})"


def _is_parquet(data: str) -> bool:
    path = Path(data)
    return path.suffix.lower() == ".parquet" or (path.is_dir() and next(path.glob("*.parquet"), None) is not None)


def _is_csv(data: str) -> bool:
    return table_ending(Path(data)) in TABLES


def _refuse(chosen: dict[str, Any], names: tuple[str, ...], kind: str) -> None:
    for name in names:
        if name in chosen:
            raise ValueError(f"--{name} goes with {kind}; leave it out with other data.")
