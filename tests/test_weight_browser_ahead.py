"""The next pages of the weight browser are at hand before they are turned to, and nothing is sent or drawn twice."""

from __future__ import annotations

from typing import Any

import pytest

import lsat_explorer as lsat
from browsing import FakeRun, sent, shown, weighed
from lsat_explorer.widgets import WeightBrowser
from lsat_explorer.widgets.row_tiles import RowTiles


@pytest.fixture
def run(digits: lsat.Data) -> FakeRun:
    return weighed(digits)


def ahead(browser: WeightBrowser) -> dict[int, tuple[dict[str, Any], bytes]]:
    """What is at hand of other pages, by their numbers: what is shown of each, and its sprite."""
    state = sent(browser, "_ahead_0", "_ahead_1", "_ahead_2", "_sprite_0", "_sprite_1", "_sprite_2")
    pages = ((state[f"_ahead_{slot}"], bytes(state[f"_sprite_{slot}"])) for slot in range(3))
    return {page["page"]: (page, sprite) for page, sprite in pages if page}


def test_the_next_pages_are_at_hand_as_they_will_be_once_somebody_turns_pages(run: FakeRun) -> None:
    browser = WeightBrowser(run, page_size=30)
    assert ahead(browser) == {}  # nobody has
    browser.set_state({"page": 2})
    assert set(ahead(browser)) == {3, 4, 5}
    for page in (3, 4, 5):
        before = ahead(browser)[page]
        browser.set_state({"page": page})
        assert (shown(browser), bytes(browser._sprite)) == before
    browser.order = "heaviest"
    stamps = {page["stamp"] for page, _ in ahead(browser).values()}
    assert shown(browser)["stamp"] not in stamps  # what was at hand is of another order
    browser.page = 30
    browser.page = 28
    assert set(ahead(browser)) >= {29, 30}
    assert len(ahead(browser)[30][0]["positions"]) == len(run.data.train) % 30


def test_no_page_is_prepared_twice_and_none_after_large_thumbnails(
    run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    sprite = RowTiles.sprite
    monkeypatch.setattr(RowTiles, "sprite", lambda tiles, rows: drawn.append(len(rows)) or sprite(tiles, rows))
    browser = WeightBrowser(run, page_size=30)
    browser.page = 2
    assert len(drawn) == 1 + 1 + 3  # the first page, the second one, and three at hand
    browser.page = 3
    assert len(drawn) == 5 + 1
    large = WeightBrowser(run, page_size=30)
    monkeypatch.setattr(RowTiles, "sprite", lambda tiles, rows: bytes(700_000))
    large.page = 2
    assert set(ahead(large)) == {3, 4}


def test_no_page_is_prepared_while_a_run_computes(digits: lsat.Data) -> None:
    run = lsat.Run(lsat.Recipe(data_weights=lsat.LogWeights()), digits)
    steps = run.steps()
    next(steps)
    browser = WeightBrowser(run, order="lightest")
    browser.page = 2
    assert ahead(browser) == {}
    steps.close()


def test_a_view_is_sent_once_as_it_is_when_it_is_made(run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    sprites: list[int] = []
    sprite = RowTiles.sprite
    monkeypatch.setattr(RowTiles, "sprite", lambda tiles, rows: sprites.append(len(rows)) or sprite(tiles, rows))
    WeightBrowser(run, page_size=30, order="heaviest", label=3, page=2)
    assert sprites == [30]
