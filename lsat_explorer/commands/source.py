"""The options that name the data of a command, and the data they name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lsat_explorer.data import Data, datasets

MNIST_ONLY = ("size", "deskew", "scale")
PARQUET_ONLY = ("target", "validation", "test", "folder")


def add_data_arguments(parser: argparse.ArgumentParser, *, required: bool = True, why: str = "") -> None:
    """Declare `--data` and what goes with it; ``why`` says what it is for where it may be left out."""
    told = f"scikit-learn's digits, a folder of MNIST's IDX files, Parquet (a file, or a folder of them), or CSV{why}"
    parser.add_argument("--data", required=required, metavar="digits|DIR|FILE", help=told)
    parser.add_argument("--seed", type=int, default=0, help="the split into training, validation and test (default: 0)")
    group = parser.add_argument_group("options of a folder of MNIST")
    group.add_argument("--size", type=int, help="training and validation rows together (default: 50000)")
    group.add_argument("--deskew", action="store_true", default=None, help="straighten the digits")
    group.add_argument("--scale", choices=["raw", "unit", "standard"], help="of the pixels (default: raw, 0 to 255)")
    group = parser.add_argument_group("options of CSV, whose rows --seed divides, and of Parquet")
    group.add_argument("--target", metavar="COLUMN", help="the column to predict; all others are features")
    group = parser.add_argument_group("options of Parquet, whose rows --data are to train")
    group.add_argument("--validation", type=Path, metavar="PATH", help="Parquet with the rows to validate")
    group.add_argument("--test", type=Path, metavar="PATH", help="Parquet with the rows to test (default: none)")
    group.add_argument("--folder", type=Path, help="where rows are copied to, seen by all workers of dask")


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
    given = {name: getattr(args, name) for name in (*MNIST_ONLY, *PARQUET_ONLY)}
    chosen = {name: value for name, value in given.items() if value is not None}
    if _is_parquet(args.data):
        _refuse(chosen, MNIST_ONLY, "a folder of MNIST")
        for name in ("target", "validation"):
            if name not in chosen:
                raise ValueError(f"--data is Parquet and --{name} is not given; name the {_LACKING[name]}.")
        return Data.from_rows(Path(args.data), name=Path(args.data).stem, **chosen)
    if _is_csv(args.data):
        _refuse(chosen, MNIST_ONLY, "a folder of MNIST")
        _refuse(chosen, ("validation", "test", "folder"), "Parquet")
        if "target" not in chosen:
            raise ValueError(f"--data is CSV and --target is not given; name the {_LACKING['target']}.")
        return datasets.from_csv(args.data, args.target, seed=args.seed)
    if args.data != "digits" and Path(args.data).is_file():
        raise ValueError(
            f"{args.data} is a file and not Parquet; --data takes digits, a folder of MNIST's IDX files, .parquet, or "
            f".csv, plain or compressed."
        )
    _refuse(chosen, PARQUET_ONLY, "Parquet")
    if args.data != "digits":
        return datasets.mnist(Path(args.data), seed=args.seed, **chosen)
    _refuse(chosen, MNIST_ONLY, "a folder of MNIST")
    return datasets.digits(seed=args.seed)


_LACKING = {"target": "column to predict", "validation": "Parquet with the rows to validate"}


def _is_parquet(data: str) -> bool:
    path = Path(data)
    return path.suffix == ".parquet" or (path.is_dir() and next(path.glob("*.parquet"), None) is not None)


def _is_csv(data: str) -> bool:
    return any(data.lower().endswith(f".csv{ending}") for ending in ("", ".gz", ".bz2", ".xz", ".zip", ".zst"))


def _refuse(chosen: dict[str, Any], names: tuple[str, ...], kind: str) -> None:
    for name in names:
        if name in chosen:
            raise ValueError(f"--{name} goes with {kind}; leave it out with other data.")
