"""From a recipe and data to the end of a run, in one call."""

from __future__ import annotations

import math
import os
import sys
import warnings

from tqdm import tqdm

from ..data.data import Data
from ..model.recipe import Recipe
from .advice import coarse
from .checkpoint import Checkpoint
from .run import Run

__all__ = ["tune"]


def tune(
    recipe: Recipe,
    data: Data,
    *,
    progress: bool = True,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
) -> Run:
    """Run a recipe on data to its end and return the run.

    Parameters
    ----------
    recipe : Recipe
        The choices.
    data : Data
        Rows to fit, and validation rows to tune on.
    progress : bool
        Whether to show a progress bar.
    checkpoint : Checkpoint, str or path, optional
        A folder in which the run keeps itself as it goes on: after a crash ``Run.resume(folder, data)`` is the run, and
        goes on as if nothing had happened.

    Returns
    -------
    Run
        With ``history()``, ``omega``, ``model`` and ``test()``. A keyboard interrupt ends it and keeps the last
        accepted iterate.

    Warns
    -----
    UserWarning
        When no point that was tried has a fit with a finite loss; it says which features are at fault. When the run
        converged to a tolerance, which is absolute, that is coarse for the size of the objective.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> run = tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
    >>> round(run.iterates[-1].loss, 2)
    1.74
    """
    run = Run(recipe, data, checkpoint=checkpoint)
    limit = getattr(recipe.method, "max_iterations", None)
    shown = progress and sys.stderr is not None  # None where a process was started without one
    with tqdm(total=limit, disable=not shown, desc="tuning", unit="it") as bar:
        try:
            for iterate in run.steps():
                bar.set_postfix_str(f"loss {iterate.loss:.4f}", refresh=False)
                bar.update(int(iterate.number > 0))
        except KeyboardInterrupt:
            if not run.iterates:
                raise
            run.interrupt()
    if run.iterates and not math.isfinite(run.best.objective):
        warnings.warn(f"No fit was found. {run.message}", stacklevel=2)
    elif run.problem is not None and (told := coarse(run.problem, run.iterates[-1])):
        warnings.warn(told, stacklevel=2)
    return run
