"""On with a run that was broken off, from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..data.data import Data
from .checkpoint import Checkpoint, Keeper
from .checkpoint_file import NAME, read_state
from .fingerprint import is_of, other_data

if TYPE_CHECKING:
    from .run import Run

__all__ = ["resume"]


def resume(kind: type[Run], path: Path, data: Data) -> Run:
    """Return the run of a checkpoint, which goes on; see `lsat_explorer.Run.resume`."""
    if not isinstance(data, Data):
        raise ValueError(f"data is a {type(data).__name__}, expected Data: give the data that the run was run on.")
    path = path / NAME if path.is_dir() or (path.name != NAME and not path.exists()) else path
    state = read_state(path)
    if not is_of(state.rows, data, state.recipe):
        raise ValueError(f"{path} is of a run on {other_data(state.rows, data)}")
    run = kind(state.recipe, data, state.start)
    if path.name == NAME:
        run.keeper = Keeper(Checkpoint(str(path.parent), *state.every))
    run.take_up(state)
    return run
