"""Who sums over the rows."""

from __future__ import annotations

from .devices import available_devices
from .memory import Interrupted, MemoryRows

__all__ = ["Interrupted", "MemoryRows", "available_devices"]
