"""Kill a run at random moments, go on with it, and tell what was lost: `python tests/kills.py COUNT SEED FOLDER`.

It is a program of its own, with one thread, so that it can fork: a child goes on with the run, or begins it, and tells
each iterate and each write of a checkpoint through a pipe; the parent kills it. Half of the kills are aimed at writes.
"""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import struct
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lsat_explorer as lsat
from lsat_explorer.tune.checkpoint_file import NAME, read_state
from lsat_explorer.tune.iterate import row_of
from lsat_explorer.tune.stepping import Keeper
from test_problem import STACK, make_data

BEGIN, WRITTEN, REJECTED, ACCEPTED = range(4)
EVENT = struct.Struct("<bq")
EVERY = 3  # accepted iterates between two checkpoints
WEIGHTED = {
    "featurizer": lsat.Concat(x=lsat.Identity(), archetypes=lsat.LowRank(3), one=lsat.Constant()),
    "regularizer": STACK,
    "data_weights": lsat.LogWeights(),
    "hyper_penalties": {"data_weights.log_weight": lsat.SumSquares(0.05) + lsat.ZeroSum()},
}
METHODS = [
    lsat.ProximalGradient(step=100.0, tolerance=0.0, max_iterations=60),
    lsat.LBFGS(tolerance=0.0, max_iterations=60),
    lsat.LineSearch(tolerance=0.0, max_iterations=60),
    lsat.MultiStart(lsat.LBFGS(tolerance=1e-9, max_iterations=15), starts=3),
]


def bits(run: lsat.Run) -> list[tuple[Any, ...]]:
    """Every number of every iterate and of its ω but the seconds, to the last bit."""
    timeless = [(replace(iterate, seconds=0.0), iterate.omega) for iterate in run.iterates]
    return [
        (np.array(row_of(one)).tobytes(), *((name, value.numpy().tobytes()) for name, value in omega.items()))
        for one, omega in timeless
    ]


def child(recipe: lsat.Recipe, data: lsat.Data, folder: Path, pipe: int) -> None:
    """Go on with the run of a folder, or begin it, and tell what happens."""

    def tell(event: int, number: int) -> None:
        os.write(pipe, EVENT.pack(event, number))

    write = Keeper.write

    def told(keeper: Keeper, run: Any) -> None:
        tell(BEGIN, run.iterates[-1].number)
        write(keeper, run)
        tell(WRITTEN, run.iterates[-1].number)

    Keeper.write = told  # type: ignore[method-assign]
    if (folder / NAME).exists():
        run = lsat.Run.resume(folder, data)
    else:
        run = lsat.Run(recipe, data, checkpoint=lsat.Checkpoint(str(folder), iterations=EVERY, seconds=1e6))
    for iterate in run.steps():
        tell(ACCEPTED if iterate.accepted else REJECTED, iterate.number)


@dataclass
class Told:
    """What a child told of: the last file, whether it was writing another, and its iterates, the accepted ones True."""

    written: int = -1
    writing: bool = False
    iterates: dict[int, bool] = field(default_factory=dict)


def killed(recipe: lsat.Recipe, data: lsat.Data, folder: Path, chance: random.Random) -> Told | None:
    """Let a child work until a random moment; return what it told of, None if it came to its end."""
    aimed, after = chance.random() < 0.5, chance.randrange(8)
    read, write = os.pipe()
    process = os.fork()
    if not process:
        os.close(read)
        child(recipe, data, folder, write)
        os._exit(0)
    os.close(write)
    seen, told = 0, Told()
    with os.fdopen(read, "rb", buffering=0) as events:

        def take() -> int | None:
            event = events.read(EVENT.size)
            if not event:
                return None
            kind, number = EVENT.unpack(event)
            told.writing = kind == BEGIN
            if kind == WRITTEN:
                told.written = number
            elif kind != BEGIN:
                told.iterates[number] = kind == ACCEPTED
            return int(kind)

        while seen < (1 + after // 3 if aimed else after):
            kind = take()
            if kind is None:
                os.waitpid(process, 0)
                return None
            seen += kind == BEGIN if aimed else kind > WRITTEN
        # The very moment is the point: anywhere within what a write, or an iteration, takes.
        end = time.perf_counter() + chance.uniform(0.0, 1.5e-3 if aimed else 2e-2)
        while time.perf_counter() < end:
            pass
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        while select.select([events], [], [], 0)[0] and take() is not None:
            pass
    return told if os.WIFSIGNALED(status) else None


def main(count: int, seed: int, folder: Path) -> dict[str, int]:
    """Kill so many times, over as many runs as that takes, and return what came of it."""
    torch.set_num_threads(1)
    chance, data = random.Random(seed), make_data()
    found = dict.fromkeys(("kills", "in a write", "resumed", "begun anew", "half files", "lost", "behind", "runs"), 0)
    found |= {"different": 0, "left behind": 0, "lost accepted": 0}
    wholes: dict[int, list[Any]] = {}
    while found["kills"] < count:
        number = found["runs"] % len(METHODS)
        recipe, place = lsat.Recipe(method=METHODS[number], **WEIGHTED), folder / str(found["runs"])
        while True:
            told = killed(recipe, data, place, chance) if found["kills"] < count else None
            if told is None:
                break
            found["kills"] += 1
            found["in a write"] += told.writing
            if not (place / NAME).exists():
                found["begun anew"] += 1
                found["behind"] += told.written >= 0
                continue
            try:
                last = len(read_state(place / NAME).iterates) - 1
            except ValueError:
                found["half files"] += 1
                shutil.rmtree(place)
                continue
            found["resumed"] += 1
            lost = [accepted for number, accepted in told.iterates.items() if number > last]
            found["lost"] = max(found["lost"], len(lost))
            found["lost accepted"] = max(found["lost accepted"], sum(lost))
            found["behind"] += last < told.written
        run = lsat.Run.resume(place, data) if (place / NAME).exists() else lsat.Run(recipe, data, checkpoint=place)
        if run.status is lsat.Status.BROKEN_OFF or not run.iterates:
            for _ in run.steps():
                pass
        if number not in wholes:
            wholes[number] = bits(lsat.tune(recipe, data, progress=False))
        found["different"] += bits(run) != wholes[number]
        found["left behind"] += [path.name for path in place.iterdir()] != [NAME]
        found["runs"] += 1
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
