"""Predict the rows of a table, CSV or Parquet, with a saved model, and write labels and probabilities as CSV."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pandas as pd

import lsat_explorer as lsat
from lsat_explorer.commands.errors import user_input
from lsat_explorer.commands.folders import path_of
from lsat_explorer.commands.output import say, shows_progress, to_output
from lsat_explorer.commands.source import add_table_arguments, refuse_csv_options, told_as_options
from lsat_explorer.data.by_name import coded_columns
from lsat_explorer.data.frames import other_separator
from lsat_explorer.data.from_files import frame_in
from lsat_explorer.data.whole_file import file_to_write, whole_file
from lsat_explorer.tune.fitted import FittedModel

SUMMARY = "predict the rows of a table with a saved model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer predict`."""
    saved = "a folder that `tune --out` or `Run.save` wrote, or the file of a model"
    parser.add_argument("model", type=path_of, metavar="RUN|MODEL", help=saved)
    told = "the table, CSV or Parquet, with the columns that the model was tuned on"
    parser.add_argument("--data", required=True, type=os.path.expanduser, metavar="FILE", help=told)
    add_table_arguments(parser)
    parser.add_argument("--out", type=path_of, metavar="FILE.csv", help="the file to write (default: standard output)")
    parser.add_argument("--overwrite", action="store_true", help="replace the file that --out names")


def run(args: argparse.Namespace) -> int:
    """Write a row for each row of the table: its name, the prediction, the probabilities where the model has some."""
    with user_input():
        folder = args.model.is_dir()
        file = args.model / "model.safetensors" if folder else args.model
        if args.out is not None:
            refuse_to_overwrite(args.out, {"the table of --data": Path(args.data), "the model": file}, args.overwrite)
        if folder:
            lsat.Run.load(args.model)  # says what is the matter with a folder that is no whole run
        model = FittedModel.load(file)
        given = {name: getattr(args, name) for name in ("index", "drop", "separator", "decimal")}
        how = {name: value for name, value in given.items() if value is not None}
        with told_as_options():
            refuse_csv_options(args)
            frame = frame_in(args.data, texts=coded_columns(model.feature_names), progress=shows_progress(), **how)
            refuse_joined_columns(args.data, frame, model)
            table = predictions(model, frame)
        if args.out is None:
            with to_output():
                table.to_csv(sys.stdout)
        else:
            with whole_file(args.out) as file:
                table.to_csv(file)
            say(f"{len(table):,} predictions are in {args.out}.", f"They are whole in {args.out}.")
    return 0


def refuse_to_overwrite(out: Path, read: dict[str, Path], allowed: bool) -> None:
    """Keep what is read, and an older file, from being lost; before the work, not after it.

    Parameters
    ----------
    out : Path
        The file to write.
    read : dict of str to Path
        What is read, by what it is.
    allowed : bool
        Whether overwriting another file was asked for.

    Raises
    ------
    ValueError
        When ``out`` is what is read, also by another name, is there already, or is no file.
    FileNotFoundError
        When there is no folder to put it in.
    """
    target = file_to_write(out)
    if not target.exists():
        return
    for what, path in read.items():
        if path.exists() and target.samefile(path):
            raise ValueError(f"--out {out} is {what}, which would be lost; name another file.")
    if not allowed:
        raise ValueError(f"{out} is there already; name another file, or add --overwrite.")


def refuse_joined_columns(path: str, frame: pd.DataFrame, model: FittedModel) -> None:
    """Refuse a table of one column whose name holds a separator, of which the model knows none.

    Raises
    ------
    ValueError
        With the separator to pass.
    """
    columns = [str(name) for name in frame.columns]
    between = other_separator(columns)
    if between is not None and columns[0] not in model.feature_names:
        raise ValueError(
            f"{path} has the one column {columns[0]!r}; if {between!r} stands between columns, pass "
            f"separator={between!r}."
        )


def predictions(model: FittedModel, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the rows of a frame: ``prediction``, and ``probability_LABEL`` where the loss gives some.

    Several outputs are ``prediction_HEIGHT``, ``prediction_WEIGHT``, ... by their names, or by 0, 1, ... without any.
    """
    predicted = model.predict(frame)
    names = ["prediction"]
    if predicted.ndim == 2:
        names = [f"prediction_{name}" for name in model.target_names or range(predicted.shape[1])]
    table = pd.DataFrame(predicted, columns=names, index=frame.index)
    if model.classes is not None and isinstance(model.loss, lsat.CrossEntropy):
        labels = [f"probability_{label}" for label in model.classes]
        table = table.join(pd.DataFrame(model.predict_proba(frame), columns=labels, index=frame.index))
    return table if any(table.index.names) else table.rename_axis("row")
