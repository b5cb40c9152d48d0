"""What the tests of random input share: how many times more is tried, and the row that says at the end what was."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from reliability import record

TIMES = int(os.environ.get("LSAT_FUZZ", "1"))
SECONDS = float(os.environ.get("LSAT_FUZZ_SECONDS", "0"))
"""How many times more inputs and files are tried, and for how long recipes are; `make fuzz` sets both."""


def telling(what: str, things: str, tried: Counter[str], outcome: str) -> Any:
    """A fixture of a module that says at its end how many things were tried and, by kind, what became of them."""

    @pytest.fixture(autouse=True, scope="module")
    def told() -> Iterator[None]:
        began = time.perf_counter()
        yield
        count = f"{tried.total():,} {things}"
        found = ", ".join(f"{number:,} {kind}" for kind, number in sorted(tried.items()))
        record(what, count, f"{found}, {outcome}", time.perf_counter() - began)
        print(f"\n{what}: {count}, {found}")

    return told
