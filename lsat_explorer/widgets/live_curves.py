"""The live figure of a run: its curves, those of other runs beside it, a marked iterate, and on demand ω."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lsat_explorer.plots.live import run_plotly, update_run
from lsat_explorer.plots.maps import MUTED
from lsat_explorer.plots.omega import hide_omega, show_omega, update_omega
from lsat_explorer.tune.last_look import last_rows
from lsat_explorer.tune.saved import names_of
from lsat_explorer.widgets.facts import tolerance
from lsat_explorer.widgets.figure import figure_widget
from lsat_explorer.widgets.history import OmegaColumns, history
from lsat_explorer.widgets.run_list import KeptRun

__all__ = ["LiveCurves"]


class LiveCurves:
    """One figure that shows a run. It is drawn by one thread at a time.

    Parameters
    ----------
    clicked : callable
        Called with the number of an iterate when somebody clicks its point.

    Attributes
    ----------
    figure : plotly.graph_objects.FigureWidget
        The figure.
    """

    def __init__(self, clicked: Callable[[int], None]) -> None:
        figure = run_plotly({})
        diamond = {"symbol": "diamond-open", "size": 10, "color": MUTED, "line": {"width": 2}}
        words = {"meta": "last look", "name": "last look", "showlegend": False, "hovertemplate": None}
        self._look = len(figure.data)
        figure.add_scatter(x=[], y=[], mode="markers", marker=diamond, xaxis="x", yaxis="y", cliponaxis=False, **words)
        self.figure = figure_widget(figure)
        self._omegas: weakref.WeakKeyDictionary[Any, OmegaColumns] = weakref.WeakKeyDictionary()
        self._with_omega, self._said = False, dict[str, Any]()
        curve = next(self.figure.select_traces({"name": "validation loss"}))
        curve.on_click(self._heard)
        self._clicked = clicked

    def _heard(self, _trace: Any, points: Any, _state: Any) -> None:
        if points.xs:
            self._clicked(round(points.xs[0]))

    def draw(
        self,
        run: Any,
        recipe: Any,
        beside: Sequence[KeptRun],
        marked: int | None,
        look: tuple[int, float] | None = None,
    ) -> None:
        """Show a run as it is.

        Parameters
        ----------
        run : Run
            The run.
        recipe : Recipe
            That whose tolerance is drawn.
        beside : sequence of KeptRun
            Runs whose validation loss is drawn beside it.
        marked : int, optional
            Number of the iterate that is marked.
        look : (int, float), optional
            The iterate at which the rows that decide nothing were last looked at, and the loss there.
        """
        self._show_look(run, look)
        others = {kept.slot: (kept.name, history(kept.run.iterates)) for kept in beside if kept.run is not run}
        found = {slot: shown for slot, shown in others.items() if slot is not None}
        shown, judging = history(run.iterates), run.recipe.criterion.judging
        self._said = update_run(self.figure, shown, tolerance(recipe), found, marked, self._said, judging)
        if self._with_omega:
            if run not in self._omegas and run.iterates:
                self._omegas[run] = OmegaColumns(names_of(run))
            update_omega(self.figure, self._omegas.get(run, OmegaColumns()).of(run.iterates))

    def _show_look(self, run: Any, look: tuple[int, float] | None) -> None:
        trace = self.figure.data[self._look]
        x, y = ([], []) if look is None else ([float(look[0])], [look[1]])
        if list(trace.x) != x or list(trace.y) != y:
            name = last_rows(run.recipe)
            with self.figure.batch_update():
                trace.update(x=np.array(x), y=np.array(y), hovertemplate=f"{name} loss %{{y:.5~g}}<extra></extra>")

    def with_omega(self, shown: bool) -> None:
        """Make room for the hyper-parameters, or take it away; they are drawn with the next `draw`."""
        if shown != self._with_omega:
            self._with_omega = shown
            (show_omega if shown else hide_omega)(self.figure)

    def close(self) -> None:
        """Take the figure away."""
        self.figure.close()
