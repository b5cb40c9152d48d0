"""A featurizer prepared step by step on the training rows: how many features it has, and which step does not fit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from lsat_explorer.data import Data
from lsat_explorer.model.featurizers import Identity, KMeansArchetypes, PowerTransform, Scale, SelectFeatures, Spline
from lsat_explorer.model.piece import tensor
from lsat_explorer.model.prepared import Block, Featurizer
from lsat_explorer.plots.curves import count_text
from lsat_explorer.widgets.featurizer_draft import Path, Step, built

__all__ = ["Inputs", "Trial", "Trials", "Tried"]

_MOST_ROWS = 10_000  # of the training rows; a trial is for looking
_MOST_BLOCKS = 64  # kept prepared, so that undo and small changes cost nothing
_CHUNK = 8192
_MOST_WORK = 1e10  # d q³ for the projections (d, q, q) of a spline's q coefficients: seconds, and somebody waits


@dataclass(frozen=True, eq=False)
class Inputs:
    """What comes into a step.

    Parameters
    ----------
    rows : (k, d) Tensor
        The rows that are tried, as the steps before make them.
    before : str
        The steps before, as text; empty where these are the columns of the data themselves.
    named : bool
        Whether each column is still made of one column of the data, and goes by its name.
    """

    rows: Tensor
    before: str = ""
    named: bool = True


@dataclass(frozen=True, eq=False)
class Tried:
    """One step at work.

    Parameters
    ----------
    piece : Featurizer
        Its description.
    block : Block
        The prepared block.
    inputs : Inputs
        What comes into it.
    """

    piece: Featurizer
    block: Block
    inputs: Inputs

    @property
    def rows(self) -> Tensor:
        """What comes into it (k, d), of the rows that are tried."""
        return self.inputs.rows

    @property
    def sizes(self) -> dict[str, int]:
        """How many numbers each of its entries of ω holds, by local name."""
        return {name: value.numel() for name, value in self.block.init().items()}

    def features(self, rows: Tensor) -> Tensor:
        """Return the features of rows (N, d) at the start of ω, float64."""
        with torch.no_grad():
            return self.block.features(self.block.init(), self.block.precompute(rows.double()))


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of one tree.

    Parameters
    ----------
    root : Step
        The tree.
    featurizer : Featurizer or None
        What it stands for, where every step fits.
    tried : dict of path to Tried
        The pieces that could be prepared.
    inputs : dict of path to Inputs
        What comes into each piece, as far as it is known.
    problems : dict of path to str
        What is wrong, by step.
    widths : dict of path to int
        Number of features of each piece and container, where it is known.
    """

    root: Step
    featurizer: Featurizer | None
    tried: dict[Path, Tried] = field(default_factory=dict)
    inputs: dict[Path, Inputs] = field(default_factory=dict)
    problems: dict[Path, str] = field(default_factory=dict)
    widths: dict[Path, int] = field(default_factory=dict)


class Trials:
    """Tries trees on the training rows of some data; steps that did not change are not prepared again.

    Parameters
    ----------
    data : Data
        The data. Of more than 10,000 training rows, 10,000 are drawn.
    seed : int
        Seeds the random choices of the pieces, as `Recipe.seed` does.

    Examples
    --------
    >>> from lsat_explorer import LowRank, datasets
    >>> from lsat_explorer.widgets.featurizer_draft import step_of
    >>> Trials(datasets.digits()).run(step_of(LowRank(65))).problems[()]
    'LowRank: rank is 65, but 898 rows of 64 columns have at most 64.'
    """

    def __init__(self, data: Data, seed: int = 0) -> None:
        count, self.seed = len(data.train.inputs), seed
        keep = np.random.default_rng(0).permutation(count)[:_MOST_ROWS]
        self.places = torch.from_numpy(np.sort(keep))
        self.whole = count <= _MOST_ROWS
        self.inputs = data.train.inputs if self.whole else data.train.inputs[self.places]
        self.targets = data.train.targets if self.whole else data.train.targets[self.places]
        self._blocks: OrderedDict[tuple[str, str], Block] = OrderedDict()
        self._outputs: dict[str, Tensor] = {}  # of the last trial alone: rows are large

    def run(
        self,
        root: Step,
        stale: Callable[[], bool] = lambda: False,
        seen: Callable[[Path, Tried], None] = lambda path, tried: None,
    ) -> Trial | None:
        """Prepare every step that can be; None if ``stale`` said between two steps that nobody waits for it.

        ``seen`` is told of each piece as soon as it is prepared: what follows may take long.
        """
        featurizer, problems = built(root)
        trial = Trial(root, featurizer, problems=problems)
        kept, self._outputs = self._outputs, {}
        try:
            _Visit(self, trial, kept, stale, seen).step(root, (), Inputs(self.inputs), needed=False)
        except _Stale:
            self._outputs |= kept
            return None
        return replace(trial, featurizer=None) if trial.problems else trial

    def block(self, piece: Featurizer, before: str, rows: Tensor) -> Block:
        """Return a piece prepared on rows (k, d); ``before`` names what made them."""
        if isinstance(piece, KMeansArchetypes) and piece.log_scale is not None:
            # The archetypes do not depend on where σ starts, and finding them is what takes long.
            state = self.block(replace(piece, log_scale=None), before, rows).state()
            return piece.restore_block({**state, "start": tensor(piece.log_scale)})
        key = (before, repr(piece))
        if key not in self._blocks:
            self._blocks[key] = piece.block(rows, self.targets, torch.Generator().manual_seed(self.seed))
        self._blocks.move_to_end(key)
        while len(self._blocks) > _MOST_BLOCKS:
            self._blocks.popitem(last=False)
        return self._blocks[key]

    def features(self, tried: Tried, key: str, kept: dict[str, Tensor]) -> Tensor:
        """Return the features of all rows, kept until the trial after this one."""
        if key not in kept:
            kept[key] = torch.cat([tried.features(rows) for rows in tried.rows.split(_CHUNK)])
        self._outputs[key] = kept[key]
        return kept[key]


