"""A run as text, and as a picture beside it."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING

from lsat_explorer.data.whole_file import whole_file
from lsat_explorer.plots.curves import number_text, value_text
from lsat_explorer.tune.advice import IN_CODE
from lsat_explorer.tune.last_look import last_rows

if TYPE_CHECKING:
    from torch import Tensor

    from lsat_explorer.tune import FittedModel, Run
    from lsat_explorer.tune.last_look import TestResult

CURVES = "curves.png"


def write_curves(run: Run, folder: Path) -> Path:
    """Draw validation loss, step size and stopping residual into the run's folder.

    Returns
    -------
    Path
        The PNG file.
    """
    # matplotlib takes a while to load, and whoever only reads a summary should not wait for it.
    from lsat_explorer import plots

    path = folder / CURVES
    figure = plots.run_figure(
        run.history(), getattr(run.recipe.method, "tolerance", None), judging=run.recipe.criterion.judging
    )
    with whole_file(path) as file:
        figure.savefig(file, dpi=150)
    return path


def summary(
    run: Run, model: FittedModel, files: Mapping[str, Path], folder: Path, seen: TestResult | None = None
) -> str:
    """Return what a run came to as aligned lines: status, iterations, losses, error, time, hyper-parameters.

    Losses, error and hyper-parameters are those of the iterate that is kept, as the model is.

    Parameters
    ----------
    run : Run
        A run with at least its starting point.
    model : FittedModel
        Its model, which knows the classes also where the run was loaded without its rows.
    files : mapping of str to Path
        Files to mention, by what they are.
    folder : Path
        That of the run, for how to go on with it.
    seen : TestResult, optional
        What a look at the test rows showed.
    """
    onward = f"To go on, `lsat-explorer tune --resume {folder}` with the same --data."
    last, kept = run.iterates[-1], run.kept
    accepted = sum(iterate.accepted for iterate in run.iterates[1:])
    rejected = len(run.iterates) - 1 - accepted
    criterion = run.recipe.criterion
    rows, judging = ("", f", of the {criterion.judging[:-1]}") if criterion.apart else ("validation ", "")
    lines = [
        ("status", run.message.replace(IN_CODE, onward) if any(folder.glob("checkpoint*")) else run.message),
        ("iterations", f"{last.number} ({accepted} accepted, {rejected} rejected)"),
        *([("kept", f"iteration {kept.number}, by early stopping")] if kept.number != last.number else []),
        (f"{rows}loss", f"{kept.loss:.4f} (at the start {run.iterates[0].loss:.4f}){judging}"),
        ("error" if criterion.apart else f"{criterion.error_rows} error", f"{_error(model, kept.error)}{judging}"),
        ("training loss", f"{kept.training_loss:.4f}"),
        *([] if seen is None else _seen(run, model, seen)),
        ("step size", value_text(last.step, "step")),
        ("stopping residual", value_text(last.residual, "step")),
        ("time", f"{last.seconds:.1f} s"),
        *((name, _value(name, value)) for name, value in kept.omega.items()),
        *((name, str(path)) for name, path in files.items()),
    ]
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)


def _seen(run: Run, model: FittedModel, seen: TestResult) -> list[tuple[str, str]]:
    """Return the loss and error of the rows that were looked at, and how often they were."""
    rows = last_rows(run.recipe)
    count = f"look {seen.looks:,} at these rows"
    return [(f"{rows} loss", f"{seen.loss:.4f} ({count})"), (f"{rows} error", _error(model, seen.error))]


def _value(name: str, value: Tensor) -> str:
    """One hyper-parameter in words; a log weight also as the weight e^{2ω}."""
    numbers = value.detach().reshape(-1).tolist()
    low, high = min(numbers), max(numbers)
    if len(numbers) == 1:
        text, weight = number_text(low), number_text(exp(2 * low))
    else:
        text, weight = (
            f"{len(numbers):,} values, {number_text(low)} to {number_text(high)}",
            f"{number_text(exp(2 * low))} to {number_text(exp(2 * high))}",
        )
    return f"{text} (weight {weight})" if name.endswith("log_weight") else text


def _error(model: FittedModel, error: float) -> str:
    return f"{100 * error:.1f} %" if model.classes is not None else f"{number_text(error)} (root mean square)"
