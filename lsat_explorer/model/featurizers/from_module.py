"""Features from a torch module of the user's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..piece import Omega, prefixed, register, within
from ..prepared import Block, Featurizer
from ..registered import Registered

__all__ = ["FromModule", "register_module"]

_MODULES: Registered[Callable[[int], torch.nn.Module]] = Registered("module", "register_module")

_IN_USE: WeakKeyDictionary[torch.nn.Module, threading.Lock] = WeakKeyDictionary()
"""Held while a module has the ω of one thread for its parameters."""


def register_module(name: str, factory: Callable[[int], torch.nn.Module]) -> None:
    """Make a torch module known as ``name``, for `FromModule`; a name given again is replaced.

    Parameters
    ----------
    name : str
        What recipes call it.
    factory : callable
        Takes the number of columns d and returns a fresh module that maps (N, d) to (N, n), row by row.

    Raises
    ------
    ValueError
        For a name that is no printable text; for a factory that is no function, or a module itself.

    Examples
    --------
    >>> import torch
    >>> register_module("tanh layer", lambda d: torch.nn.Sequential(torch.nn.Linear(d, 8), torch.nn.Tanh()))
    >>> FromModule("tanh layer")
    FromModule(name="tanh layer")
    """
    if isinstance(factory, torch.nn.Module):
        raise ValueError(
            f"register_module: {name!r} is a module, {type(factory).__name__}: expected a function that makes a fresh "
            "one for d columns, such as lambda d: torch.nn.Linear(d, 8)."
        )
    _MODULES.add(name, factory)


@register
@dataclass(frozen=True, repr=False)
class FromModule(Featurizer):
    """φ(x) = module(x), any torch module; its parameters in ω by their own names, such as ``0.weight``.

    The module is the one that `register_module` made known under ``name``: a recipe holds the name only, nothing is
    imported, and a file that names a module of another program is refused until it is registered here too. It is made
    with torch seeded by the recipe, and used in evaluation mode: dropout is off, and batch statistics stay as made. It
    is tried on two rows, together and each alone, which also gives parameters to modules that await their input (lazy).

    Raises
    ------
    ValueError
        When no module of that name is registered; when the factory fails or returns no module; when the module fails,
        returns no (N, n) features, n ≥ 1, or others for a row when a second one is beside it.

    Examples
    --------
    >>> import torch
    >>> register_module("features", lambda d: torch.nn.Linear(d, 3))
    >>> FromModule("features")
    FromModule(name="features")
    """

    name: str

    def __post_init__(self) -> None:
        _MODULES.get(self.name)

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block with a module made for inputs (k, d)."""
        with _own_randomness(inputs.device):
            torch.manual_seed(generator.initial_seed())
            return self._make(inputs.shape[1], inputs.device)

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again, made by the registered factory and filled with the saved parameters."""
        device = state["inputs"].device
        with _own_randomness(device):
            block = self._make(int(state["inputs"]), device)
        try:
            block.module.load_state_dict(within("module", state))
        except RuntimeError as error:
            raise ValueError(f"The module {self.name!r} is not the one that was saved: {_words(error)}") from error
        return block

    def _make(self, d: int, device: torch.device) -> _Module:
        try:
            with torch.device("cpu"):  # whatever the default device, the seed draws the same there
                module = _MODULES.get(self.name)(d)
        except Exception as error:  # a function of the user's, which may raise anything
            raise ValueError(
                f"The factory of {self.name!r} made no module for {d} columns, {type(error).__name__}: {_words(error)}"
            ) from error
        if not isinstance(module, torch.nn.Module):
            raise ValueError(f"The factory of {self.name!r} returned {module!r}: expected a torch.nn.Module.")
        return _Module(self.name, module.double().eval().to(device), d, device)


def _own_randomness(device: torch.device) -> AbstractContextManager[None]:
    """Return a context after which the generators that seeding changes are as they were."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


def _words(error: Exception) -> str:
    return " ".join(str(error).split())


class _Module(Block):
    def __init__(self, name: str, module: torch.nn.Module, inputs: int, device: torch.device) -> None:
        self.module, self._name, self._inputs, self._device = module, name, inputs, device
        self.width = self._tried()

    def _tried(self) -> int:
        """Return how many features two rows get, the same together and each alone."""
        # From 0 up to less than 1, so that they are also the whole number 0, for modules that look numbers up.
        rows = torch.linspace(0.5, 0.0, 2 * self._inputs, dtype=torch.float64, device=self._device).view(2, -1)
        together = self._features_of(rows)
        alone = torch.cat([self._features_of(row) for row in rows.split(1)])
        size = together[together.isfinite()].abs()
        rounding = 1e-6 * (size.max().item() if len(size) else 0.0)
        if not torch.allclose(together, alone, rtol=0.0, atol=rounding, equal_nan=True):
            raise ValueError(
                f"The module {self._name!r} works on rows together: a row has other features when a second one is "
                "beside it. Expected a module that maps every row by itself, the same way each time."
            )
        return together.shape[1]

    def _features_of(self, rows: Tensor) -> Tensor:
        count = len(rows)
        try:
            with torch.no_grad():
                found = self.module(rows.clone())
        except Exception as error:  # a module of the user's, which may raise anything
            raise ValueError(
                f"The module {self._name!r} fails on inputs of shape ({count}, {self._inputs}), "
                f"{type(error).__name__}: {_words(error)}"
            ) from error
        shaped = isinstance(found, Tensor) and found.ndim == 2 and len(found) == count and found.shape[1] > 0
        if not shaped or found.is_complex():
            got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else repr(found)
            got += f" of {found.dtype}" if shaped else ""
            raise ValueError(
                f"The module {self._name!r} maps inputs of shape ({count}, {self._inputs}) to {got}: "
                f"expected shape ({count}, n) of real numbers, n at least 1."
            )
        features: Tensor = found.double()
        return features

    def init(self) -> Omega:
        return {name: value.detach().clone() for name, value in self.module.named_parameters()}

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        buffers = {n: b.to(computed.dtype) if b.is_floating_point() else b for n, b in self.module.named_buffers()}
        values = {name: value.to(computed.dtype) for name, value in omega.items()}
        # A copy, since a module may work in place and these may be the rows of the data themselves, or a file's.
        rows = computed.clone()
        with _IN_USE.setdefault(self.module, threading.Lock()):
            found: Tensor = torch.func.functional_call(self.module, {**buffers, **values}, (rows,))
        return found

    def state(self) -> dict[str, Tensor]:
        saved = {name: value.detach().clone() for name, value in self.module.state_dict().items()}
        return {"inputs": torch.tensor(self._inputs, device=self._device), **prefixed("module", saved)}
