"""What a view over rows shows: a page of them, the one that is looked at, how the verdicts stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import traitlets

from lsat_explorer.plots.words import signed, span_text
from lsat_explorer.widgets.row_columns import Doubts, Told, noise_text, percent
from lsat_explorer.widgets.row_filters import confusion_counts, in_cell
from lsat_explorer.widgets.row_findings import Wish
from lsat_explorer.widgets.row_fits import can_judge, can_predict
from lsat_explorer.widgets.row_parts import RowParts
from lsat_explorer.widgets.row_verdicts import RowVerdicts, marked, passing
from lsat_explorer.widgets.row_weights import Kept
from lsat_explorer.widgets.row_words import ELSEWHERE, FETCHED, carried, offer, unasked, warning
from lsat_explorer.widgets.rows import FEATURE, ORDERS, Order, Page, page_of

__all__ = ["RowPage"]

_AHEAD = 3  # pages at hand beyond the present one
_MOST_AHEAD = 1_000_000  # bytes of their thumbnails after which no further page is drawn


class RowPage(RowParts, RowVerdicts):
    """A view that shows the rows which its choices ask for, and asks the model what these take."""

    _shown = traitlets.Dict().tag(sync=True)
    _sprite = traitlets.Bytes(b"").tag(sync=True)
    # the next pages, where somebody is likely to turn to them, page n in slot n modulo 3: as _shown, and their sprites
    _ahead_0, _ahead_1, _ahead_2 = (traitlets.Dict().tag(sync=True) for _ in range(_AHEAD))
    _sprite_0, _sprite_1, _sprite_2 = (traitlets.Bytes(b"").tag(sync=True) for _ in range(_AHEAD))
    _zoom = traitlets.Dict().tag(sync=True)
    _zoom_image = traitlets.Bytes(b"").tag(sync=True)
    _reasons_image = traitlets.Bytes(b"").tag(sync=True)
    _matrix: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _standing = traitlets.Dict().tag(sync=True)

    _weighed: Any = None  # the hyper-parameters at which the weights were last compared with those of the run
    _stamp = 0  # counts what was laid out anew: pages of one stamp are of one order, filter and state of the run

    def _span(self) -> str:
        if self.part != "training":
            return f"{self.part} rows"
        return span_text(self._weights.ends) if self._tuned() else "This recipe tunes no row weights"

    def _keep(self) -> Kept:
        others = None if self.verdict == "all" else passing(self._tiles.names, self._decided, self.verdict)
        predictions, cell = self._told.predictions, self._shown_cell
        if cell and predictions is not None:
            inside = in_cell(self._tiles.codes, predictions.codes, (cell[0], cell[1]))
            others = inside if others is None else others & inside
        return self._weights.kept(self.weights, self._class, others)

    @property
    def _shown_cell(self) -> list[int]:
        """The cell of the confusion matrix whose rows are shown: none, as long as there are no predictions."""
        return self._cell if self._told.predictions is not None else []

    @property
    def _shown_order(self) -> Order:
        order, told = self._sorting, self._told
        unknown = {"doubt": told.doubts is None, "effect": told.effects is None}
        return ORDERS["lightest"] if unknown.get(order.column) else order

    def _present(self, keep: Kept | None = None, number: int | None = None) -> Page:
        order = self._shown_order
        keep, number = self._keep() if keep is None else keep, self.page if number is None else number
        if order.column == "weight":
            return keep.page(number, self._size, order.falling)
        keys = self._tiles.keys(order.column, self._told)
        return page_of(keys, number, self._size, falling=order.falling, keep=keep.mask)

    def _lay_out(self, *, turned: bool = False) -> None:
        """Show what the choices ask for; ``turned`` says that each page is what it was before."""
        with self._lock, self.hold_sync():
            if self._moving:
                return
            self._stamp += not turned
            if self._sought >= 0:
                self._turn_to_sought()
            keep, told = self._keep(), self._told
            page = self._present(keep)
            if page.number != self.page:  # a verdict, or other weights, may have taken the last page away
                self._turn_silently(page.number)
            drawn = tuple(page.positions.tolist())
            if drawn != self._drawn:  # a picture is worth sending only when other rows are in it
                ahead, sprite = self._at_hand(page.number)
                known = drawn == tuple(ahead.get("positions", ()))
                self._sprite = sprite if known else self._tiles.sprite(page.positions)
                self._drawn = drawn
            self._shown = self._described(page, keep, told)
            self._show_looked(told)
            if told.predictions is not None and not self._folded:
                codes, classes = self._tiles.codes, len(self._tiles.classes)
                self._matrix = confusion_counts(codes, told.predictions.codes, classes).tolist()
            self._standing = self._model.standing()
            self._tell_verdicts()
            answer, changes = self._model.answer, self._changes()
            self._answer = {} if answer is None or changes is None else answer.told | {"old": answer.changes != changes}
        self.save_soon()

    def _take_found(self) -> None:
        """Show what was found out of the model, beside the weights that belong to it."""
        with self._lock:
            self._renew_weights()
            self._lay_out()

    def _renew_weights(self) -> bool:
        """Read the weights again where the run has come to other hyper-parameters; return whether they moved."""
        omega = getattr(self.run, "omega", None) if can_predict(self.run) else None
        if omega is not None and omega is self._weighed:
            return False
        self._weighed = omega
        weights = self._own_weights()
        moved = not weights.same(self._weights)
        if moved:
            self._weights = weights
        return moved

    def _described(self, page: Page, keep: Kept, told: Told) -> dict[str, Any]:
        shown = self._tiles.describe(self._weights, page, keep, told, self._sorting.column)
        return shown | self._told_beside(page, keep, told) | {"page": page.number, "stamp": self._stamp}

    def _at_hand(self, number: int) -> tuple[dict[str, Any], bytes]:
        """Return what lies in the slot of a page: that page, or another one that was there before."""
        slot = number % _AHEAD
        return getattr(self, f"_ahead_{slot}"), getattr(self, f"_sprite_{slot}")

    def _look_ahead(self) -> None:
        """Have the next pages at hand on the page; not while a run computes, nor where rows would be fetched for it."""
        with self._lock:
            idle = self._model.at_rest or not can_predict(self.run)
            if self._moving or not idle or self._apart:
                return
            keep, size = self._keep(), 0
            for number in range(self.page + 1, self.page + 1 + _AHEAD):
                ahead, sprite = self._at_hand(number)
                if (ahead.get("stamp"), ahead.get("page")) != (self._stamp, number):
                    page = self._present(keep, number)
                    if page.number != number:  # there are no more
                        return
                    sprite = self._tiles.sprite(page.positions)
                    with self.hold_sync():  # words and thumbnails of a page come together, each page by itself
                        setattr(self, f"_sprite_{number % _AHEAD}", sprite)
                        setattr(self, f"_ahead_{number % _AHEAD}", self._described(page, keep, self._told))
                size += len(sprite)
                if size > _MOST_AHEAD:
                    return

    def _told_beside(self, page: Page, keep: Kept, told: Told) -> dict[str, Any]:
        """Return what a page shows beside what its rows are, as values of JSON."""
        return {
            "span": self._span(),
            "tuned": self._tuned(),
            "order": self.order,
            "waits": self._shown_order != self._sorting,
            "explains": can_predict(self.run),
            "offer": offer(self.run) if self._tuned() else {},
            "notes": [note for note in self._notes(keep, told) if note],
            "verdicts": [marked(self._decided.get(self._tiles.names[place])) for place in page.positions],
        }

    def _notes(self, keep: Kept, told: Told) -> Iterator[str]:
        """Yield what is to be said above the rows: what to beware of, what a choice costs, how to have more of it."""
        column, apart = self._sorting.column, self._apart
        if self.part == "training":
            yield warning(self.run)
        if told.effects is not None and column == "effect":
            yield noise_text(told.effects)
        if apart and (self._asks_model or self._asks_columns or column.startswith(FEATURE)):
            yield FETCHED
        yield carried(keep.comes and self._shown_order.column != "weight", keep.goes, len(self._weights))
        comes = self._asks_model or (self._model.at_rest and not apart)
        if self._lists_predictions and told.predictions is None and not comes:
            yield unasked(begun=can_predict(self.run), apart=apart)

    def _show_looked(self, told: Told) -> None:
        """Show the row that is looked at, with what is known of it and of those behind it."""
        place = self._looked
        if place < 0:
            self._zoom, self._reasons_image = {}, b""
            return
        reasons = self._model.reasons(self._tiles, place)
        zoom = self._tiles.zoom(self._weights, place) | {"said": self._model.said(self._tiles, place)}
        if told.doubts is not None:
            zoom |= {
                "suggested": told.doubts.words(place),
                "confidence": percent(told.doubts.confidence[place]),
                "doubtful": bool(told.doubts.doubtful[place]),
                "doubt": signed(told.doubts.doubt[place], ".3g"),
            }
        if told.effects is not None:
            zoom["effect"] = told.effects.words(place)
        elif told.doubts is not None and not can_judge(self.run):
            zoom["effect"] = "not told: the data have no validation rows"
        zoom["verdict"] = self._looked_verdict(place)
        self._reasons_image = reasons.image
        unasked = can_predict(self.run) and self.part != "test" and not self._judges
        why = {"words": ELSEWHERE, "groups": []} if unasked else reasons.told
        self._zoom = zoom | {"reasons": why, "behind": self._other is not None}

    @property
    def _told(self) -> Told:
        told = self._model.told(self._tiles)
        return told if self._asks_model or self._lists_predictions else replace(told, predictions=None)

    def _doubts(self) -> Doubts | None:
        return self._model.told(self._training).doubts

    def _ask(self, renew: bool = False) -> None:
        with self._lock:
            if self._moving:
                return
            explains, looked = can_predict(self.run), self._looked if self.part != "test" else -1
            if explains and self._renew_weights():
                self._lay_out()
            closer = explains and looked >= 0 and self.part == "training" and self._model.at_rest and self._judges
            columns = self._asks_columns or closer
            listed = self._lists_predictions and (renew or (self._model.at_rest and not self._apart))
            wish = Wish(
                tiles=self._tiles,
                other=self._other,
                rows=self._asks_model or listed,
                columns=columns,
                effects=columns and can_judge(self.run),
                position=looked,
                changes=self._changes() if explains else None,
                renew=renew,
            )
            self._model.ask(wish)
            self._standing = self._model.standing()
