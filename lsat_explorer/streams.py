"""The iterates of a run on their way to TensorBoard or MLflow.

Each function takes what ``run.steps()`` yields, writes down the numbers of every iterate and yields it on, so that a
loop over the steps stays as it is and the two can be combined. The packages are imported when the first iterate comes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from typing import Any

from .tune.iterate import Iterate

__all__ = ["numbers", "to_mlflow", "to_tensorboard"]

_QUANTITIES = (
    "objective",
    "loss",
    "penalty",
    "training_loss",
    "stopping_loss",
    "error",
    "step",
    "residual",
    "gradient_norm",
)


def numbers(iterate: Iterate) -> dict[str, float]:
    """Return what is written down of an iterate: its finite numbers, and each entry of ω that is one number.

    Examples
    --------
    >>> from lsat_explorer import Iterate
    >>> numbers(Iterate(number=0, objective=2.0, loss=1.5, penalty=0.5, step=1.0, omega={}))
    {'objective': 2.0, 'loss': 1.5, 'penalty': 0.5, 'step': 1.0, 'accepted': 1.0}
    """
    found = {name: float(getattr(iterate, name)) for name in _QUANTITIES} | {"accepted": float(iterate.accepted)}
    found |= {f"omega/{name}": float(value) for name, value in iterate.omega.items() if value.numel() == 1}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def to_tensorboard(steps: Iterable[Iterate], writer: str | os.PathLike[str] | Any) -> Iterator[Iterate]:
    """Yield the iterates, and write the numbers of each to TensorBoard.

    Parameters
    ----------
    steps : iterable of Iterate
        ``run.steps()``.
    writer : path or SummaryWriter
        The folder of the event files; or a ``torch.utils.tensorboard.SummaryWriter`` of your own, which stays open.

    Raises
    ------
    ModuleNotFoundError
        Without the package ``tensorboard``.
    TypeError
        For what are no iterates.

    Examples
    --------
    .. code-block:: python

        for iterate in lsat.streams.to_tensorboard(run.steps(), "runs/digits"):
            ...
    """
    steps = _iterates(steps)
    own = isinstance(writer, str | os.PathLike)
    if own:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ModuleNotFoundError("TensorBoard is written by its own package: pip install tensorboard.") from None
        writer = SummaryWriter(os.fspath(writer))
    events: Any = writer
    try:
        for iterate in steps:
            for name, value in numbers(iterate).items():
                events.add_scalar(name, value, iterate.number)
            yield iterate
    finally:
        if own:
            events.close()


def to_mlflow(steps: Iterable[Iterate]) -> Iterator[Iterate]:
    """Yield the iterates, and log the numbers of each as metrics of the active run of MLflow.

    Where none is active, MLflow begins one, as for every metric that is logged.

    Parameters
    ----------
    steps : iterable of Iterate
        ``run.steps()``.

    Raises
    ------
    ModuleNotFoundError
        Without the package ``mlflow``.
    TypeError
        For what are no iterates.

    Examples
    --------
    .. code-block:: python

        with mlflow.start_run():
            mlflow.log_text(run.recipe.to_json(), "recipe.json")
            for iterate in lsat.streams.to_mlflow(run.steps()):
                ...
    """
    try:
        import mlflow
    except ImportError:
        raise ModuleNotFoundError("MLflow is not installed: pip install mlflow.") from None
    for iterate in _iterates(steps):
        mlflow.log_metrics(numbers(iterate), step=iterate.number)
        yield iterate


def _iterates(steps: object) -> Iterator[Iterate]:
    """Refuse what are no iterates, at once where nothing can be taken from it at all."""
    if not isinstance(steps, Iterable):
        raise TypeError(f"steps is a {type(steps).__name__}, expected the iterates of a run: pass run.steps().")

    def checked() -> Iterator[Iterate]:
        for iterate in steps:
            if not isinstance(iterate, Iterate):
                kind = type(iterate).__name__
                raise TypeError(f"steps gave a {kind}, expected the iterates of a run: pass run.steps().")
            yield iterate

    return checked()
