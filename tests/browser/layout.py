"""Where every word and every control of a view is: a picture of it that any version of a browser draws the same.

Pixels of letters and edges differ from one version of Chromium to the next, which words are shown and where they stand
does not. A layout is a list of places in the order of the page: a kind and a text, and a box in whole pixels.
"""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path
from typing import Any

NEAR = 4  # px that a box may be off: what letters of other versions add up to in a line, less than any letter is wide
_DECIMALS = re.compile(r"-?\d[\d,]*(\.\d+(e-?\d+)?|e-?\d+)")

# What is covered in the pictures is left out here too: the device, and seconds.
SEEN = """() => {
    const view = document.querySelector('.lsat-test-stage > .lsat, .lsat-test-stage > *');
    const from = view.getBoundingClientRect(), found = [];
    const left_out = '.lsat-device, .lsat-clock, .lsat-runs td:nth-last-child(2), .lsat-sr, .hoverlayer, defs, style';
    const shown = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
        && !one.closest(left_out);
    const add = (kind, text, box) => {
        if (box.width < 1 || box.height < 1) return;
        const place = [box.left - from.left, box.top - from.top, box.width, box.height].map(Math.round);
        found.push([kind, text.replace(/\\s+/g, ' ').trim(), place]);
    };
    const named = (one) => one.getAttribute('aria-label') || [...one.labels ?? []].map((all) => all.textContent).join();
    const controls = 'button, select, input, textarea, canvas, summary, a,'
        + ' [role=option], [role=slider], [role=gridcell]';
    const walk = document.createTreeWalker(view, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        if (node.nodeType === Node.TEXT_NODE) {
            if (!node.data.trim() || !shown(node.parentElement)) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            add('text', node.data, range.getBoundingClientRect());
        } else if (node.matches(controls) && shown(node)) {
            add(node.tagName.toLowerCase(), `${named(node)} ${node.value ?? ''} ${node.placeholder ?? ''}`,
                node.getBoundingClientRect());
        }
    }
    return found;
}"""

Layout = list[tuple[str, tuple[int, ...]]]


def layout(found: list[Any]) -> Layout:
    """Return what `SEEN` gives as a layout; digits behind a point are not compared, as machines round otherwise."""
    return [(f"{kind}: {_DECIMALS.sub('#', text)}", tuple(place)) for kind, text, place in found]


def read(path: Path) -> Layout:
    """Return the layout in a file."""
    return [(words, tuple(place)) for words, place in json.loads(path.read_text(encoding="utf-8"))]


def write(path: Path, shown: Layout) -> Layout:
    """Write a layout, a line for each place, and return it."""
    path.parent.mkdir(exist_ok=True)
    lines = [json.dumps([words, list(place)], ensure_ascii=False) for words, place in shown]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    return shown


def differences(shown: Layout, kept: Layout, *, places: bool) -> list[str]:
    """Return what is missing, what is new and, if ``places`` are compared, what has moved, a line each."""
    before, after = ([words for words, _ in each] for each in (kept, shown))
    found = [line for line in difflib.ndiff(before, after) if line[0] in "-+"] if before != after else []
    if found or not places:
        return found
    for (words, place), (_, was) in zip(shown, kept, strict=True):
        if max(abs(a - b) for a, b in zip(place, was, strict=True)) > NEAR:
            found.append(f"moved: {words} is at {place}, was at {was}")
    return found
