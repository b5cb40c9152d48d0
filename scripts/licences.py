"""Write docs/licences.md: the licence of every pinned package, as its own metadata tell it.

`python scripts/licences.py` writes the page; a test holds that it is up to date, and that every licence is one that a
project under the MIT licence may be distributed beside, or stands below with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageMetadata, metadata

from machine import ROOT

PAGE = ROOT / "docs" / "licences.md"
PERMISSIVE = re.compile(
    r"(3-Clause )?BSD( License)?|BSD[- ]\(?[23]-[Cc]lause\)?|0BSD|MIT( License)?|MIT-0|MIT-CMU"
    r"|ISC( License)?( \(ISCL)?|Apache([- ]2\.0| License.*| Software License)?|LLVM-exception"
    r"|PSF-2\.0|Python Software Foundation License|Zlib|CC0-1\.0|BSL-1\.0"
)
"""Licences that ask for no more than that their text is kept."""

_FILES_ONLY = "the MPL covers its own files alone, which are used as they are and not shipped here"
EXCEPTIONS = {
    "axe-playwright-python": "its licence file is that of MIT; the metadata name none",
    "certifi": _FILES_ONLY,
    "docutils": "public domain and BSD but for one Emacs file under the GPL, which is neither used nor shipped here",
    "fqdn": _FILES_ONLY,
    "hypothesis": f"{_FILES_ONLY}; only tests need it",
    "pathspec": f"{_FILES_ONLY}; only builds and checks need it",
    "tqdm": _FILES_ONLY,
}
"""Packages whose licence is another one, and why they may stand among the dependencies."""


@dataclass(frozen=True)
class Licence:
    """What a pinned package says of its licence."""

    name: str
    version: str
    words: str

    @property
    def permissive(self) -> bool:
        """Whether every licence that the words name is permissive."""
        parts = re.split(r" AND | OR | WITH |; ", self.words)
        return all(PERMISSIVE.fullmatch(part.strip("() ")) for part in parts)


def pinned() -> Iterator[Licence]:
    """Yield the licence of each package in constraints.txt that is installed here, in the version that is."""
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        name, _, version = line.partition("==")
        if version and not line.startswith("#"):
            yield Licence(name, version, words_of(metadata(name)))


def words_of(said: PackageMetadata) -> str:
    """Return the licence that the metadata of a package name: an expression, classifiers, or free words."""
    if "License-Expression" in said:
        return said["License-Expression"]
    classified = [c.rpartition("::")[2].strip() for c in said.get_all("Classifier") or [] if c.startswith("License ::")]
    named = [name for name in classified if name != "OSI Approved"]
    return "; ".join(named) or " ".join(" ".join(said.get_all("License") or []).split())[:60] or "not named"


def page(licences: list[Licence]) -> str:
    """Return the page of the licences, sorted as constraints.txt is."""
    lines = [
        "# Licences of what lsat_explorer is run, built and tested with",
        "",
        "Written by `python scripts/licences.py` from the metadata of the packages that `constraints.txt` pins. None",
        "of them is shipped with lsat_explorer, which is under the MIT licence.",
        "",
        "| package | version | licence | note |",
        "|---|---|---|---|",
    ]
    lines += [f"| {one.name} | {one.version} | {one.words} | {EXCEPTIONS.get(one.name, '')} |" for one in licences]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(list(pinned())), encoding="utf-8")
