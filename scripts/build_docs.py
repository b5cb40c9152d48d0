"""Build the pages of the documentation, as `make docs` does: a page for each public name, the notebooks, the essays.

A warning fails the build. The pages stand alone: nothing is fetched when they are built or read.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from machine import ROOT


def build(target: Path) -> int:
    """Write the pages into a folder, whose old ones go, and return the exit code of Sphinx."""
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        # Sphinx writes a source for each name beside its own: into a copy, so that the checkout stays as it is.
        source = Path(place) / "docs"
        shutil.copytree(ROOT / "docs", source)
        shutil.copytree(ROOT / "notebooks", Path(place) / "notebooks")
        words = ["-q", "-W", "--keep-going", "-b", "html", "-d", f"{place}/read", str(source), str(target)]
        return subprocess.run([sys.executable, "-m", "sphinx", *words], check=False).returncode


def main(words: Sequence[str]) -> int:
    """Build into the folder that is named, `build/docs` otherwise."""
    target = ROOT / (words[0] if words else "build/docs")
    code = build(target)
    if code == 0:
        print(f"the pages begin at {target / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
