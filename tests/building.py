"""What a page asks of a featurizer builder and what it is sent, for the tests of its parts."""

from __future__ import annotations

import json
from typing import Any

import torch

import lsat_explorer as lsat
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.widgets import FeaturizerBuilder
from pieces import examples

SOON = 120.0
FEATURIZERS = examples(Featurizer)
BLOCKS = lsat.Concat(
    bent=lsat.Chain(lsat.Scale(), lsat.PowerTransform(), lsat.LowRank(4)),
    archetypes=lsat.KMeansArchetypes(per_class=2, n_init=1),
    one=lsat.Constant(),
)


def short(piece: object) -> str:
    return repr(piece)[:70]


def do(builder: FeaturizerBuilder, command: str, path: list[int] | None = None, **more: Any) -> Featurizer:
    """What a control sends; returns the featurizer once it has been tried."""
    send(builder, command, path, **more)
    return builder.wait(SOON)


def send(builder: FeaturizerBuilder, command: str, path: list[int] | None = None, **more: Any) -> None:
    builder._handle_custom_msg({"do": command, "path": path or [], **more}, [])


def shown(builder: FeaturizerBuilder) -> dict[str, Any]:
    """Return what a page shows, as it receives it."""
    state = builder.get_state(["_shown"])["_shown"]
    json.dumps(state, allow_nan=False)
    return state


def node(builder: FeaturizerBuilder, *path: int) -> dict[str, Any]:
    found = shown(builder)["tree"]
    for place in path:
        found = found["members"][place]
    return found


def look(builder: FeaturizerBuilder) -> dict[str, Any]:
    builder.wait(SOON)
    state = builder.get_state(["_look"])["_look"]
    json.dumps(state, allow_nan=False)
    return state


def prepared(featurizer: Featurizer, data: lsat.Data) -> lsat.model.prepared.Prepared:
    return featurizer.prepare(data.train.inputs, data.train.targets, torch.Generator().manual_seed(0))
