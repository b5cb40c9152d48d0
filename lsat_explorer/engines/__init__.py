"""Who sums over the rows."""

from __future__ import annotations

from .chunks import ChunkRows
from .dask import DaskRows
from .devices import available_devices
from .memory import MemoryRows
from .row_sums import Interrupted, RowSums

__all__ = ["ChunkRows", "DaskRows", "Interrupted", "MemoryRows", "RowSums", "available_devices"]
