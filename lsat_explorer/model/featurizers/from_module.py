"""Features from a torch module of the user's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ..hyper_penalties import Frozen, HyperPenalty
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
    A saved model is made again with the same seed, and refused where the module then gives those rows other features.

    Parameters that the module froze, by ``requires_grad_(False)``, are held as by `Frozen`; a hyper-penalty of the
    recipe for one has it tuned. Those that are no real numbers, such as indices, stay with the module, out of ω.

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
        return self._make(inputs.shape[1], inputs.device, generator.initial_seed())

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again, made by the registered factory and filled with the saved parameters.

        Raises
        ------
        ValueError
            When the factory's module has other parameters, or gives two rows features that differ by more than 1e-6 of
            the largest from those that were saved.
        """
        # A file of an earlier version tells neither the seed nor the features: nothing can then be compared.
        seed = int(state["seed"]) if "seed" in state else None
        block = self._make(int(state["inputs"]), state["inputs"].device, seed)
        try:
            block.module.load_state_dict(within("module", state))
        except RuntimeError as error:
            raise ValueError(f"The module {self.name!r} is not the one that was saved: {_words(error)}") from error
        block.check_same(state.get("tried"))
        return block

    def _make(self, d: int, device: torch.device, seed: int | None) -> _Module:
        with _own_randomness(device):
            if seed is not None:
                torch.manual_seed(seed)
            return _Module(self.name, self._made(d).double().eval().to(device), d, device, seed)

    def _made(self, d: int) -> torch.nn.Module:
        try:
            with torch.device("cpu"):  # whatever the default device, the seed draws the same there
                module = _MODULES.get(self.name)(d)
        except Exception as error:  # a function of the user's, which may raise anything
            raise ValueError(
                f"The factory of {self.name!r} made no module for {d} columns, {type(error).__name__}: {_words(error)}"
            ) from error
        if not isinstance(module, torch.nn.Module):
            raise ValueError(f"The factory of {self.name!r} returned {module!r}: expected a torch.nn.Module.")
        return module


def _own_randomness(device: torch.device) -> AbstractContextManager[None]:
    """Return a context after which the generators that seeding changes are as they were."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


def _alike(features: Tensor, others: Tensor) -> bool:
    """Whether features (N, n) are the same to 1e-6 of the largest, above what other machines round otherwise."""
    size = features[features.isfinite()].abs()
    rounding = 1e-6 * (size.max().item() if len(size) else 0.0)
    same = features.shape == others.shape
    return same and torch.allclose(features, others, rtol=0.0, atol=rounding, equal_nan=True)


def _finite(features: Tensor) -> Tensor:
    """Return features as a file of a model can hold them; a module may have none at 0, as a logarithm has."""
    return features.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)


def _words(error: Exception) -> str:
    return " ".join(str(error).split())


class _Module(Block):
    def __init__(self, name: str, module: torch.nn.Module, inputs: int, device: torch.device, seed: int | None) -> None:
        self.module, self._name, self._inputs, self._device, self._seed = module, name, inputs, device, seed
        # From 0 up to less than 1, so that they are also the whole number 0, for modules that look numbers up.
        self._rows = torch.linspace(0.5, 0.0, 2 * inputs, dtype=torch.float64, device=device).view(2, -1)
        together = self._features_of(self._rows)
        alone = torch.cat([self._features_of(row) for row in self._rows.split(1)])
        self.width = together.shape[1]
        self._tried = _finite(together)
        if not _alike(together, alone):
            raise ValueError(
                f"The module {self._name!r} works on rows together: a row has other features when a second one is "
                "beside it. Expected a module that maps every row by itself, the same way each time."
            )

    def check_same(self, saved: Tensor | None) -> None:
        """Refuse a module that gives other features than those that were ``saved``, if they were."""
        if saved is None:
            return
        if not _alike(saved, _finite(self._features_of(self._rows))):
            raise ValueError(
                f"The module {self._name!r} is not the one that was saved: with the saved parameters it gives two rows "
                "other features than before, as where its factory has changed, or draws something at random that is "
                "not saved. Register the factory that was tuned with; what it draws, keep as a parameter or by "
                "register_buffer(…, persistent=True)."
            )
        self._tried = saved

    def _features_of(self, rows: Tensor) -> Tensor:
        count = len(rows)
        try:
            with torch.no_grad():
                if any(map(is_lazy, self.module.parameters())):
                    self.module(rows.clone())
                found = self.features(self.init(), rows)
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
        return {name: value.detach().clone() for name, value in self._real_parameters()}

    def hyper_penalties(self) -> dict[str, HyperPenalty]:
        return {name: Frozen() for name, value in self._real_parameters() if not value.requires_grad}

    def _real_parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        return [(name, value) for name, value in self.module.named_parameters() if value.is_floating_point()]

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
        about = {"inputs": torch.tensor(self._inputs, device=self._device), **prefixed("module", saved)}
        if self._seed is None:  # read from a file that does not tell
            return about
        return about | {"seed": torch.tensor(self._seed, device=self._device), "tried": self._tried.clone()}
