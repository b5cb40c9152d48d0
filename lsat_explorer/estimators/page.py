"""What a notebook shows of an estimator below scikit-learn's diagram: its recipe as code, the curves of its run."""

from __future__ import annotations

import base64
from html import escape
from typing import Any

__all__ = ["below_the_diagram"]


def below_the_diagram(recipe: Any, run: Any) -> str:
    """Return HTML with the recipe's source, and where there is a run, its sentence and a still picture of it."""
    code = escape(recipe.to_source())
    parts = [f"<details><summary>The recipe, as code</summary><pre>{code}</pre></details>"]
    if run is not None:
        from ..plots import run_figure

        picture = base64.b64encode(run_figure(run.history(), run.recipe.method.tolerance).png(90)).decode()
        sentence = escape(f"{run.iterates[-1].number} iterations. {run.message}", quote=True)
        parts += [
            f"<p>{sentence}</p>",
            f'<img alt="Validation loss, step size and stopping residual: {sentence}" style="max-width: 100%" '
            f'src="data:image/png;base64,{picture}">',
        ]
    return f'<div class="lsat-estimator" style="max-width: 50em">{"".join(parts)}</div>'
