"""The devices that this machine offers."""

from __future__ import annotations

import torch

from ..model.piece import Omega
from .by_row import ByRow

__all__ = ["available_devices", "moved", "resolve_device"]


def available_devices() -> dict[str, str]:
    """Return device names with a description, the CPU first.

    Examples
    --------
    >>> "cpu" in available_devices()
    True
    """
    threads = torch.get_num_threads()
    devices = {"cpu": f"cpu, {threads} thread{'s' if threads > 1 else ''}"}
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            devices[f"cuda:{index}"] = f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB"
    return devices


def resolve_device(name: str) -> torch.device:
    """Turn ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or ``"auto"`` (the first card, else the CPU) into a torch device."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is not None and device.type == "mps":
        raise ValueError(f"Device {name!r} has no float64, which every factor needs: use device='cpu'.")
    offered = available_devices()
    if device is None or (device.type != "cpu" and f"{device.type}:{device.index or 0}" not in offered):
        raise ValueError(f"Device {name!r} is not available: choose one of {', '.join(offered)}.")
    return device


def moved(values: Omega, device: torch.device) -> Omega:
    """Return float64 tensors on a device, in one transfer: itself where they are there already.

    Numbers by row that lie with the rows stay there.
    """
    if all(value.device == device for value in values.values()):
        return values
    if lying := {name: value for name, value in values.items() if isinstance(value, ByRow)}:
        found = moved({name: value for name, value in values.items() if name not in lying}, device)
        return {name: found.get(name, value) for name, value in values.items()}
    whole = torch.cat([value.reshape(-1) for value in values.values()]).to(device)
    parts = whole.split([value.numel() for value in values.values()])
    return {name: part.view_as(value) for (name, value), part in zip(values.items(), parts, strict=True)}
