"""Run the long checks, and write what they found into docs/reliability.md.

`python scripts/reliability.py soak` (`make soak`) and `… fuzz` (`make fuzz`) each run their tests for long, and put the
rows that these recorded between the two marks of that command in the page. The rows of the other command stay.

A test records a row by :func:`record`. It appends one line of JSON, with the keys of :class:`Row`, to the file that the
environment variable LSAT_RELIABILITY names, and does nothing where that is unset: a short run writes no figures.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from machine import ROOT, environment

PAGE = ROOT / "docs" / "reliability.md"
PLACE, COMMAND = "LSAT_RELIABILITY", "LSAT_RELIABILITY_COMMAND"


@dataclass(frozen=True)
class Row:
    """What one long test tried and what came of it.

    Parameters
    ----------
    what : str
        The demand, as a few words: "kill -9 at random moments".
    tried : str
        How much of it: "200 kills".
    outcome : str
        What was found, with its figures: "nothing lost since the last checkpoint, no half file".
    seconds : float
        How long that took.
    command : str
        The command that it is part of.
    date : str
        The day, as 2026-01-31.
    """

    what: str
    tried: str
    outcome: str
    seconds: float
    command: str
    date: str


def record(what: str, tried: str, outcome: str, seconds: float) -> None:
    """Append a row to the file that LSAT_RELIABILITY names, if it names one.

    Examples
    --------
    >>> record("spoilt recipes", "100,000 texts", "read or refused in a sentence, nothing touched", 312.0)
    """
    path = os.environ.get(PLACE)
    if path:
        today = datetime.now(UTC).date().isoformat()
        row = Row(what, tried, outcome, round(seconds, 1), os.environ.get(COMMAND, "pytest"), today)
        with open(path, "a", encoding="utf-8") as out:  # one write a line: tests in several processes may append
            out.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class Long:
    """A command of long checks: its tests, and the environment that makes them long."""

    tests: tuple[str, ...]
    environment: dict[str, str]


COMMANDS = {
    "soak": Long(("tests/test_soak.py", "tests/test_kills.py", "tests/browser/test_soak_page.py"), {"LSAT_SOAK": "1"}),
    "fuzz": Long(
        ("tests/test_recipe_fuzz.py", "tests/test_any_input.py", "tests/test_spoilt_files.py"),
        {"LSAT_FUZZ": "30", "LSAT_FUZZ_SECONDS": "300"},
    ),
}


def read(path: Path) -> list[Row]:
    """Return the rows that tests have recorded in a file, in their order."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Row(**json.loads(line)) for line in lines]


def table(rows: Iterable[Row]) -> str:
    """Return rows as a table in Markdown; a sign that would end a cell is escaped."""
    lines = ["| what | tried | outcome | seconds | date |", "|---|---|---|---|---|"]
    for row in rows:
        cells = (row.what, row.tried, row.outcome, f"{row.seconds:,.0f}", row.date)
        lines.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def written(page: str, command: str, rows: Sequence[Row]) -> str:
    """Return the page with other rows between the two marks of a command.

    Raises
    ------
    ValueError
        When the page has not just one pair of marks for the command.
    """
    begin, end = f"<!-- {command}: begin -->", f"<!-- {command}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(
            f"The page has {page.count(begin)} of {begin} and {page.count(end)} of {end}: want one of each."
        )
    where = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    block = f"{begin}\nWritten by `make {command}` ({where}).\n\n{table(rows)}\n{end}"
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, page, flags=re.DOTALL)


def main(words: Sequence[str]) -> int:
    """Run the tests of a command and write its rows; return the exit code of the tests, which failed ones make 1."""
    if len(words) != 1 or words[0] not in COMMANDS:
        sys.exit(f"Want one of {', '.join(COMMANDS)}, got {' '.join(words) or 'nothing'}.")
    (command,) = words
    long = COMMANDS[command]
    tests = [name for name in long.tests if (ROOT / name).exists()]
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "rows.jsonl"
        names = {**environment(), **long.environment, PLACE: str(found), COMMAND: f"make {command}"}
        pytest = [sys.executable, "-m", "pytest", "-q", "-s", *tests]
        code = subprocess.run(pytest, cwd=ROOT, env=names, check=False).returncode
        rows = read(found)
    if code == 0:  # figures of a run that failed are no figures
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), command, rows), encoding="utf-8")
        print(table(rows))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
