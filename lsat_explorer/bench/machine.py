"""The machine that a benchmark ran on, and what it took."""

from __future__ import annotations

import ctypes
import gc
import platform
from contextlib import suppress
from pathlib import Path

import torch

import lsat_explorer

__all__ = ["facts", "held_memory", "peak_memory"]


def facts() -> dict[str, str | int]:
    """Return processor, threads and versions, what a timing is worth nothing without."""
    return {
        "processor": _processor(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "lsat_explorer": lsat_explorer.__version__,
    }


def _processor() -> str:
    """Return the processor's name; the system's word for its kind where it has no better one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def peak_memory() -> int:
    """Return the most bytes of memory that this process has held at any time."""
    system = platform.system()
    if system == "Linux":
        # Of this program alone: the resource usage counts the process that started it, too.
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    if system == "Windows":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def held_memory() -> int:
    """Return the bytes that this process holds now, and let `peak_memory` count from here on.

    Where the system keeps its peak for good, as all but Linux do, it is the most that the process has held so far.
    """
    gc.collect()
    # What was freed but not given back would be taken again unseen.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_memory()
