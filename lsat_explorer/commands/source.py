"""The options that name the data of a command, and the data they name."""

from __future__ import annotations

import argparse
from pathlib import Path

from lsat_explorer.data import Data, datasets

MNIST_ONLY = ("size", "deskew", "scale")


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--data` and what goes with it."""
    parser.add_argument(
        "--data", required=True, metavar="digits|DIR", help="scikit-learn's digits, or a folder of MNIST's IDX files"
    )
    parser.add_argument("--seed", type=int, default=0, help="the split into training, validation and test (default: 0)")
    group = parser.add_argument_group("options of a folder of MNIST")
    group.add_argument("--size", type=int, help="training and validation rows together (default: 50000)")
    group.add_argument("--deskew", action="store_true", default=None, help="straighten the digits")
    group.add_argument("--scale", choices=["raw", "unit", "standard"], help="of the pixels (default: raw, 0 to 255)")


def load_data(args: argparse.Namespace) -> Data:
    """Load what `--data` names.

    Raises
    ------
    ValueError
        When an option of MNIST is given with the digits, or the loader refuses one.
    FileNotFoundError
        When the folder lacks MNIST's files.
    """
    chosen = {name: getattr(args, name) for name in MNIST_ONLY if getattr(args, name) is not None}
    if args.data != "digits":
        return datasets.mnist(Path(args.data), seed=args.seed, **chosen)
    if chosen:
        raise ValueError(f"--{next(iter(chosen))} goes with a folder of MNIST; leave it out with --data digits.")
    return datasets.digits(seed=args.seed)
