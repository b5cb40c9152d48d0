"""What a fitted model says of the training rows: of all of them once, and of one row alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lsat_explorer.data import Split
from lsat_explorer.data.on_workers import RowsOnWorkers
from lsat_explorer.explain.training_fit import times, training_fit
from lsat_explorer.model.losses import CrossEntropy, Loss
from lsat_explorer.model.piece import Omega, within
from lsat_explorer.plots.words import signed
from lsat_explorer.tune.fitted import FittedModel
from lsat_explorer.widgets.rows import name_of

__all__ = ["Fit", "Predictions", "fit_of", "predictions_of", "row_losses", "said_of"]

_CHUNK = 4096  # rows between two looks at whether the predictions are still wanted
_MOST = 5  # classes of a row's prediction


@dataclass(frozen=True, eq=False)
class Fit:
    """A run's model with the hyper-parameters that it is of, and the number of their last iterate."""

    model: FittedModel
    omega: Omega
    number: int

    def behind(self, run: Any) -> bool:
        """Whether the run has come to other hyper-parameters since."""
        return run.omega is not self.omega


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model says of the k training rows.

    Parameters
    ----------
    codes : (k,) numbers
        The predicted class as a position in the model's classes; the first output in regression.
    words : (k,) texts
        The predicted label, or the outputs, in words.
    losses : (k,) array
        The loss ψ of each row alone.
    """

    codes: NDArray[Any]
    words: list[str]
    losses: NDArray[np.float64]


def fit_of(run: Any) -> Fit:
    """Return the present model of a run that has begun.

    Raises
    ------
    ValueError
        If the normal equations have no solution at the run's hyper-parameters.
    """
    omega, model = run.omega, run.model
    numbers = [iterate.number for iterate in run.iterates.kept_whole() if iterate.omega is omega]
    return Fit(model, omega, max(numbers, default=run.iterates[-1].number))


def row_losses(loss: Loss, outputs: Tensor, targets: Tensor, omega: Omega) -> NDArray[np.float64]:
    """Return the loss (k,) of each row alone, for outputs and targets (k, m).

    Examples
    --------
    >>> from lsat_explorer import SquaredError
    >>> row_losses(SquaredError(), torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1), {}).tolist()
    [1.0, 9.0]
    """

    def alone(output: Tensor, target: Tensor) -> Tensor:
        return loss.value(output[None], target[None], omega)

    with torch.no_grad():
        try:
            losses = torch.vmap(alone)(outputs, targets)
        except RuntimeError:  # a loss of the user's own may branch on what it sees
            losses = torch.stack([alone(*pair) for pair in zip(outputs, targets, strict=True)])
    values: NDArray[np.float64] = losses.double().numpy()
    return values


def predictions_of(model: FittedModel, split: Split, stale: Callable[[], bool] = lambda: False) -> Predictions | None:
    """Return what a model says of every row of a split.

    Parameters
    ----------
    model : FittedModel
        The model.
    split : Split
        The rows.
    stale : callable
        Asked between chunks of rows; None is returned as soon as it says True.
    """
    omega = {name: value.cpu() for name, value in within("loss", model.omega).items()}
    outputs, losses = [], []
    for scores, targets in zip(_outputs(model, split), split.targets.split(_CHUNK), strict=False):
        if stale():
            return None
        outputs.append(scores)
        losses.append(row_losses(model.loss, torch.from_numpy(outputs[-1]), targets, omega))
    scores = np.concatenate(outputs)
    if model.classes is None:
        return Predictions(scores[:, 0], [name_of(row) for row in scores], np.concatenate(losses))
    codes, names = scores.argmax(1), [name_of(label) for label in model.classes]
    return Predictions(codes, [names[code] for code in codes], np.concatenate(losses))


def _outputs(model: FittedModel, split: Split) -> Iterator[NDArray[np.float64]]:
    """Yield the outputs of some rows at a time; rows that workers have are multiplied there."""
    if isinstance(split.inputs, RowsOnWorkers):
        fit = training_fit(model)
        rows = fit.train if split is fit.data.train else fit.validation
        yield from (some.cpu().numpy() for some in times(rows, model.theta).split(_CHUNK))
    else:
        yield from map(model.decision_function, split.inputs.split(_CHUNK))


def said_of(model: FittedModel, split: Split, position: int) -> dict[str, Any]:
    """Return what a model says of one row of a split, as values of JSON.

    Returns
    -------
    dict
        ``words``, the predicted label or outputs; ``bars``, in classification the classes of the largest outputs, each
        as [label, length of the bar in 0 .. 1, text]; ``sure``, whether the texts are probabilities rather than
        outputs; ``loss``, the loss ψ of the row alone.
    """
    inputs = split.inputs[position : position + 1]
    outputs = model.decision_function(inputs)
    omega = {name: value.cpu() for name, value in within("loss", model.omega).items()}
    (loss,) = row_losses(model.loss, torch.from_numpy(outputs), split.targets[position : position + 1], omega)
    said: dict[str, Any] = {"loss": signed(loss), "bars": [], "sure": isinstance(model.loss, CrossEntropy)}
    if model.classes is None:
        return said | {"words": name_of(outputs[0])}
    values = model.predict_proba(inputs)[0] if said["sure"] else outputs[0]
    order = np.argsort(-values, kind="stable")[:_MOST]
    names = [name_of(model.classes[code], 24) for code in order]
    texts = [_share(values[code]) if said["sure"] else signed(values[code], ".3g") for code in order]
    most = 1.0 if said["sure"] else max(float(values.max()), 1e-300)
    lengths = [round(max(float(values[code]), 0.0) / most, 4) for code in order]
    return said | {"words": names[0], "bars": [list(bar) for bar in zip(names, lengths, texts, strict=True)]}


def _share(probability: float) -> str:
    if probability < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < probability < 1 else f"{100 * probability:.1f} %"
