"""HTML of a page that stands alone: every text from a user is escaped, nothing is loaded and nothing runs."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

__all__ = ["Tile", "code", "drawing", "facts", "page", "paragraph", "section", "table", "tiles"]

# The page says so itself: a browser that reads it loads nothing and runs nothing, whatever names it holds.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_UNIT = re.compile(r"(?<=\d) (?=%|s\b)")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="under">{under}</p>
</header>
<main>
{main}
</main>
</body>
</html>
"""


@dataclass(frozen=True)
class Tile:
    """A row of the data as a small picture.

    Attributes
    ----------
    png : bytes
        The picture.
    label, weight, row : object
        What is written below it.
    """

    png: bytes
    label: object
    weight: object
    row: object


def page(title: object, under: object, sections: Iterable[str]) -> str:
    """Return the whole document.

    Parameters
    ----------
    title, under : object
        The heading and the line below it.
    sections : iterable of str
        HTML of `section`.

    Examples
    --------
    >>> "<script>" in page("<script>alert(1)</script>", "", [])
    False
    """
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    parts = {"title": escape(str(title)), "under": escape(str(under)), "main": "\n".join(sections)}
    return _PAGE.format(policy=_POLICY, style=style, **parts)


def section(heading: str, *parts: str) -> str:
    """Return a part of the page under its heading; empty parts are left out."""
    return "\n".join(["<section>", f"<h2>{escape(heading)}</h2>", *filter(None, parts), "</section>"])


def paragraph(text: object) -> str:
    """Return text as a paragraph, in which no unit stands on another line than its number.

    Examples
    --------
    >>> paragraph("a < b")
    '<p>a &lt; b</p>'
    """
    return f"<p>{escape(_UNIT.sub(chr(0xA0), str(text)))}</p>"


def drawing(png: bytes, alt: object) -> str:
    """Return a drawing on white, which the style sheet turns over where the page is dark."""
    return f'<img class="drawing" alt="{escape(str(alt))}" src="{_address(png)}">'


def tiles(rows: Iterable[Tile]) -> str:
    """Return rows of the data as a list of small pictures."""
    items = [
        f'<li><img alt="row {escape(str(tile.row))}" src="{_address(tile.png)}"><b>{escape(str(tile.label))}</b>'
        f"{escape(str(tile.weight))} <span>{escape(str(tile.row))}</span></li>"
        for tile in rows
    ]
    return '<ul class="tiles">\n' + "\n".join(items) + "\n</ul>"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    words: int = 0,
    marked: int | None = None,
    *,
    wrapped: bool = False,
) -> str:
    """Return a table.

    Parameters
    ----------
    columns : sequence of str
        The headings.
    rows : iterable of sequences
        A cell for each column.
    words : int
        So many columns from the left hold words; the others hold numbers, which end on a line.
    marked : int, optional
        The row that is drawn in the accent colour.
    wrapped : bool
        Whether cells of several numbers may take several lines.
    """
    left = ['<{} class="words">' if place < words else "<{}>" for place in range(len(columns))]

    def line(kind: str, cells: Sequence[object]) -> str:
        pairs = zip(left, cells, strict=True)
        return "".join(f"{opening.format(kind)}{escape(str(cell))}</{kind}>" for opening, cell in pairs)

    body = [f"<tr{' class=mark' * (place == marked)}>{line('td', cells)}</tr>" for place, cells in enumerate(rows)]
    head = f"<thead><tr>{line('th', columns)}</tr></thead>"
    kind = ' class="wrapped"' if wrapped else ""
    return f'<div class="wide"><table{kind}>\n{head}\n<tbody>\n' + "\n".join(body) + "\n</tbody></table></div>"


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Return names and what they stand for, a line each."""
    items = [f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in pairs]
    return '<dl class="facts">\n' + "\n".join(items) + "\n</dl>"


def code(heading: str, text: str) -> str:
    """Return text as it stands, under a heading; keys scroll it where it is long."""
    name = escape(heading)
    return f'<h3>{name}</h3>\n<pre tabindex="0" role="region" aria-label="{name}">{escape(text)}</pre>'


def _address(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
