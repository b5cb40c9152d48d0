"""Criteria: what "validation loss" is."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.choices import Criterion
from ..model.piece import register

__all__ = ["HeldOut"]


@register
@dataclass(frozen=True, repr=False)
class HeldOut(Criterion):
    """The loss, on the validation rows, of the fit to the training rows.

    Examples
    --------
    >>> HeldOut()
    HeldOut()
    """
