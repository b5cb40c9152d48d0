"""What every description shares: a registry, code as ``repr``, and a JSON form that nothing is imported from."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from .arguments import nearest, with_words

__all__ = [
    "Omega",
    "Piece",
    "decode",
    "encode",
    "flag",
    "nearest",
    "number",
    "one_of",
    "register",
    "source",
    "whole",
]

Omega = dict[str, Tensor]
"""Values of hyper-parameters by dotted name, in order."""

DIGITS = 19
"""Most digits of a whole number in JSON, those of 2⁶³."""

REGISTRY: dict[str, type[Piece]] = {}
"""Every kind of piece by its name in JSON; tests and widgets run over it."""

_PieceType = TypeVar("_PieceType", bound="type[Piece]")


def register(kind: _PieceType) -> _PieceType:
    """Put a kind of piece in the registry."""
    REGISTRY[kind.__name__] = kind
    return with_words(kind)


class Piece:
    """A frozen description. ``eval(repr(x)) == x`` holds with the public names in scope."""

    members_field: ClassVar[str | None] = None
    """The field that holds named members given as keywords, for pieces made of pieces."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if "__post_init__" in cls.__dict__:
            cls.__post_init__ = _plainly(cls.__dict__["__post_init__"])  # type: ignore[assignment, method-assign]

    def __post_init__(self) -> None:
        _plainly(lambda piece: None)(self)

    def __repr__(self) -> str:
        return self.to_code()

    def to_code(self, prefix: str = "", indent: int | None = None) -> str:
        """Return the call that makes this piece."""
        arguments = [
            (f"{name}=" if name else "", source(item, prefix, _deeper(indent))) for name, item in self._arguments()
        ]
        ours = type(self).__module__.split(".")[0] == __name__.split(".")[0]
        before = prefix if ours else ""  # a piece registered elsewhere is no name of this package
        return _bracket(f"{before}{type(self).__name__}(", arguments, ")", indent)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: ``type`` and the fields."""
        if self.members_field is not None:
            return {"type": type(self).__name__, "members": encode(getattr(self, self.members_field))}
        return {"type": type(self).__name__, **{f.name: encode(getattr(self, f.name)) for f in _fields(self)}}

    @classmethod
    def from_dict(cls, value: dict[str, Any], where: str) -> Piece:
        """Rebuild a piece from its JSON form without ``type``; ``where`` names it in errors."""
        known = ["members"] if cls.members_field is not None else [f.name for f in _fields(cls)]
        for key in value:
            if key not in known:
                raise ValueError(f"{where}: {cls.__name__} has no {key!r}{nearest(key, known)}")
        arguments = {key: decode(item, f"{where}.{key}") for key, item in value.items()}
        if cls.members_field is not None:
            arguments = arguments.get("members", {})
            if not isinstance(arguments, dict):
                raise ValueError(f"{where}.members: expected named members, got {arguments!r}.")
        try:
            return cls(**arguments)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where}: {error}") from error

    def _arguments(self) -> list[tuple[str, Any]]:
        """Return the keyword arguments that differ from their defaults; a positional one has no name."""
        members = self.members_field
        if members is not None:
            return list(getattr(self, members).items())
        values = ((f, getattr(self, f.name)) for f in _fields(self))
        return [(f.name, value) for f, value in values if value != _default(f)]


def _plainly(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a piece's own check of fields that are plain values before it, and that JSON can hold."""

    @functools.wraps(check)
    def checked(piece: Any) -> None:
        names = {f.name: f"{type(piece).__name__}: {f.name}" for f in _fields(piece)}
        for field, name in names.items():
            object.__setattr__(piece, field, plain(getattr(piece, field)))
            refuse_unwritable(getattr(piece, field), name)
        check(piece)
        for field, name in names.items():  # a check makes tuples of arrays
            refuse_unwritable(getattr(piece, field), name)

    return checked


_PLAIN = {int, float, str, bool, type(None)}
_MADE_PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (np.bool_, bool),
    (int | np.integer, int),
    (float | np.floating, float),
    (str, str.__str__),  # of a text that is a choice of an Enum, str(…) is the name of the choice
)


def plain(value: Any) -> Any:
    """Return a number or text of numpy, or of a kind of its own, as Python's, a list as a tuple; others as they are."""
    if isinstance(value, tuple | list):
        return tuple(value) if set(map(type, value)) <= _PLAIN else tuple(map(plain, value))
    if type(value) in _PLAIN or isinstance(value, Piece):
        return value
    return next((make(value) for kind, make in _MADE_PLAIN if isinstance(value, kind)), value)


