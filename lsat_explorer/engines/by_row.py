"""Numbers by training row that lie with the rows: a method's steps are taken there, and only its sums come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from .looked import most

__all__ = ["ByRow", "Holder", "Program", "outcome", "worked_out"]

Function = Callable[..., Any]

_DESCRIBED: set[Any] = {
    *(
        getattr(Tensor, name).__get__
        for name in ("shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_cuda")
    ),
    *(getattr(Tensor, name) for name in ("dim", "size", "numel", "element_size", "is_floating_point", "__len__")),
}
_SAME = {"clone", "detach", "cpu", "double", "contiguous"}
"""Gives equal float64 numbers on the host, which nobody changes in place."""

_SUMS = {
    "sum": "sum",
    "mean": "sum",
    "all": "all",
    "any": "any",
    "max": "max",
    "min": "min",
    "amax": "max",
    "amin": "min",
}
"""What makes one number of all, and of the numbers of parts."""

_BY_ROW = {
    "add", "radd", "sub", "rsub", "mul", "rmul", "div", "truediv", "rtruediv", "rdiv", "true_divide", "neg", "pow",
    "abs", "square", "sqrt", "exp", "log", "sign", "clamp", "clamp_min", "clamp_max", "minimum", "maximum", "where",
    "gt", "ge", "lt", "le", "eq", "ne", "and", "or", "invert", "logical_and", "logical_or", "logical_not",
    "bitwise_and", "bitwise_or", "bitwise_not", "isfinite", "isnan", "zeros_like", "ones_like",
}  # fmt: skip
"""What acts on each row by itself."""


class Holder(Protocol):
    """Who has the rows in parts."""

    def laid(self, values: Tensor) -> list[Any]:
        """Return numbers by row (k,) that lie with their parts, sent there once."""

    def worked_out(self, program: Program, leaves: Sequence[list[Any]]) -> list[Any]:
        """Return what becomes of numbers that lie with parts, which stays with them."""

    def brought(self, parts: list[Any]) -> list[np.ndarray]:
        """Return what lies with parts."""

    def told(self, what: str) -> list[Any]:
        """Return what each part knows of its rows, which stays with them."""


class Program:
    """What to do with numbers by row: a ``function`` of programs, leaves by their number, and plain values."""

    def __init__(self, function: Function, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.function, self.given, self.named = function, given, named

    def __call__(self, leaves: Sequence[Tensor], known: dict[int, Any] | None = None) -> Any:
        """Do it, and what several programs share once."""
        done: dict[int, Any] = {} if known is None else known

        def value(one: Any) -> Any:
            if isinstance(one, Program) and id(one) not in done:
                done[id(one)] = one(leaves, done)
            return done[id(one)] if isinstance(one, Program) else leaves[one.number] if isinstance(one, _Leaf) else one

        return self.function(*map(value, self.given), **{name: value(one) for name, one in self.named.items()})


class _Leaf:
    def __init__(self, number: int) -> None:
        self.number = number


def outcome(leaf: Any) -> Any:
    """Return a leaf itself, as a program does nothing to."""
    return leaf


def offered(values: Tensor, count: int, largest: bool) -> Tensor:
    """Return the largest or the least numbers of a part, their rows in it, and how many it has, in three rows."""
    most, rows = values.topk(min(count, len(values)), largest=largest)
    return torch.stack([most, rows.double(), torch.full_like(most, len(values))])


def worked_out(_: Any, program: Program, *leaves: np.ndarray) -> np.ndarray:
    """Return what a program makes of the numbers of one part, which lie where its rows are."""
    tensors = [torch.from_numpy(np.require(leaf, None, "W")) for leaf in leaves]
    result: np.ndarray = torch.as_tensor(program(tensors), device="cpu").numpy()
    return result


class ByRow(Tensor):
    """Numbers (k,), one for each training row, in parts that lie with the rows of a ``holder``.

    What acts on each row by itself is noted, and done where the rows are when it is first needed. Sums, extremes and
    tests of all rows come back as one number. Anything else brings all numbers here, once.

    Parameters
    ----------
    holder : Holder
        Who has the rows.
    count : int
        Number of rows k.
    made : list or tuple
        The parts as they lie, or the function of other numbers that makes them: (function, given, named).
    dtype : torch.dtype
        Of the numbers.
    """

    _holder: Holder
    _made: Any
    _whole: Tensor | None

    @staticmethod
    def __new__(cls, holder: Holder, count: int, made: Any, dtype: torch.dtype = torch.float64) -> ByRow:
        """Describe the numbers."""
        values = torch.Tensor._make_wrapper_subclass(cls, (count,), dtype=dtype)
        values._holder, values._made, values._whole = holder, made, None
        return values

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"ByRow({len(self):,} numbers, with their rows)"

    def parts(self) -> list[Any]:
        """Return the numbers as they lie with the rows, made there if need be."""
        if isinstance(self._made, tuple):
            program, leaves = self._program()
            self._made = self._holder.worked_out(program, leaves)
        return self._made

    def here(self) -> Tensor:
        """Return all numbers, brought here once."""
        if self._whole is None:
            self._whole = torch.from_numpy(np.concatenate(self._holder.brought(self.parts())))
        return self._whole

    def _program(self) -> tuple[Program, list[list[Any]]]:
        """Return how the numbers come of others that lie, and these."""
        leaves: list[list[Any]] = []
        known: dict[int, Any] = {}

        def read(one: Any) -> Any:
            if not isinstance(one, Tensor) or not one.ndim:
                return one
            if id(one) not in known:
                if isinstance(one, ByRow) and isinstance(one._made, tuple):
                    known[id(one)] = made(one)
                else:
                    known[id(one)] = _Leaf(len(leaves))
                    leaves.append(one.parts() if isinstance(one, ByRow) else self._holder.laid(one))
            return known[id(one)]

        def made(one: ByRow) -> Program:
            function, given, named = one._made
            return Program(function, tuple(map(read, given)), {name: read(value) for name, value in named.items()})

        return (made(self) if isinstance(self._made, tuple) else Program(outcome, (read(self),), {})), leaves

    def like(self, what: str) -> ByRow:
        """Return other numbers by the same rows that their parts know: their ``"numbers"``, or their ``"classes"``."""
        return ByRow(self._holder, len(self), self._holder.told(what), torch.int64)

    def each(self, function: Function, *given: Any) -> list[Tensor]:
        """Return what a function of the numbers of a part says of every part, in order; it is brought here."""
        program, leaves = ByRow(self._holder, len(self), (function, (self, *given), {}))._program()
        return [torch.from_numpy(part) for part in self._holder.brought(self._holder.worked_out(program, leaves))]

    def _number(self, name: str) -> Tensor:
        """Return the one number that ``name`` makes of all."""
        found = torch.stack(self.each(getattr(torch, _SUMS[name])))
        total: Tensor = getattr(found, _SUMS[name])()
        return total / len(self) if name == "mean" else total

    @classmethod
    def __torch_function__(
        cls, function: Function, types: Any, given: Sequence[Any] = (), named: dict[str, Any] | None = None
    ) -> Any:
        """Note, sum, or bring the numbers here, as the function needs."""
        named, name = named or {}, getattr(function, "__name__", "")
        if function in _DESCRIBED:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*given, **named)
        first, plain = given[0] if given else None, name.strip("_")
        alone = isinstance(first, ByRow) and len(given) == 1 and not named
        everything = name == "__getitem__" and isinstance(given[1], slice) and given[1] == slice(None)
        if isinstance(first, ByRow) and (everything or (alone and name in _SAME)):
            return first
        if isinstance(first, ByRow) and alone and name in _SUMS:
            return first._number(name)
        if isinstance(first, ByRow) and function is Tensor.topk:
            return most(*given, **named)
        if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")):
            raise TypeError(f"{name} changes numbers in place, and these lie with their rows: make new ones.")
        values = [one for one in (*given, *named.values()) if isinstance(one, Tensor) and one.ndim]
        own = next((one for one in values if isinstance(one, ByRow)), None)
        if own is not None and plain in _BY_ROW and all(one.shape == own.shape for one in values):
            row = torch.zeros(1, device="cpu")
            some = [row.to(one.dtype) if isinstance(one, Tensor) and one.ndim else one for one in given]
            kind = function(*some, **named).dtype  # of one row
            return cls(own._holder, len(own), (function, tuple(given), named), kind)
        return cls.__torch_dispatch__(function, types, given, named)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Function, types: Any, given: Sequence[Any] = (), named: dict[str, Any] | None = None
    ) -> Any:
        """Call a function with the numbers here."""
        return function(*map(_here, given), **{name: _here(one) for name, one in (named or {}).items()})


def _here(one: Any) -> Any:
    if isinstance(one, list | tuple):
        return type(one)(map(_here, one))
    return one.here() if isinstance(one, ByRow) else one
