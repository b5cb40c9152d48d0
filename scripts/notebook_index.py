"""Take a small picture from each executed notebook for the index, notebooks/README.md, and check that index.

`python scripts/notebook_index.py` writes the pictures into docs/gallery/; with `--check` it writes nothing and fails,
with a sentence for each fault, where the index, the folder and the pictures do not agree.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
import numpy as np
from PIL import Image

from machine import ROOT

FOLDER = ROOT / "notebooks"
GALLERY = ROOT / "docs" / "gallery"
CHOSEN = {
    "01_first_look": 0,
    "02_mnist_paper": 2,
    "03_featurizers": 1,
    "04_problems": 0,
    "05_one_percent": 1,
    "06_workbench": 2,
    "07_what_the_weights_say": 0,
    "08_regression": 2,
    "09_time_series": 2,
    "10_bring_your_own": 0,
    "11_with_scikit_learn": 0,
}
"""Which of a notebook's pictures stands for it, counted from 0; a notebook that is not named here takes its first."""

WIDTH, MOST_HEIGHT, COLOURS = 560, 350, 64
MOST_WORDS = 260  # a minute's reading
MOST_DIFFERENCE = 6.0  # of 255, in the mean over pixels: a time of 3.9 s or 4.1 s in the picture is no difference


def pictures(path: Path) -> Iterator[bytes]:
    """Yield the PNG pictures of an executed notebook in their order, also those inside HTML."""
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                yield base64.b64decode(data["image/png"])
            else:
                inside = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", data.get("text/html", ""))
                yield from map(base64.b64decode, inside)


def small(path: Path) -> Image.Image:
    """Return the notebook's chosen picture, small, its upper part where it is tall, in few colours.

    Raises
    ------
    ValueError
        When the notebook holds no such picture.
    """
    found = list(pictures(path))
    chosen = CHOSEN.get(path.stem, 0)
    if chosen >= len(found):
        raise ValueError(
            f"{path.name} holds {len(found)} pictures and number {chosen} was chosen: execute it, or choose."
        )
    whole = Image.open(io.BytesIO(found[chosen])).convert("RGB")
    scaled = whole.resize((WIDTH, round(whole.height * WIDTH / whole.width)), Image.Resampling.LANCZOS)
    return scaled.crop((0, 0, WIDTH, min(scaled.height, MOST_HEIGHT))).quantize(COLOURS, dither=Image.Dither.NONE)


def write(notebooks: Sequence[Path]) -> None:
    """Write the picture of each notebook into the gallery; one without a picture is left to `faults`."""
    GALLERY.mkdir(parents=True, exist_ok=True)
    for path in notebooks:
        with contextlib.suppress(ValueError):
            small(path).save(GALLERY / f"{path.stem}.png", optimize=True)


def faults(folder: Path = FOLDER) -> list[str]:
    """Say in a sentence each what is wrong with the index of a folder of notebooks; nothing where all agree."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s#]+)\)", text) + re.findall(r'(?:src|href)="([^"#]+)"', text)
    found = [f"The index leads to {link}, which is not there." for link in links if dead(folder, link)]
    notebooks = sorted(folder.glob("*.ipynb"))
    listed = Counter(re.findall(r"^\| .*\*\*\[[^\]]*\]\((\w+\.ipynb)\)\*\*", text, re.MULTILINE))
    found += [
        f"The index lists {path.name} {listed[path.name]} times, expected once."
        for path in notebooks
        if listed[path.name] != 1
    ]
    words = len(re.findall(r"\w{2,}", re.sub(r"\(.*?\)|<.*?>", "", text)))
    if words > MOST_WORDS:
        found.append(f"The index has {words} words, at most {MOST_WORDS}: shorten it.")
    return found + [fault for path in notebooks for fault in picture_faults(folder, path, links)]


def dead(folder: Path, link: str) -> bool:
    """Say whether a link of the index leads nowhere."""
    return "://" not in link and not (folder / link).exists()


def picture_faults(folder: Path, path: Path, links: Sequence[str]) -> list[str]:
    """Say what is wrong with the picture of one notebook."""
    place = folder.parent / "docs" / "gallery" / f"{path.stem}.png"
    link = f"../docs/gallery/{place.name}"
    if link not in links:
        return [f"The index does not show {link}, the picture of {path.name}."]
    try:
        now = small(path).convert("RGB")
    except ValueError as error:
        return [str(error)]
    if not place.exists():
        return []  # a dead link, which is named already
    with Image.open(place) as picture:
        kept = picture.convert("RGB")
    if kept.size == now.size:
        difference = np.abs(np.asarray(kept, dtype=float) - np.asarray(now, dtype=float)).mean()
        if difference <= MOST_DIFFERENCE:
            return []
    return [f"{place.name} is not the picture that {path.name} holds now: `python scripts/notebook_index.py` takes it."]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the pictures, or check the index; return 1 when it is at fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail where index and folder disagree")
    args = parser.parse_args(argv)
    if not args.check:
        write(sorted(FOLDER.glob("*.ipynb")))
    found = faults()
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
