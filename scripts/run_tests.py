"""Run every check of the project, as `make test` does: style, types, tests, other frameworks, notebooks, a browser.

What this machine lacks (MNIST, Chromium) is left out and named, with the reason. The first step that fails ends it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from execute_notebooks import runnable
from machine import ROOT, chromium, environment, has_mnist, without_mnist


def python(*words: str) -> list[str]:
    """Return the command line of a module of this Python."""
    return [sys.executable, "-m", *words]


LINT = [python("ruff", "check", "."), python("ruff", "format", "--check", "."), python("mypy")]
# The frameworks are in an environment of their own, where `make interop` runs their tests: here they would be skipped.
TESTS = python("pytest", "-n", "2", "--ignore=tests/browser", "--ignore=tests/test_interop.py")
INTEROP = ["make", "--no-print-directory", "interop"]
NOTEBOOKS = python(
    "pytest",
    "--nbval",
    "--nbval-current-env",
    "--nbval-sanitize-with=tests/nbval.cfg",
    "--nbval-cell-timeout=300",
    "-n",
    "2",
    "--dist=loadscope",
)
BROWSER = python("pytest", "tests/browser")


def install_chromium() -> None:
    """Install Chromium where the tests may: as root, with apt; a failure is left to the message that follows."""
    if chromium() is None and hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        print("installing Chromium for the browser tests", flush=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update", "-qq"], ["install", "-y", "-qq", "chromium"]):
            subprocess.run(["apt-get", *words], env=quiet, stdout=subprocess.DEVNULL, check=False)


def steps(words: Sequence[str]) -> list[list[str]]:
    """Return the command lines to run: all of them, or those of the parts that are named."""
    parts = {"lint": LINT, "tests": [TESTS], "interop": [INTEROP], "notebooks": [], "browser": [BROWSER]}
    if unknown := [word for word in words if word not in parts]:
        sys.exit(f"There is no part {unknown[0]!r}; the parts are {', '.join(parts)}.")
    chosen = words or list(parts)
    if not has_mnist() and {"tests", "browser"} & set(chosen):
        print(f"left out: the tests marked mnist, because {without_mnist()}", flush=True)
    if "notebooks" in chosen:
        parts["notebooks"] = [[*NOTEBOOKS, *map(str, runnable())]]
    if "browser" in chosen:
        install_chromium()
        if chromium() is None:
            print("left out: tests/browser, because there is no Chromium and it could not be installed", flush=True)
            parts["browser"] = []
    return [step for part in parts if part in chosen for step in parts[part]]


def main(words: Sequence[str]) -> int:
    """Run the steps in order; return the exit code of the first that fails."""
    for step in steps(words):
        print(f"\n$ {' '.join(step).replace(sys.executable, 'python')}", flush=True)
        code = subprocess.run(step, cwd=ROOT, env=environment(), check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
