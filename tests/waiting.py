"""Waiting for what another thread brings about."""

from __future__ import annotations

import time
from collections.abc import Callable

SOON = 20.0  # seconds that a loaded machine may take; no test waits so long unless it fails


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that another thread brings about."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.001)
