"""Losses: the true objective ψ, a mean over validation rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .piece import Omega, Piece, flag, number, register, tensor
from .registered import Registered

__all__ = [
    "Bisquare",
    "CrossEntropy",
    "CustomLoss",
    "Huber",
    "Loss",
    "SquaredError",
    "misclassified",
    "register_loss",
    "usual_loss",
]


class Loss(Piece, ABC):
    """Description of a loss; parameters that it tunes live in ω under ``loss.``."""

    classifies = False
    """Whether the targets must be one-hot classes."""
    by_row = True
    """Whether it is a mean of what each row loses by itself."""

    def init(self) -> Omega:
        """Return the starting values of the loss's own parameters."""
        return {}

    @abstractmethod
    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return the mean loss of ``predictions`` (N, m) for ``targets`` (N, m), a scalar."""

    def with_slopes(
        self, predictions: Tensor, targets: Tensor, omega: Omega
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]] | None:
        """Return the mean loss, its slopes by prediction (N, m) and by entry of ω; None where torch is to find them."""
        return None

    def checked(self, value: Tensor, predictions: Tensor) -> Tensor:
        """Return ``value``, what came of ``predictions``, refused where these need a gradient and it has none."""
        if not (torch.is_grad_enabled() and predictions.requires_grad):
            return value
        if not value.is_floating_point():
            came = f"a number of type {str(value.dtype).removeprefix('torch.')}"
        elif not value.requires_grad:
            came = "a number that does not depend on the predictions, or was cut off from them"
        else:
            return value
        raise ValueError(
            f"The loss {self!r} returned {came}: expected a real one that torch can differentiate by the predictions; "
            "compute it from them with torch alone, without detach, item, numpy, no_grad or whole numbers."
        )


@register
@dataclass(frozen=True, repr=False)
class SquaredError(Loss):
    """ψ = (1/N) Σ_i ‖ŷ_i − y_i‖².

    Serves regression, several outputs (multi-task), and one-hot targets (boolean, multi-class), as do all losses on
    residuals.

    Examples
    --------
    >>> import torch
    >>> SquaredError().value(torch.tensor([[3.0]]), torch.tensor([[1.0]]), {}).item()
    4.0
    """

    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return the mean squared norm of the errors."""
        return (predictions - targets).square().sum(1).mean()


@register
@dataclass(frozen=True, repr=False)
class Huber(Loss):
    """ψ = (1/N) Σ_i Σ_j h(ŷ_ij − y_ij), h(r) = r² for ∣r∣ ≤ M, M (2∣r∣ − M) beyond; M = ``threshold``.

    Equal to `SquaredError` for errors up to M, then linear with the same slope: one wrong target cannot outweigh the
    rest. (Twice the Huber function of robust statistics.)

    Examples
    --------
    >>> import torch
    >>> Huber(1.0).value(torch.tensor([[3.0, 0.5]]), torch.zeros(1, 2), {}).item()
    5.25
    """

    threshold: float = 1.0

    def __post_init__(self) -> None:
        _positive(self.threshold, "Huber: threshold")

    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return the mean over rows of the sum over outputs."""
        size, M = (predictions - targets).abs(), self.threshold
        return torch.where(size <= M, size.square(), M * (2 * size - M)).sum(1).mean()


@register
@dataclass(frozen=True, repr=False)
class Bisquare(Loss):
    """ψ = (1/N) Σ_i Σ_j b(ŷ_ij − y_ij), b(r) = (M²/6)(1 − (1 − (r/M)²)³) for ∣r∣ ≤ M, M²/6 beyond; M = ``threshold``.

    Tukey's bisquare: about r²/2 for small errors, flat beyond M, so that outliers count but do not pull. It is not
    convex, and flat where every error exceeds M: choose M by the errors at the start.

    Examples
    --------
    >>> import torch
    >>> round(Bisquare(3.0).value(torch.tensor([[9.0]]), torch.tensor([[1.0]]), {}).item(), 6)
    1.5
    """

    threshold: float = 1.0

    def __post_init__(self) -> None:
        _positive(self.threshold, "Bisquare: threshold")

    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return the mean over rows of the sum over outputs."""
        M = self.threshold
        inside = (1 - ((predictions - targets) / M).square()).clamp_min(0.0)
        return (M**2 / 6 * (1 - inside**3)).sum(1).mean()


def misclassified(predictions: Tensor, targets: Tensor) -> Tensor:
    """Return which of the rows (N, m) have their largest prediction at another class than the one-hot targets.

    Of equal predictions the first counts.
    """
    # Not by argmax, which takes ten times as long where predictions lie column by column.
    return targets.gather(1, predictions.max(1, keepdim=True).indices)[:, 0] == 0


