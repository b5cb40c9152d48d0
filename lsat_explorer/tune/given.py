"""The hyper-parameters that a user gives to start from: refused here, before anything is computed with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..engines.by_row import ByRow
from ..model.piece import Omega, nearest

_USUAL = "as in lsat.Problem(recipe, data).init()"

__all__ = [
    "as_held",
    "complete",
    "given_start",
    "held_at",
    "other_than",
    "refuse_other_names",
    "refuse_other_shapes",
    "started",
]


def given_start(omega: Any) -> Omega | None:
    """Return tensors of one's own from what a user gives: tensors, arrays, lists or numbers by name; None for None.

    Names and shapes are checked where a recipe and its data have told them.

    Raises
    ------
    ValueError
        For what is no mapping, or holds anything but finite real numbers.
    """
    if omega is None:
        return None
    if not isinstance(omega, Mapping):
        raise ValueError(f"omega is a {type(omega).__name__}, expected hyper-parameters by name, such as run.omega.")
    return {name: _numbers(name, value) for name, value in omega.items()}


def _numbers(name: Any, value: Any) -> Tensor:
    if isinstance(value, ByRow):  # formed by a run, and left with the rows
        return value
    found = _real(value)
    if found is None:
        kind = f"{value.dtype} tensor" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"omega[{name!r}] is a {kind}, expected real numbers: give a number or a float64 tensor.")
    wrong = (~torch.isfinite(found)).nonzero()
    if len(wrong):
        where = f"[{', '.join(map(str, wrong[0].tolist()))}]" if found.ndim else ""
        number = float(found[tuple(wrong[0])])
        raise ValueError(
            f"omega[{name!r}]{where} is {number}, expected finite numbers: leave it out for the usual start."
        )
    return found


def _real(value: Any) -> Tensor | None:
    """Return a float64 tensor that shares nothing with ``value``, None where it holds no real numbers."""
    if isinstance(value, Tensor):
        real = value.layout is torch.strided and not value.is_complex() and value.dtype is not torch.bool
        return value.detach().to(device="cpu", dtype=torch.float64).clone() if real else None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # rows of different lengths, tensors that need a gradient
        return None
    return torch.from_numpy(np.array(array, dtype=np.float64)) if array.dtype.kind in "iuf" else None


def refuse_other_names(omega: Omega | None, start: Omega) -> None:
    """Raise for names that the hyper-parameters of a problem, ``start``, lack."""
    for name in omega or {}:
        if name not in start:
            raise ValueError(f"omega has {name!r}, which is no hyper-parameter here{nearest(name, start)}")


def refuse_other_shapes(omega: Omega, start: Omega) -> None:
    """Raise for entries of other shapes than those of the same names in ``start``."""
    for name, value in omega.items():
        if name in start and value.shape != start[name].shape:
            raise ValueError(
                f"omega[{name!r}] has shape {tuple(value.shape)}, expected {tuple(start[name].shape)}, {_USUAL}."
            )


def complete(omega: Omega, start: Omega) -> Omega:
    """Return ``omega`` when it has the names and shapes of ``start``; the numbers are not looked at.

    Raises
    ------
    ValueError
        For a name that is missing or is none, and for what is no tensor of real numbers of that shape.
    """
    if not isinstance(omega, Mapping):
        raise ValueError(f"omega is a {type(omega).__name__}, expected hyper-parameters by name: {_USUAL}.")
    refuse_other_names(omega, start)
    for name in start:
        if name not in omega:
            raise ValueError(f"omega lacks {name!r}: expected every hyper-parameter, {_USUAL}.")
        value = omega[name]
        if not isinstance(value, Tensor) or not value.is_floating_point():
            kind = f"{value.dtype} tensor" if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"omega[{name!r}] is a {kind}, expected a float64 tensor: {_USUAL}.")
    refuse_other_shapes(omega, start)
    return omega


def started(omega: Omega, start: Omega) -> Omega:
    """Return ``omega`` on the host, in its own order, with what it leaves out from ``start``."""
    refuse_other_names(omega, start)
    refuse_other_shapes(omega, start)
    return {name: value.cpu() for name, value in omega.items()} | {
        n: v.clone() for n, v in start.items() if n not in omega
    }


def held_at(start: Omega, omega: Omega | None) -> Omega:
    """Return what entries that are not tuned stay at: ``start``, or where a run is when they are frozen."""
    refuse_other_shapes(omega or {}, start)
    given = omega or {}
    return {name: given[name].cpu() if name in given else value.clone() for name, value in start.items()}


def other_than(omega: Omega, held: Omega) -> list[str]:
    """Return the names of what is elsewhere in ``omega`` than in ``held``; the same tensor is not looked into."""
    both = ((name, value, omega[name]) for name, value in held.items() if name in omega)
    return [name for name, value, mine in both if mine is not value and not torch.equal(mine.cpu().double(), value)]


def as_held(omega: Omega, held: Omega) -> Omega:
    """Return ``omega`` with the very tensors of ``held``, so that what goes on from it need not be compared again.

    Raises
    ------
    ValueError
        For an entry that is elsewhere: the rows were formed with it as it is held.
    """
    if names := other_than(omega, held):
        raise ValueError(
            f"omega[{names[0]!r}] is not tuned here, and differs from what the rows of this problem were formed with: "
            "leave it as it is in problem.init(), or hold it there by lsat.Problem(recipe, data, held=omega)."
        )
    return {name: held.get(name, value) for name, value in omega.items()}
