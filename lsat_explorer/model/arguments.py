"""What a piece is called with, and words for what it does not take."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Iterable, Mapping, Sized
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

__all__ = ["nearest", "told", "with_words"]

_Kind = TypeVar("_Kind", bound=type)
_LONGEST = 60  # letters of a value that is told


def nearest(name: Any, known: Iterable[str]) -> str:
    """Return the end of an error sentence that offers the nearest known name, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    return f": did you mean {close[0]!r}?" if close else f": expected one of {', '.join(names) or 'none'}."


def told(value: Any) -> str:
    """Return a value as an error tells it: its code where that is short, else what it is."""
    text = repr(value)
    if len(text) <= _LONGEST and text.isprintable():
        return text
    count = f" of {len(value):,}" if isinstance(value, Sized) and getattr(value, "shape", True) else ""
    return f"a {type(value).__name__}{count}"


def with_words(kind: _Kind) -> _Kind:
    """Have a class refuse arguments that it does not take in words that say what it takes; a TypeError all the same."""
    make = kind.__init__  # type: ignore[misc]

    @functools.wraps(make)
    def made(self: Any, *given: Any, **named: Any) -> None:
        try:
            make(self, *given, **named)
        except TypeError as error:
            words = _refused(kind, inspect.signature(make), given, named)
            if not words:
                raise
            raise TypeError(words) from error

    kind.__init__ = made  # type: ignore[misc]
    return kind


def _refused(kind: type, signature: inspect.Signature, given: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """Return what is wrong with a call, empty where these words have nothing to say of it."""
    parameters = list(signature.parameters.values())[1:]
    kinds = {parameter.kind for parameter in parameters}
    places = [each.name for each in parameters if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    known = places + [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    unknown = [name for name in named if name not in known]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        advice = nearest(unknown[0], known) if known else f": it takes nothing, write {kind.__name__}()."
        return f"{kind.__name__} has no {unknown[0]!r}{advice}"
    if len(given) <= len(places) or inspect.Parameter.VAR_POSITIONAL in kinds:
        return ""
    came = told(given[0]) if len(given) == 1 else f"{len(given):,} values"
    if not places:
        return f"{kind.__name__} got {came}: it takes nothing, write {kind.__name__}()."
    if len(places) == 1 and _holds_several(kind, places[0]):
        values = ", ".join(map(told, given[:2])) + (", …" if len(given) > 2 else "")
        return f"{kind.__name__} got {came}, expected a tuple of them: write {kind.__name__}(({values}))."
    return f"{kind.__name__} got {came}, expected at most {len(places)} ({', '.join(places)}): give each by its name."


def _holds_several(kind: type, name: str) -> bool:
    return is_dataclass(kind) and any(each.name == name and "tuple" in str(each.type) for each in fields(kind))