def _positive(value: float, name: str) -> None:
    if number(value, name, low=0.0) == 0.0:
        raise ValueError(f"{name} is {value!r}: expected a number above 0.")


@register
@dataclass(frozen=True, repr=False)
class CrossEntropy(Loss):
    """ψ = −(1/N) Σ_i y_iᵀ log softmax(e^τ ŷ_i), y_i one-hot; τ = 0, or tuned when ``temperature`` is True.

    Least squares scores lie between 0 and 1: without a temperature even perfect ones have the loss log(1 + (m−1)/e),
    1.461 for ten classes.

    Examples
    --------
    >>> import torch
    >>> round(CrossEntropy().value(torch.eye(10), torch.eye(10), {}).item(), 3)
    1.461
    """

    temperature: bool = False
    classifies = True

    def __post_init__(self) -> None:
        flag(self.temperature, "CrossEntropy: temperature")

    def init(self) -> Omega:
        """Return ``log_temperature`` τ = 0 when it is tuned."""
        return {"log_temperature": tensor(0.0)} if self.temperature else {}

    def scores(self, predictions: Tensor, omega: Omega) -> Tensor:
        """Return the logits e^τ ŷ."""
        return predictions * omega["log_temperature"].exp() if self.temperature else predictions

    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return the mean cross-entropy."""
        scores = self.scores(predictions, omega)
        scores = scores - scores.detach().amax(1, keepdim=True)  # so that a loss near zero keeps its digits
        # Not by log_softmax, which takes two to three times as long over so few classes.
        return (torch.logsumexp(scores, 1) * targets.sum(1) - (targets * scores).sum(1)).mean()

    def with_slopes(
        self, predictions: Tensor, targets: Tensor, omega: Omega
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]] | None:
        """Return ψ with e^τ (softmax(e^τ ŷ) Σ_j y_ij − y) / N, and Σ_ij of that times ŷ for τ."""
        scores = self.scores(predictions, omega)
        scores = scores - scores.amax(1, keepdim=True)
        size = targets.sum(1, keepdim=True)
        loss = -(targets * scores).sum() / len(targets)
        own = {}
        shares = scores.exp()
        total = shares.sum(1, keepdim=True)
        loss += (total.log() * size).sum() / len(targets)
        slopes = shares.mul_(size / total).sub_(targets).div_(len(targets))
        if self.temperature:  # each row of these adds up to zero: what was subtracted of its scores does not count
            own = {"log_temperature": (slopes * scores).sum()}
            slopes *= omega["log_temperature"].exp()
        return loss, slopes, own


def usual_loss(task: str) -> Loss:
    """Return the loss of a recipe that names none: that of classes, or that of numbers."""
    return CrossEntropy() if task == "classification" else SquaredError()


_LOSSES: Registered[Callable[[Tensor, Tensor], Tensor]] = Registered("loss", "register_loss")


def register_loss(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Make a loss of your own known as ``name``, for `CustomLoss`; a name given again is replaced.

    Parameters
    ----------
    name : str
        What recipes call it.
    function : callable
        Torch function of predictions and targets, both (N, m), that returns a scalar with a slope by the predictions.

    Examples
    --------
    >>> register_loss("absolute error", lambda predictions, targets: (predictions - targets).abs().sum(1).mean())
    >>> CustomLoss("absolute error")
    CustomLoss(name="absolute error")
    """
    _LOSSES.add(name, function)


@register
@dataclass(frozen=True, repr=False)
class CustomLoss(Loss):
    """ψ = f(ŷ, y), f any torch function that `register_loss` made known under ``name``.

    A recipe holds the name only: nothing is imported, and a file that names a loss of another program is refused until
    that loss is registered here too.

    Raises
    ------
    ValueError
        When no loss of that name is registered; when f does not return a scalar tensor; when a gradient is asked for,
        and f is cut off from its predictions, or no real number.

    Examples
    --------
    >>> import torch
    >>> register_loss("largest error", lambda predictions, targets: (predictions - targets).abs().amax())
    >>> CustomLoss("largest error").value(torch.tensor([[3.0]]), torch.tensor([[1.0]]), {}).item()
    2.0
    """

    name: str
    by_row = False

    def __post_init__(self) -> None:
        _LOSSES.get(self.name)

    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return f(predictions, targets)."""
        # Of copies, since a function that works in place would change the targets for all that follows.
        value = _LOSSES.get(self.name)(predictions.clone(), targets.clone())
        if not isinstance(value, Tensor) or value.ndim:
            got = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
            raise ValueError(f"The loss {self.name!r} returned {got}: expected a scalar tensor, such as a mean.")
        return self.checked(value, predictions)
