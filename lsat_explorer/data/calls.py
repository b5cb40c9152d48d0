"""The call that makes a data set again."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

__all__ = ["call_of"]


def call_of(function: Callable[..., Any], **arguments: object) -> str:
    """Return Python that calls a function of `lsat_explorer.datasets`, without what it would take anyway."""
    parameters = signature(function).parameters
    words = []
    for name, value in arguments.items():
        known = parameters.get(name)
        if known is None or value != known.default:
            leading = known is not None and known.kind is Parameter.POSITIONAL_OR_KEYWORD
            words.append(repr(value) if leading else f"{name}={value!r}")
    return f"lsat.datasets.{function.__name__}({', '.join(words)})"