def refuse_unwritable(value: Any, name: str) -> None:
    """Refuse what could not be read again from JSON: whole numbers of 20 digits, one surrogate of a pair."""
    if isinstance(value, tuple) and not set(map(type, value)) <= {float}:
        for item in value:
            refuse_unwritable(item, name)
    elif isinstance(value, int) and abs(value) >= 10**DIGITS:
        raise ValueError(f"{name} holds a whole number of {value.bit_length()} bits: expected at most {DIGITS} digits.")
    elif isinstance(value, str) and not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ValueError(f"{name} holds {value!r}: expected text, which has no surrogate alone.")


def _fields(piece: Any) -> tuple[Field[Any], ...]:
    return fields(piece)


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def source(value: Any, prefix: str = "", indent: int | None = None) -> str:
    """Return Python that makes ``value``; ``prefix`` stands before public names, ``indent`` breaks long lines."""
    if isinstance(value, Piece):
        return value.to_code(prefix, indent)
    if isinstance(value, Mapping):
        items = [(f"{_literal(key)}: ", source(item, prefix, _deeper(indent))) for key, item in value.items()]
        return _bracket("{", items, "}", indent)
    if isinstance(value, tuple):
        inside = ", ".join(source(item, prefix) for item in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return _literal(value)


def _literal(value: Any) -> str:
    value = plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    printable = isinstance(value, str) and value.isprintable()
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if printable else repr(value)


def _deeper(indent: int | None) -> int | None:
    return None if indent is None else indent + 4


def _bracket(head: str, items: list[tuple[str, str]], tail: str, indent: int | None) -> str:
    line = head + ", ".join(name + text for name, text in items) + tail
    if indent is None or (len(line) + indent <= 100 and "\n" not in line):
        return line
    inside = "".join(f"{' ' * (indent + 4)}{name}{text},\n" for name, text in items)
    return f"{head}\n{inside}{' ' * indent}{tail}"


def encode(value: Any) -> Any:
    """Return the JSON form of a piece, number, string, tuple, mapping or None."""
    if isinstance(value, Piece):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return value


def decode(value: Any, where: str) -> Any:
    """Rebuild what `encode` gave. ``where`` names the key in errors; nothing is imported or evaluated."""
    if isinstance(value, list):
        return tuple(decode(item, f"{where}[{i}]") for i, item in enumerate(value))
    if not isinstance(value, dict):
        return value
    if "type" not in value:
        return {key: decode(item, f"{where}.{key}") for key, item in value.items()}
    kind = REGISTRY.get(value["type"]) if isinstance(value["type"], str) else None
    if kind is None:
        raise ValueError(f"{where}: unknown type {value['type']!r}{nearest(value['type'], REGISTRY)}")
    return kind.from_dict({key: item for key, item in value.items() if key != "type"}, where)


def number(value: Any, name: str, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Check a real number for a piece's ``__post_init__``; low and high are allowed themselves."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ValueError(f"{name} is {value!r}: expected a number.")
    if isinstance(value, int) and abs(value) > 2**63:
        raise ValueError(f"{name} is a whole number of {value.bit_length()} bits: expected a finite number.")
    if not low <= value <= high or math.isinf(value):
        between = (
            f"between {low:g} and {high:g}" if high < math.inf else f"of at least {low:g}" if low > -math.inf else ""
        )
        raise ValueError(f"{name} is {value!r}: expected a finite number {between}".rstrip() + ".")
    return float(value)


def whole(value: Any, name: str, *, low: int = 1, high: int = 10_000_000) -> int:
    """Check a whole number for a piece's ``__post_init__``; low and high are allowed themselves."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        large = isinstance(value, int) and abs(value) > 2**63  # of which Python may refuse to show the digits
        shown = f"a whole number of {value.bit_length()} bits" if large else repr(value)
        raise ValueError(f"{name} is {shown}: expected a whole number from {low} to {high:,}.")
    return value


def flag(value: Any, name: str) -> bool:
    """Check a True or False for a piece's ``__post_init__``."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}: expected True or False.")
    return value


def one_of(value: Any, name: str, allowed: Iterable[Any]) -> Any:
    """Check a choice between a few values for a piece's ``__post_init__``."""
    choices = list(allowed)
    if isinstance(value, bool) or value not in choices:
        raise ValueError(f"{name} is {value!r}: expected one of {', '.join(map(str, choices))}.")
    return value


def tensor(value: float) -> Tensor:
    """Return a float64 scalar, the form of one hyper-parameter."""
    return torch.tensor(float(value), dtype=torch.float64, device="cpu")


def prefixed(prefix: str, omega: Omega) -> Omega:
    """Return ``omega`` with ``prefix.`` before each name."""
    return {f"{prefix}.{name}" if prefix else name: value for name, value in omega.items()}


def within(prefix: str, omega: Omega) -> Omega:
    """Return the entries of ``omega`` below ``prefix.``, without it."""
    if not prefix:
        return dict(omega)
    return {name[len(prefix) + 1 :]: value for name, value in omega.items() if name.startswith(prefix + ".")}
