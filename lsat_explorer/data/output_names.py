"""The names of the outputs in regression: those of y, the same in every part of it, or those that are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from lsat_explorer.data.frames import names_in
from lsat_explorer.data.split import SPLITS, counted
from lsat_explorer.data.tables import Column, shown

__all__ = ["agreed_names", "check_output_names", "output_names_in"]


def output_names_in(outcomes: Mapping[str, Column], task: str, given: Any = None) -> tuple[str, ...]:
    """Return the m names of the outputs of all splits; none where they have none, and in classification.

    Parameters
    ----------
    outcomes
        The outcomes (N,) or (N, m) of each split.
    task
        ``"classification"`` or ``"regression"``.
    given
        Names that go before those of the outcomes, or None.

    Raises
    ------
    ValueError
        As `check_output_names` and `agreed_names` do.
    """
    if given is None:
        each = ((f"{SPLITS[split]} y", outcome) for split, outcome in outcomes.items())
        return agreed_names(each) if task == "regression" else ()
    names = tuple(names_in(given, "target_names"))
    check_output_names(names, task, prod(outcomes["train"].values.shape[1:]))
    return names


def agreed_names(outcomes: Iterable[tuple[str, Column]]) -> tuple[str, ...]:
    """Return the names that all parts of y have; those without any have them too. One column may have several: none.

    Parameters
    ----------
    outcomes
        What to call each part, and the part.

    Raises
    ------
    ValueError
        When several columns of one part are called otherwise, or stand in another order, than those of another.
    """
    named = [(what, outcome.names) for what, outcome in outcomes if outcome.names]
    if not named:
        return ()
    first, names = named[0]
    for what, others in named[1:]:
        if others != names:
            if len(names) == len(others) == 1:
                return ()
            raise ValueError(
                f"{what} has the columns {shown(list(others))} and {first} has {shown(list(names))}; give both the "
                f"same columns in one order, for instance by y[{shown(list(names))}]"
            )
    return names


def check_output_names(names: Sequence[str], task: str, outputs: int) -> None:
    """Refuse names of outputs, where there are any, that are not one for each output, or are those of classes.

    Raises
    ------
    ValueError
        In one sentence with what was expected.
    """
    if not names:
        return
    if task == "classification":
        raise ValueError(
            f"target_names is {shown(list(names))} for classification, expected None, for there the classes are the "
            f"names; leave it out, or pass task='regression'"
        )
    if len(names) != outputs:
        given, wanted = counted(len(names), "name"), counted(outputs, "output")
        raise ValueError(f"target_names has {given} for {wanted}; give one per column of y, or leave it out")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(
            f"target_names has {shown(twice)} twice, expected a name of its own for each column of y; make it so"
        )
