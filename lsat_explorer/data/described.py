"""Rows of which shape and type are known without reading one; what is done with all of them reads them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lsat_explorer.data.on_disk import RowsApart

__all__ = ["RowsDescribed"]

_DESCRIBED: set[Any] = {
    *(
        getattr(Tensor, name).__get__
        for name in ("shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_cuda")
    ),
    *(getattr(Tensor, name) for name in ("dim", "size", "numel", "element_size", "is_floating_point", "__len__")),
}
"""What is known of rows without looking at one."""


class RowsDescribed(RowsApart):
    """Rows (N, d) that are read by their numbers; no memory is taken for them as a tensor."""

    @staticmethod
    def described(kind: Any, shape: tuple[int, int], dtype: torch.dtype | np.dtype) -> Any:
        """Return rows of a ``kind``, a subclass, that have this shape and type and hold nothing."""
        known = dtype if isinstance(dtype, torch.dtype) else torch.from_numpy(np.empty(0, dtype)).dtype
        return torch.Tensor._make_wrapper_subclass(kind, shape, dtype=known)

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def _chosen(self, numbers: np.ndarray, columns: tuple[Any, ...] = ()) -> Tensor:
        """Return some columns of the rows with these ascending numbers, as a plain tensor."""
        raise NotImplementedError  # not by abc, which asks for a metaclass where a tensor has its own

    def whole(self, function: Callable[..., Any]) -> Tensor:
        """Return all rows as a plain tensor, which ``function`` asks for."""
        return self.read(slice(None))

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: Any, given: Sequence[Any] = (), named: Any = None
    ) -> Any:
        """Answer what the shape and type tell; index by reading; do all else with the rows here."""
        if function is Tensor.__getitem__:
            return given[0]._at(given[1])
        if function in _DESCRIBED:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*given, **(named or {}))
        return cls.__torch_dispatch__(function, types, given, named)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Callable[..., Any], types: Any, given: Sequence[Any] = (), named: Any = None
    ) -> Any:
        """Call a function with the rows here."""
        here = (one.whole(function) if isinstance(one, RowsDescribed) else one for one in given)
        return function(*here, **(named or {}))

    def read(self, rows: slice, out: Tensor | None = None) -> Tensor:
        """Return consecutive rows (r, d), the first rows of ``out`` where it is given."""
        start, stop, _ = rows.indices(len(self))
        found = self._chosen(np.arange(start, max(start, stop)))
        return found if out is None else out[: len(found)].copy_(found)

    def take(self, chosen: Tensor) -> Tensor:
        """Return the rows with these ascending numbers (r,)."""
        return self._chosen(chosen.numpy())

    def _at(self, index: Any) -> Tensor:
        """Return what indexing with ``index`` gives, of its first dimension only what is asked for."""
        whole = index if isinstance(index, tuple) else (index,)
        if whole[0] is Ellipsis or whole[0] is None:
            return self.whole(Tensor.__getitem__)[index]
        numbers = torch.arange(len(self), device="cpu")[whole[0]]
        if isinstance(whole[0], slice) and numbers.ndim == 1 and (whole[0].step or 1) > 0:
            return self._chosen(numbers.numpy(), whole[1:])
        rows, place = np.unique(numbers.reshape(-1).numpy(), return_inverse=True)
        found = self._chosen(rows)[torch.from_numpy(place)].reshape(*numbers.shape, self.shape[1])
        return found[(*(slice(None),) * numbers.ndim, *whole[1:])]
