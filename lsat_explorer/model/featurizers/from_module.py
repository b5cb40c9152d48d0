"""Features from a torch module of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..piece import Omega, prefixed, register, within
from ..prepared import Block, Featurizer
from ..registered import Registered

__all__ = ["FromModule", "register_module"]

_MODULES: Registered[Callable[[int], torch.nn.Module]] = Registered("module", "register_module")


def register_module(name: str, factory: Callable[[int], torch.nn.Module]) -> None:
    """Make a torch module known as ``name``, for `FromModule`; a name given again is replaced.

    Parameters
    ----------
    name : str
        What recipes call it.
    factory : callable
        Takes the number of columns d and returns a fresh module that maps (N, d) to (N, n), row by row.

    Examples
    --------
    >>> import torch
    >>> register_module("tanh layer", lambda d: torch.nn.Sequential(torch.nn.Linear(d, 8), torch.nn.Tanh()))
    >>> FromModule("tanh layer")
    FromModule(name="tanh layer")
    """
    _MODULES.add(name, factory)


@register
@dataclass(frozen=True, repr=False)
class FromModule(Featurizer):
    """φ(x) = module(x), any torch module; its parameters in ω by their own names, such as ``0.weight``.

    The module is the one that `register_module` made known under ``name``: a recipe holds the name only, nothing is
    imported, and a file that names a module of another program is refused until it is registered here too. It is made
    with torch seeded by the recipe, and used in evaluation mode: dropout is off, and batch statistics stay as made.

    Raises
    ------
    ValueError
        When no module of that name is registered; when the factory returns no module, or the module no (N, n) features.

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
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator.initial_seed())
            module = self._make(inputs.shape[1]).to(inputs.device)
        return _Module(self.name, module, inputs.shape[1])

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again, made by the registered factory and filled with the saved parameters."""
        with torch.random.fork_rng(devices=[]):
            module = self._make(int(state["inputs"])).to(state["inputs"].device)
        try:
            module.load_state_dict(within("module", state))
        except RuntimeError as error:
            detail = " ".join(str(error).split())
            raise ValueError(f"The module {self.name!r} is not the one that was saved: {detail}") from error
        return _Module(self.name, module, int(state["inputs"]))

    def _make(self, d: int) -> torch.nn.Module:
        module = _MODULES.get(self.name)(d)
        if not isinstance(module, torch.nn.Module):
            raise ValueError(f"The factory of {self.name!r} returned {module!r}: expected a torch.nn.Module.")
        return module.double().eval()


class _Module(Block):
    def __init__(self, name: str, module: torch.nn.Module, inputs: int) -> None:
        self._module, self._inputs = module, inputs
        self._device = next((t.device for t in module.state_dict().values()), torch.device("cpu"))
        with torch.no_grad():
            found = module(torch.zeros(2, inputs, dtype=torch.float64, device=self._device))
        if not isinstance(found, Tensor) or found.ndim != 2 or len(found) != 2:
            got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else repr(found)
            raise ValueError(f"The module {name!r} maps 2 rows of {inputs} to {got}: expected shape (2, n).")
        self.width = found.shape[1]

    def init(self) -> Omega:
        return {name: value.detach().clone() for name, value in self._module.named_parameters()}

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        buffers = {n: b.to(computed.dtype) if b.is_floating_point() else b for n, b in self._module.named_buffers()}
        values = {name: value.to(computed.dtype) for name, value in omega.items()}
        found: Tensor = torch.func.functional_call(self._module, {**buffers, **values}, (computed,))
        return found

    def state(self) -> dict[str, Tensor]:
        saved = {name: value.detach().clone() for name, value in self._module.state_dict().items()}
        return {"inputs": torch.tensor(self._inputs, device=self._device), **prefixed("module", saved)}
