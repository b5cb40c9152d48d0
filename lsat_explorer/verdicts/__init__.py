"""What a person decides about training rows: kept by the names of the rows, in a file, and put to use."""

from __future__ import annotations

from .verdict import KINDS, Verdict
from .verdicts import Verdicts

__all__ = ["KINDS", "Verdict", "Verdicts"]
