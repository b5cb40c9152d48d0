"""The runs of a view so far: which recipe each had, what it was called, which are drawn beside the shown one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import traitlets

from lsat_explorer.model.recipe import Recipe
from lsat_explorer.plots.curves import value_text
from lsat_explorer.widgets.facts import SHORT_OF_GOAL, difference, told

__all__ = ["MOST_OVERLAID", "KeptRun", "RunList", "looked_at"]

MOST_OVERLAID = 6  # curves beside the shown one: more colours cannot be told apart
_LONGEST_NAME, _LONGEST_NOTE = 60, 500


class KeptRun(traitlets.HasTraits):
    """A run of a list, with what it is called and what is noted of it.

    Attributes
    ----------
    run : Run
        The run itself.
    number : int
        Its number, which no other run of the list gets.
    name, note : str
        What a person calls it and says of it; an empty name is the number again.
    began, used : Recipe
        The recipe that it began with, and the one that its last iteration used.
    origin : (KeptRun, int) or None
        The run and the iteration that it branched from.
    seconds : float
        How long it has computed.
    slot : int or None
        Which of the colours draws it beside the shown run, None where it is not drawn.
    """

    name = traitlets.Unicode()
    note = traitlets.Unicode()

    def __init__(self, run: Any, recipe: Recipe, number: int, origin: tuple[KeptRun, int] | None = None) -> None:
        self.run, self.number, self.origin = run, number, origin
        self.began = self.used = recipe
        self.iterates, self.seconds = 0, 0.0
        self.slot: int | None = None
        super().__init__(name=self._default)

    def __repr__(self) -> str:
        return f"KeptRun({self.name!r}, {self.run!r})"

    @property
    def _default(self) -> str:
        return f"Run {self.number}"

    @property
    def plain(self) -> bool:
        """Whether nobody has named it, noted anything, branched it off or drawn it beside another."""
        return self.name == self._default and not self.note and self.origin is None and self.slot is None

    @traitlets.validate("name")
    def _one_line(self, proposal: Any) -> str:
        return " ".join(_sendable(proposal.value).split())[:_LONGEST_NAME] or self._default

    @traitlets.validate("note")
    def _short(self, proposal: Any) -> str:
        return _sendable(proposal.value).strip()[:_LONGEST_NOTE]

    def words(self, first: KeptRun) -> str:
        """Return in a few words how it differs from the run that it branched from, or from the first one."""
        if self.origin is None:
            return difference(first.used, self.used) if self is not first else ""
        parent, iteration = self.origin
        place = f"from iteration {iteration:,} of {parent.name}"
        return ", ".join(filter(None, [place, difference(parent.used, self.used)]))


class RunList(Sequence[KeptRun]):
    """Runs in the order in which they were begun or taken up again; the last one is that which the buttons steer.

    Parameters
    ----------
    changed : callable
        Called after a run was named, noted, drawn beside the shown one, taken out or brought back.

    Attributes
    ----------
    gave_way : callable
        Called with a run without an iterate whose place another has taken.

    Examples
    --------
    >>> runs = tuner.runs  # doctest: +SKIP
    >>> runs[0].name = "small step"  # doctest: +SKIP
    >>> runs.overlay(0)  # doctest: +SKIP
    >>> del runs[0]  # doctest: +SKIP
    >>> runs.undo()  # doctest: +SKIP
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.changed = changed
        self.gave_way: Callable[[KeptRun], None] = lambda _kept: None
        self._kept: list[KeptRun] = []
        self._count = 0
        self._deleted: tuple[int, KeptRun] | None = None
        self._origin: tuple[KeptRun, int] | None = None  # of the run that comes next

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, index: int) -> KeptRun: ...

    @overload
    def __getitem__(self, index: slice) -> list[KeptRun]: ...

    def __getitem__(self, index: int | slice) -> KeptRun | list[KeptRun]:
        return self._kept[index]

    def __repr__(self) -> str:
        return f"RunList({self._kept!r})"

    @property
    def undoes(self) -> str:
        """The name of the run that `undo` brings back, empty where there is none."""
        return self._deleted[1].name if self._deleted is not None else ""

    @property
    def overlaid(self) -> list[KeptRun]:
        """The runs that are drawn beside the shown one."""
        return [kept for kept in self._kept if kept.slot is not None]

    @property
    def first(self) -> KeptRun:
        """The run that began first, with which others are compared."""
        return min(self._kept, key=lambda kept: kept.number)

    def of(self, run: Any) -> KeptRun | None:
        """Return what is kept of a run, None where it is none of these."""
        return next((kept for kept in self._kept if kept.run is run), None)

    def branching(self, kept: KeptRun, iteration: int) -> None:
        """Say that the next new run goes on from an iteration of ``kept``."""
        self._origin = (kept, iteration)

    def follow(self, run: Any, recipe: Recipe, seconds: float) -> None:
        """Take up where the present run is. A new one takes the place of one without an iterate, and of no other.

        Parameters
        ----------
        run : Run
            The run that the buttons steer.
        recipe : Recipe
            The recipe as it is now, with what the run has yet to take up.
        seconds : float
            How long the run has computed.
        """
        if not self._kept or self._kept[-1].run is not run:
            self._begin(run, recipe)
        last = self._kept[-1]
        if not run.iterates:
            last.began = last.used = recipe
        elif len(run.iterates) != last.iterates:  # reading a model may change the recipe of a run that has ended
            last.used, last.iterates = run.recipe, len(run.iterates)
        last.seconds = seconds

    def _begin(self, run: Any, recipe: Recipe) -> None:
        origin, self._origin = self._origin, None
        replaced = [last for last in self._kept[-1:] if last.plain and not last.run.iterates]
        kept = self.of(run)
        if kept is None:
            self._count += not (replaced and replaced[0].number == self._count)
            kept = self._watched(KeptRun(run, recipe, self._count, origin))
        others = [other for other in self._kept if other is not kept and other not in replaced]
        self._kept[:] = [*others, kept]  # at once: another thread may be reading
        for other in replaced:
            self.gave_way(other)

    def _watched(self, kept: KeptRun) -> KeptRun:
        kept.observe(lambda _change: self.changed(), ["name", "note"])
        return kept

    def put_back(self, earlier: Sequence[KeptRun]) -> None:
        """Put runs of an earlier kernel in the place of one that never ran; the buttons are to steer the last of them.

        Parameters
        ----------
        earlier : sequence of KeptRun
            With the numbers that they had.
        """
        for kept in earlier:
            kept.iterates = len(kept.run.iterates)
            kept.seconds = kept.run.iterates[-1].seconds
            self._watched(kept)
        self._count = max(kept.number for kept in earlier)
        self._kept[:] = earlier

    def overlay(self, index: int, on: bool = True) -> None:
        """Draw a run beside the shown one, or no longer.

        Parameters
        ----------
        index : int
            Which run.
        on : bool
            Whether it is to be drawn.

        Raises
        ------
        ValueError
            If as many as can be told apart are drawn already.
        """
        kept = self._kept[index]
        if on and kept.slot is None:
            free = set(range(MOST_OVERLAID)) - {other.slot for other in self._kept}
            if not free:
                raise ValueError(
                    f"{kept.name} would be curve {MOST_OVERLAID + 1} beside the shown run, at most {MOST_OVERLAID} "
                    "can be told apart: take another one off first."
                )
            kept.slot = min(free)
        elif not on:
            kept.slot = None
        self.changed()

    def __delitem__(self, index: int) -> None:
        kept = self._kept[index]
        if kept is self._kept[-1]:
            raise ValueError(f"{kept.name} is the run that the buttons steer: restart or branch before you delete it.")
        self._deleted = (self._kept.index(kept), kept)
        self._kept.remove(kept)
        self.changed()

    def undo(self) -> None:
        """Bring back the run that was deleted last."""
        if self._deleted is None:
            return
        place, kept = self._deleted
        self._deleted = None
        if kept.slot in {other.slot for other in self._kept}:  # its colour has gone to another
            kept.slot = None
        self._kept.insert(min(place, len(self._kept) - 1), kept)
        self.changed()

    def rows(self, busy: bool) -> list[dict[str, Any]]:
        """Return what a table shows of each run, the newest first.

        Parameters
        ----------
        busy : bool
            Whether the present run is being computed.
        """
        return [self._row(kept, busy and kept is self._kept[-1]) for kept in reversed(self._kept)]

    def _row(self, kept: KeptRun, busy: bool) -> dict[str, Any]:
        run, last = kept.run, kept.run.iterates[-1] if kept.run.iterates else None
        return {
            "run": kept.number,
            "name": kept.name,
            "note": kept.note,
            "differs": kept.words(self.first),
            "loss_text": value_text(run.kept.loss) if last else "",
            "loss": _finite(run.kept.loss) if last else None,  # as its model has, where early stopping keeps another
            "error": _finite(run.kept.error) if last else None,
            "error_rows": run.recipe.criterion.error_rows,
            "judging": run.recipe.criterion.judging.rstrip(","),
            "iterations": last.number if last else 0,
            "seconds": kept.seconds,
            "busy": busy,
            "slot": kept.slot,
            "room": len(self.overlaid) < MOST_OVERLAID,
            "stays": kept is self._kept[-1],
        }


def looked_at(kept: KeptRun, steered: KeptRun) -> dict[str, Any]:
    """Return where a run stands that is shown while the buttons steer another, as values of JSON.

    Returns
    -------
    dict
        ``name``; ``told``, its counts, time and state in words; ``goes_on``, whether more iterations may help it;
        ``steered``, the name of the other.
    """
    accepted, rejected = kept.run.iterates.counts
    words = f"{accepted:,} accepted, {rejected:,} rejected, {kept.seconds:.1f} s. {told(kept.run)}"
    goes_on = kept.run.status in SHORT_OF_GOAL
    return {"name": kept.name, "told": words, "goes_on": goes_on, "steered": steered.name}


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")  # half a character cannot be sent to a page


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON knows no NaN