class _Visit:
    """One walk over a tree, in the order in which a `Chain` and a `Concat` prepare their members."""

    def __init__(
        self,
        trials: Trials,
        trial: Trial,
        kept: dict[str, Tensor],
        stale: Callable[[], bool],
        seen: Callable[[Path, Tried], None],
    ) -> None:
        self._trials, self._trial, self._kept, self._stale, self._seen = trials, trial, kept, stale, seen

    def step(self, step: Step, path: Path, inputs: Inputs, *, needed: bool) -> Tensor | None:
        """Prepare what is at ``path``; return its features if they are ``needed`` and it fits."""
        if self._stale():
            raise _Stale
        if step.members is None:
            self._trial.inputs[path] = inputs
        if path in self._trial.problems:
            return None
        if step.members is None:
            return self._piece(step, path, inputs, needed)
        return (self._chain if step.kind == "Chain" else self._side_by_side)(step, path, inputs, needed)

    def _chain(self, chain: Step, path: Path, inputs: Inputs, needed: bool) -> Tensor | None:
        members = chain.members or ()
        found: Tensor | None = None
        for place, (_, member) in enumerate(members):
            last = place == len(members) - 1
            found = self.step(member, (*path, place), inputs, needed=needed or not last)
            if (*path, place) not in self._trial.widths:
                return None
            if found is not None and not last:
                piece = built(member)[0]
                inputs = Inputs(found, f"{inputs.before} > {piece!r}", inputs.named and _by_column(piece))
        self._trial.widths[path] = self._trial.widths[(*path, len(members) - 1)]
        return found

    def _side_by_side(self, concat: Step, path: Path, inputs: Inputs, needed: bool) -> Tensor | None:
        members = [member for _, member in concat.members or ()]
        found = [self.step(m, (*path, place), inputs, needed=needed) for place, m in enumerate(members)]
        widths = [self._trial.widths.get((*path, place)) for place in range(len(members))]
        if any(width is None for width in widths):
            return None
        self._trial.widths[path] = sum(width or 0 for width in widths)
        return torch.cat([part for part in found if part is not None], 1) if needed else None

    def _piece(self, step: Step, path: Path, inputs: Inputs, needed: bool) -> Tensor | None:
        piece = built(step)[0]
        if piece is None:
            return None
        try:
            _refuse_slow(piece, inputs.rows.shape[1])
            tried = Tried(piece, self._trials.block(piece, inputs.before, inputs.rows), inputs)
            self._seen(path, tried)
            found = self._trials.features(tried, f"{inputs.before} > {piece!r}", self._kept) if needed else None
        except ValueError as error:
            self._trial.problems[path] = str(error)
            return None
        except Exception as error:  # a module of the user's own may raise anything: it belongs under its step
            self._trial.problems[path] = f"{type(error).__name__}: {error}"
            return None
        self._trial.tried[path], self._trial.widths[path] = tried, tried.block.width
        return found


def _refuse_slow(piece: Featurizer, d: int) -> None:
    """Refuse knots that would keep everybody waiting, before any work."""
    if not isinstance(piece, Spline) or piece.basis != "polynomial":
        return
    knots = piece.knots if isinstance(piece.knots, int) else len(piece.knots)
    size = piece.degree + 1
    if d * ((knots + 1) * size) ** 3 > _MOST_WORK:
        most = int((_MOST_WORK / d) ** (1 / 3) / size) - 1
        raise ValueError(
            f"Spline: {knots:,} knots for {count_text(d, 'column')} take too long to try here: "
            f"choose at most {most:,}, or the basis bspline, which takes more."
        )


def _by_column(piece: Featurizer | None) -> bool:
    """Whether feature j of a piece is made of column j alone."""
    kinds = (Identity, PowerTransform, Scale, SelectFeatures)
    return isinstance(piece, kinds) or (isinstance(piece, Spline) and piece.basis == "polynomial")


class _Stale(Exception):
    """Somebody wants something newer."""
