"""Lines of a CSV file that hold more entries than its first line has names."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsat_explorer.data.frames import other_separator
from lsat_explorer.data.separators import as_one

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["refuse_long_lines"]


def refuse_long_lines(path: Path, head: bytes, separator: str, frame: pd.DataFrame) -> None:
    """Refuse a first line of entries with more of them than names, of which pandas makes an index.

    Parameters
    ----------
    path : Path
        The file, for errors.
    head : bytes
        What its text begins with.
    separator : str
        What stands between two entries.
    frame : DataFrame
        What pandas made of the file.

    Raises
    ------
    ValueError
        With the line, how many entries it has, and what to do.
    """
    import pandas as pd

    try:
        how: dict[str, Any] = {"header": None, "nrows": 2, "dtype": str, "encoding_errors": "replace"}
        pd.read_csv(io.BytesIO(head), sep=as_one(separator), **how)
    except pd.errors.ParserError as error:
        reason = " ".join(str(error).split()).rstrip(".")
    else:
        return
    advice, between = "look at its lines and separator", other_separator(list(frame.columns))
    if between is not None:
        advice = f"if {between!r} stands between columns, pass separator={between!r}, or else {advice}"
    elif frame.index.nlevels == 1 and frame.iloc[:, -1].isna().all():
        reason += ", the last one empty"
        advice = f"remove the {separator!r} at the end of the lines after the first"
    else:
        advice += ", and give each column a name in the first line"
    raise ValueError(f"{path} is no CSV that can be read ({reason}); {advice}")
