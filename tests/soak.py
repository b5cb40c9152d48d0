"""What a process holds: memory, threads, file descriptors, widgets, comms; as a program, while views are used for long.

`python tests/soak.py long 20000`, `… starts 50` and `… views 20` each print one line of JSON. Each is a process of its
own, in which nothing else has left memory or threads.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import psutil

PATIENCE = 600.0  # seconds that a loaded machine may take; nothing waits so long unless it fails


def held() -> dict[str, int]:
    """What this process holds now."""
    import comm
    from ipywidgets.widgets import widget

    process = psutil.Process()
    widgets = list(widget._instances.values())
    return {
        "rss": process.memory_info().rss,
        "threads": process.num_threads(),
        "python_threads": threading.active_count(),
        "files": process.num_fds(),
        "widgets": len(widgets),
        "traits": sum(len(one.trait_names()) for one in widgets),
        "comms": len(comm.get_comm_manager().comms),
    }


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread brings about."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def settled(start: dict[str, int]) -> dict[str, int]:
    """What is held once the threads that are about to end have ended, if they do."""
    end = time.monotonic() + 20
    while (now := held())["threads"] > start["threads"] and time.monotonic() < end:
        time.sleep(0.02)
    return now


def light(iterations: int, seed: int = 0, step: float = 1.0) -> Any:
    """A run of small iterations with a weight per training row; the shorter its steps, the longer it goes."""
    import numpy as np
    import torch

    import lsat_explorer as lsat

    torch.set_num_threads(1)
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(300, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + np.sin(3 * X[:, 0]) + generator.normal(size=300)
    recipe = lsat.Recipe(
        data_weights=lsat.LogWeights(),
        hyper_penalties={"data_weights.log_weight": lsat.SumSquares(0.001)},
        method=lsat.ProximalGradient(step=step, grow=1.0, max_iterations=iterations, tolerance=0.0),
    )
    return lsat.Run(recipe, lsat.Data.from_arrays(X, y, seed=0))


def watched(tuner: Any, first: int) -> dict[str, Any]:
    """Run to the end: what is held after the first iterations, the most memory after them, what stays, and how fast.

    What stays is the least of each count over the later half: a thread that draws a picture and ends is no growth.
    """
    tuner.start()
    until(lambda: len(tuner.run.iterates) > first or not tuner.worker.alive)
    samples = [held()]
    began, before = time.monotonic(), len(tuner.run.iterates)
    while tuner.worker.alive:
        time.sleep(0.25)
        samples.append(held())
    tuner.worker.wait(PATIENCE)
    done, later = len(tuner.run.iterates) - 1, samples[len(samples) // 2 :]
    return {
        "iterations": done,
        "status": tuner.run.status.value,
        "start": samples[0],
        "most": max(sample["rss"] for sample in samples),
        "stays": {name: min(sample[name] for sample in later) for name in samples[0]},
        "per_second": (done + 1 - before) / (time.monotonic() - began),
    }


def sampled(tuner: Any) -> list[tuple[float, int, int, int]]:
    """Note time, number of iterates, memory of this kernel and of its server, ten times a second from now on."""
    samples: list[tuple[float, int, int, int]] = []
    mine = psutil.Process()
    server = mine.parent()

    def note() -> None:
        while tuner.worker.alive:
            both = mine.memory_info().rss, 0 if server is None else server.memory_info().rss
            samples.append((time.time(), len(tuner.run.iterates), *both))
            time.sleep(0.1)

    threading.Thread(target=note, daemon=True).start()
    return samples


def long(iterations: int) -> dict[str, Any]:
    """Run for many iterations in an open view, whose messages are packed for a page and counted."""
    from lsat_explorer.bench.page import open_page
    from lsat_explorer.widgets import LiveTuner

    with open_page() as page:
        tuner = LiveTuner(light(iterations))
        tuner._ipython_display_()
        figures = watched(tuner, 1_000)
        return figures | {"messages": page.messages, "bytes": page.size}


def starts(count: int) -> dict[str, Any]:
    """Start and stop a run again and again, then close its view: what is held before and after."""
    from lsat_explorer.widgets import LiveTuner

    tuner = LiveTuner(light(100_000_000, step=0.01))

    def once() -> None:
        before = len(tuner.run.iterates)
        tuner.start()
        until(lambda: len(tuner.run.iterates) > before + 1)
        tuner.stop()
        tuner.wait(PATIENCE)

    once()  # what is loaded and made once
    start = held()
    for _ in range(count):
        once()
    end = settled(start)
    tuner.close()
    return {"start": start, "end": end, "closed": settled(start), "iterations": len(tuner.run.iterates) - 1}


def views(count: int) -> dict[str, Any]:
    """Open, run and close an Explorer again and again: what is held after the first and after the last."""
    from lsat_explorer.widgets import Explorer

    alive: list[weakref.ref[Any]] = []

    def once() -> dict[str, int]:
        explorer = Explorer(light(20))
        explorer.start()
        explorer.wait(PATIENCE)
        explorer.browser.wait()
        explorer.close()
        alive.append(weakref.ref(explorer))
        del explorer
        gc.collect()
        return held()

    start = once()
    for _ in range(count - 1):
        once()
    return {"start": start, "end": settled(start), "alive": sum(reference() is not None for reference in alive)}


if __name__ == "__main__":
    print(json.dumps({"long": long, "starts": starts, "views": views}[sys.argv[1]](int(sys.argv[2]))))
