"""The report of a run: its page, its still picture, and how both come about."""

from __future__ import annotations

import base64
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data.whole_file import whole_file
from ..plots import explorer_picture, run_figure, weights_figure
from ..plots.curves import count_text, number_text
from ..plots.pixels import as_picture
from ..plots.words import weight_places, weight_text
from . import page, words

if TYPE_CHECKING:
    from ..data.data import Data
    from ..tune.run import Run

__all__ = ["Report", "report_of"]

_ACROSS = 10  # lightest rows, and as many heaviest
_WIDTH = 1_000  # css pixels of the still picture
_DPI = 150

_OTHERS = {".pdf", ".png", ".jpg", ".jpeg", ".svg", ".md", ".txt", ".ipynb", ".docx"}
"""Endings of names that promise something else than a page."""


@dataclass(frozen=True, repr=False)
class Report:
    """A run as one page of HTML that stands alone. A notebook shows its still picture: curves, numbers, thumbnails.

    Attributes
    ----------
    html : str
        The page: no scripts, nothing from the network, pictures inside; light or dark as the reader's system is.
    png : bytes
        The still picture.
    """

    html: str
    png: bytes

    def __repr__(self) -> str:
        return "Report of a run: save(path) writes it as a page"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, str], dict[str, Any]]:
        # A picture, and not the page: code hosts and readers of untrusted notebooks show no frame with a page in it.
        picture = base64.b64encode(self.png).decode("ascii")
        return {"text/plain": repr(self), "image/png": picture}, {"image/png": {"width": _WIDTH}}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; an old file stays until the new one is whole.

        Parameters
        ----------
        path : str or path
            The file, such as ``"report.html"``. Its folder is made where there is none.

        Raises
        ------
        ValueError
            When the path is a folder, or something else that is no file, or its name ends as that of another format.
        """
        target = Path(path).expanduser()
        if target.suffix.lower() in _OTHERS:
            page = target.with_suffix(".html")
            raise ValueError(
                f"{path} is no name of a page of HTML: give {page}, which a browser prints as PDF or paper."
            )
        if target.is_dir():
            raise ValueError(f"{path} is a folder: give a file, such as {target / 'report.html'}.")
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as file:
            file.write_text(self.html, encoding="utf-8", errors="xmlcharrefreplace")


def report_of(run: Run, path: str | os.PathLike[str] | None = None, *, name: str = "") -> Report:
    """Return the report of a run as it is now.

    Parameters
    ----------
    run : Run
        With at least its starting point. One that was loaded without its rows shows what the files hold: no
        thumbnails, and no weights where the rows would have to say them.
    path : str or path, optional
        A file to write the page to.
    name : str
        The heading; the name of the data where it is empty.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        When the run has not started.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> run = lsat.tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
    >>> report_of(run, name="ridge alone")
    Report of a run: save(path) writes it as a page
    """
    words.begun(run)
    weights = words.weights(run)
    chosen = _extremes(weights)
    title = name or words.data_name(run).split(" · ")[0].split(":")[0]
    sections = [
        page.section("What came of it", *map(page.paragraph, words.story(run))),
        page.section("Curves", page.drawing(_curves(run), "Validation loss, step size t and stopping residual")),
        page.section("Hyper-parameters", _omega(run), _columns(run)),
        _weights(run, weights, chosen),
        _iterates(run),
        page.section(
            "Recipe", page.code("As Python", run.recipe.to_source()), page.code("As JSON", run.recipe.to_json())
        ),
        page.section("Where it comes from", page.facts(words.origin(run))),
    ]
    report = Report(page.page(title, words.data_name(run), sections), _still(run, weights, chosen, title))
    if path is not None:
        report.save(path)
    return report


def _curves(run: Run) -> bytes:
    return run_figure(run.iterates.table(), run.recipe.method.tolerance, judging=run.recipe.criterion.judging).png(_DPI)


def _omega(run: Run) -> str:
    return page.table(words.OMEGA, words.omega(run), words=3, wrapped=True)


def _columns(run: Run) -> str:
    heading, rows = words.columns(run)
    return page.table(heading, rows, words=1) if rows else ""


def _iterates(run: Run) -> str:
    numbers = words.listed(len(run.iterates))
    rows = words.iterates(run, numbers)
    kept = run.kept.number
    marked = numbers.index(kept) if kept in numbers else None
    note = f"The values of iterate {kept:,} are kept."
    if len(numbers) < len(run.iterates):
        note = f"{note} Shown are {len(numbers)} of {len(run.iterates):,}; a saved run has all of them in iterates.csv."
    return page.section("Iterates", page.paragraph(note), page.table(words.ITERATES, rows, marked=marked))


def _extremes(weights: NDArray[np.float64] | None) -> tuple[list[int], list[int]]:
    """Return the positions of the lightest and of the heaviest rows, none where no row differs from another."""
    if weights is None or len(weights) < 2 or np.ptp(weights) == 0:
        return [], []
    order = np.argsort(weights, kind="stable")
    count = min(_ACROSS, len(order) // 2)
    return order[:count].tolist(), order[::-1][:count].tolist()


def _weights(run: Run, weights: NDArray[np.float64] | None, chosen: tuple[list[int], list[int]]) -> str:
    heading = "Weights of the training rows"
    if weights is None:
        return page.section(heading, page.paragraph(words.no_weights(run)))
    reach = f"From {number_text(weights.min())} to {number_text(weights.max())} over {count_text(len(weights), 'row')}."
    parts = [page.paragraph(reach), page.drawing(weights_figure(weights).png(_DPI), f"Histogram. {reach}")]
    if run.data is not None:
        for kind, rows in zip(("Lightest", "Heaviest"), chosen, strict=True):
            parts += [page.section(f"{kind} rows", _rows(run.data, weights, rows))] if rows else []
    return page.section(heading, *parts)


def _rows(data: Data, weights: NDArray[np.float64], rows: list[int]) -> str:
    """Return rows as thumbnails, or as a table where they are no images."""
    places = weight_places(weights)
    said = [(words.given(data.train.labels[i]), weight_text(weights[i], places), data.train.rows[i]) for i in rows]
    if data.image_shape is None:
        return page.table(("label" if data.classes else "target", "weight", "row"), said, words=1)
    pictures = map(_png, data.images("train", rows))
    return page.tiles(page.Tile(png, *caption) for png, caption in zip(pictures, said, strict=True))


def _png(image: NDArray[np.generic]) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(as_picture(image)).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _still(run: Run, weights: NDArray[np.float64] | None, chosen: tuple[list[int], list[int]], title: str) -> bytes:
    data, rows = run.data, [i for group in chosen for i in group]
    images = None if data is None or data.image_shape is None or not rows else data.images("train", rows)
    captions = []
    if images is not None and weights is not None:
        places = weight_places(weights)
        captions = [(data.train.labels[i], weight_text(weights[i], places), data.train.rows[i]) for i in rows]
    tolerance = run.recipe.method.tolerance
    groups = ("Lightest", "Heaviest") if captions else ()
    history = run.iterates.table()
    return explorer_picture(
        history, tolerance, images, captions, run.message, title, groups=groups, judging=run.recipe.criterion.judging
    )
