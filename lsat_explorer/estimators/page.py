"""What a notebook shows of an estimator below scikit-learn's diagram: its recipe as code, the curves of its run."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING, Any

from ..tune.advice import advice

if TYPE_CHECKING:
    from ..tune.run import Run

__all__ = ["below_the_diagram", "told"]


def told(run: Run) -> str:
    """Return the state of a run as sentences, for who fits by an estimator."""
    return advice(run, "To go on, raise max_iterations of the recipe's method and fit again.")


def below_the_diagram(recipe: Any, run: Any) -> str:
    """Return HTML with the recipe's source, and where there is a run, its sentence and a still picture of it."""
    code = escape(recipe.to_source())
    parts = [f"<details><summary>The recipe, as code</summary><pre>{code}</pre></details>"]
    if run is not None:
        from ..plots import run_figure

        picture = base64.b64encode(
            run_figure(run.history(), run.recipe.method.tolerance, judging=run.recipe.criterion.judging).png(90)
        ).decode()
        sentence = escape(f"{run.iterates[-1].number} iterations. {told(run)}", quote=True)
        parts += [
            f"<p>{sentence}</p>",
            f'<img alt="Validation loss, step size and stopping residual: {sentence}" style="max-width: 100%" '
            f'src="data:image/png;base64,{picture}">',
        ]
    return f'<div class="lsat-estimator" style="max-width: 50em">{"".join(parts)}</div>'
