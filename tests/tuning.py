"""What the tests of `lsat-explorer tune` share: a quick recipe in a file, and the table that is printed."""

from __future__ import annotations

import re
from pathlib import Path

import lsat_explorer as lsat


def write_recipe(folder: Path, **choices: object) -> str:
    """Write a recipe that takes ten quick steps on the digits."""
    choices = {"loss": lsat.CrossEntropy(), "method": lsat.ProximalGradient(step=100.0, max_iterations=10)} | choices
    path = folder / "recipe.json"
    path.write_text(lsat.Recipe(**choices).to_json())
    return str(path)


def table(text: str) -> dict[str, str]:
    return dict(re.split(r" {2,}", line, maxsplit=1) for line in text.splitlines())
