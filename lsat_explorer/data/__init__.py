"""Data: what is fitted and what judges the fit; real data sets; images as rows."""

from __future__ import annotations

from lsat_explorer.data import datasets
from lsat_explorer.data.data import Data
from lsat_explorer.data.idx import read_idx, write_idx
from lsat_explorer.data.images import PixelScale, deskew, sprite
from lsat_explorer.data.split import Split

__all__ = ["Data", "PixelScale", "Split", "datasets", "deskew", "read_idx", "sprite", "write_idx"]
