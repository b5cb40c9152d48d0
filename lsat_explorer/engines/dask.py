"""Rows divided between the workers of a dask cluster: sums over them come back, features stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from ..data.on_disk import RowsApart
from ..data.on_workers import RowsOnWorkers
from ..model.engines import Dask
from ..model.piece import Omega
from ..solve.weighted import Moments
from .by_row import ByRow, Program, worked_out
from .memory import never
from .moving import Factors, Moving
from .passes import Fitted, Flow, Flowed, Judge, Judged, LeftOut, plus
from .row_sums import RowSums
from .sending import sent
from .share import Make, Question, answered, answered_at, by_row_of, packed, second, sums_of, told, unpacked
from .workers import Workers, unwarned

__all__ = ["DaskRows"]

Later = tuple[Callable[[], list[Any]], Callable[[list[Any]], Any]]
"""Sends a question and returns answers to be; and puts these together."""

Arguments = Callable[[slice], tuple[Any, ...]]
"""Returns what the part with these rows is asked with."""


class DaskRows(RowSums):
    """Inputs and targets of one split on the workers of ``engine``, as many parts as they have threads.

    A question goes to all parts in one trip, and sums are formed on the workers, in a tree whose shape depends on the
    parts alone, wherever they are. So the loss of a worker changes no number: its parts are sent, or read, again.

    Parameters
    ----------
    engine : Dask
        The scheduler's address.
    make : callable
        Returns a worker's rows from the inputs, targets and log weights of its part.
    columns, moving, inputs, targets, precision, device, log_weight, check
        As for `MemoryRows`; workers take products on their own ``device``.

    Raises
    ------
    ClusterLost
        When the scheduler, or all workers, do not answer.
    """

    def __init__(
        self,
        engine: Dask,
        make: Make,
        columns: dict[str, slice],
        moving: set[str],
        inputs: Tensor,
        targets: Tensor,
        **how: Any,
    ) -> None:
        super().__init__(columns, moving, targets, **how)
        self._make, self._inputs = make, inputs
        self._workers = Workers(engine.address)
        self._client = self._workers.client
        threads = sum(self._workers.threads().values())
        even = even_cuts(len(self), min(max(threads, 1), len(self)))
        self._cuts = inputs.cuts if isinstance(inputs, RowsOnWorkers) else even
        # One list for every copy of these rows: what is loaded again is so for all.
        self._shares: list[Any] = [None] * len(self._cuts)
        self._lying: Any = WeakTensorKeyDictionary()
        self._weights = engine.weights
        self._tried(self._load)

    def moving(self, omega: Omega) -> Moving:
        """Return ω alone: workers form the blocks when they are first asked at it."""
        return Moving(omega)

    def predict(self, moving: Moving, theta: Tensor) -> Tensor:
        """Return X θ (N, m) in the dtype of products."""
        return torch.cat(self._each("predict", moving, lambda cut: (theta,)))

    def transposed(self, moving: Moving, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) in float64 from (N, m) rows."""
        rows = rows.to(self.products)
        return self._sum("transposed", moving, lambda cut: (rows[cut],))

    def chunks(self, moving: Moving) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows and their features (part, n) in float64: the one way by which these leave their worker."""
        for number, cut in enumerate(self._cuts):
            yield cut, self._each("over", moving, lambda cut: (torch.clone,), only=number)[0]

    def over(self, moving: Moving, work: Callable[..., Tensor], *by_row: Tensor) -> Tensor:
        """Return ``work`` (r, …) of all rows' features (r, n) in float64, which stay where they are."""
        return torch.cat(self._each("over", moving, lambda cut: (work, *(one[cut] for one in by_row))))

    def back(self, moving: Moving, values: Tensor) -> Tensor:
        """Return Xᵀ ``values`` (n, q) from float64 (N, q), every product in float64."""
        found: Tensor = self._sum("back", moving, lambda cut: (values[cut],))
        return found

    def gram(self, moving: Moving, weight: Tensor) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n), every product in float64; weights (N,) may have any sign."""
        return self._sum("gram", moving, lambda cut: (weight[cut],))

    def moments(self, moving: Moving, log_weight: Tensor | None = None) -> Moments:
        """Return XᵀW²X and XᵀW²Y; each part has its own least weight, and keeps what stands still."""
        found: Moments = self.later("moments", moving, log_weight)()
        return found

    def judged(self, moving: Moving, theta: Tensor, judge: Judge) -> Judged:
        """Return ψ and ∇_θψ, in one trip."""
        found: Judged = self.later("judged", moving, theta, judge)()
        return found

    def left_out(self, moving: Moving, fit: Fitted, start: int = 0, log_weight: Tensor | None = None) -> LeftOut:
        """Return ψ of rows that are left out, with its slopes, in one trip."""
        found: LeftOut = self._sum("left_out", moving, lambda cut: (fit, start + cut.start), log_weight)
        return found

    def flowed(self, moving: Moving, flows: Sequence[Flow], weighed: bool, log_weight: Tensor | None = None) -> Flowed:
        """Return what flows back through fits, in one trip."""
        found: Flowed = self.later("flowed", moving, flows, weighed, log_weight)()
        return found

    def later(self, name: str, *arguments: Any) -> Callable[[], Any]:
        """Ask now, and return a function that waits for the answer."""
        ask, put_together = getattr(self, f"_{name}")(*arguments)
        asked: list[Any] = []
        with suppress(CancelledError):  # then it is asked again
            asked.append(ask())
        return lambda: put_together(self._tried(lambda: self._gathered(asked.pop() if asked else ask())))

    def _moments(self, moving: Moving, log_weight: Tensor | None = None) -> Later:
        if log_weight is None and not self.moves and self._known is not None:
            known = self._known
            return list, lambda _: known

        def keep(found: list[Any]) -> Moments:
            moments: Moments = self._here(found[0])
            if log_weight is None and not self.moves:
                self._known = moments
            return moments

        return lambda: self._tree(self._asked("moments", moving, lambda cut: (), log_weight)), keep

    def _judged(self, moving: Moving, theta: Tensor, judge: Judge) -> Later:
        def ask() -> list[Any]:
            return self._tree(self._asked("judged", moving, lambda cut: (theta, judge)))

        return ask, lambda found: self._here(found[0])

    def _flowed(self, moving: Moving, flows: Sequence[Flow], weighed: bool, log_weight: Tensor | None = None) -> Later:
        """Ask for sums that the workers form, and for numbers by row as they lie."""
        lying: list[Any] = []

        def ask() -> list[Any]:
            found = self._asked("flowed", moving, lambda cut: (list(flows), weighed), log_weight)
            lying[:] = self._mapped(by_row_of, found, key="lsat-rows") if weighed else []
            sums = self._tree(self._mapped(sums_of, found, key="lsat-sums"))
            return sums if isinstance(log_weight, ByRow) else [*sums, *lying]

        def put_together(found: list[Any]) -> Flowed:
            sums, *weights = self._here(found)
            if weighed and isinstance(log_weight, ByRow):
                return Flowed(ByRow(self, len(self), list(lying)), *sums)
            return Flowed(torch.cat(weights) if weighed else None, *sums)

        return ask, put_together

    def pull_back(self, moving: Moving, gradients: Mapping[str, list[Factors]]) -> Omega:
        """Return Σ_b ⟨∂ψ/∂X_b, ∂X_b/∂ω⟩ by entry of ω, local names, with ∂ψ/∂X_b = Σ L Rᵀ of ``gradients[b]``."""

        def mine(cut: slice) -> tuple[Any, ...]:
            return ({name: [(left[cut], right) for left, right in factors] for name, factors in gradients.items()},)

        return self._sum("pull_back", moving, mine)

    def normal_residual(self, moving: Moving, theta: Tensor, log_weight: Tensor | None = None) -> Tensor:
        """Return XᵀW²(Y − Xθ) (n, m), every product in float64."""
        return self._sum("normal_residual", moving, lambda cut: (theta,), log_weight)

    def _each(self, name: str, moving: Moving | None, arguments: Arguments, only: int | None = None) -> list[Any]:
        """Return the answers of all parts, in order, or of one."""
        found = self._tried(lambda: self._gathered(self._asked(name, moving, arguments, only=only)))
        return [self._here(answer) for answer in found]

    def _sum(self, name: str, moving: Moving | None, arguments: Arguments, by_row: Tensor | None = None) -> Any:
        """Return the sum of all parts' answers, which the workers form."""
        found = self._tried(lambda: self._gathered(self._tree(self._asked(name, moving, arguments, by_row))))
        return self._here(found[0])

    def _here(self, answer: Any) -> Any:
        return unpacked(answer, self.targets.device)

    def _tree(self, terms: list[Any]) -> list[Any]:
        """Return the one sum of answers to be, which the workers form."""
        while len(terms) > 1:
            odd = terms[len(terms) // 2 * 2 :]
            terms = self._client.map(plus, terms[:-1:2], terms[1::2], pure=False, key="lsat-plus") + odd
        return terms

    def _asked(
        self,
        name: str,
        moving: Moving | None,
        arguments: Arguments,
        by_row: Tensor | None = None,
        only: int | None = None,
        theta: Any = None,
    ) -> list[Any]:
        """Send a question to all parts, or to one, and return their answers to be; numbers ``by_row`` come last.

        A ``theta`` that is to be comes first.
        """
        self._load()
        omega = None if moving is None else packed(moving.omega)
        cuts = self._cuts if only is None else [self._cuts[only]]
        asked = [Question(name, self._precise, omega, packed(arguments(cut))) for cut in cuts]
        if theta is not None:
            return self._mapped(answered_at, asked, [theta] * len(asked), key=f"lsat-{name}")
        more = [] if by_row is None else [self.laid(by_row)]
        return self._mapped(answered, asked, *more, key=f"lsat-{name}", only=only)

    def _mapped(self, function: Callable[..., Any], *given: Any, key: str, only: int | None = None) -> list[Any]:
        """Return what a function makes of each part and what is given with it, to be, where the part lies."""
        shares = self._shares if only is None else [self._shares[only]]
        # A group of its own: of many tasks by one name that need little dask sends some away from what they need.
        group = f"{key}-{uuid4().hex}"
        keys = [(group, number) for number in range(len(shares))]
        with unwarned():
            return list(self._client.map(function, shares, *given, pure=False, key=keys))

    @property
    def spreads(self) -> bool:
        """Whether numbers by row are to lie with the rows, which are not in this process either."""
        return self._weights == "workers" and isinstance(self._inputs, RowsApart)

    def spread(self, values: Tensor) -> ByRow:
        """Return numbers by row (N,) as they lie with the rows; they are sent once."""
        return values if isinstance(values, ByRow) else ByRow(self, len(self), self.laid(values))

    def laid(self, values: Tensor) -> list[Any]:
        """Return numbers by row (N,) that lie with their parts, sent there once for all questions about them."""
        if isinstance(values, ByRow):
            return values.parts()
        found: list[Any] = self._lying.get(values, [])
        if not found or any(part.cancelled() for part in found):
            parts = [packed(values[cut]) for cut in self._cuts]
            self._lying[values] = found = self._mapped(second, parts, key="lsat-numbers")
        return found

    def worked_out(self, program: Program, leaves: Sequence[list[Any]]) -> list[Any]:
        """Return what becomes of numbers that lie with parts, which stays with them."""
        return self._mapped(worked_out, [program] * len(self._cuts), *leaves, key="lsat-by-row")

    def told(self, what: str) -> list[Any]:
        """Return the ``"numbers"`` of each part's rows, or their ``"classes"``, which stay with them."""
        return self._mapped(told, [what] * len(self._cuts), [cut.start for cut in self._cuts], key="lsat-told")

    def brought(self, parts: list[Any]) -> list[np.ndarray]:
        """Return what lies with parts; a run that was stopped may ask too."""
        return list(self._workers.tried(lambda: self._workers.gathered(parts, never), never))

    def _tried(self, ask: Callable[[], Any]) -> Any:
        return self._workers.tried(ask, self._check)

    def _load(self) -> None:
        """Send, or have read, the parts that no worker has."""
        missing = [number for number, share in enumerate(self._shares) if share is None or share.cancelled()]
        if not missing:
            return
        threads = self._workers.threads()
        places = [worker for worker in sorted(threads) for _ in range(threads[worker])]
        kept = []  # until parts are loaded: workers have then made of the inputs what they need
        for number in missing:
            cut, worker = self._cuts[number], places[number % len(places)] if places else None
            rest = packed((self.targets[cut], None if self._log_weight is None else self._log_weight[cut]))
            self._shares[number], more = sent(self._workers, self._make, self._inputs, number, cut, rest, worker)
            kept.append(more)
        self._workers.wait(self._shares, self._check)

    def _gathered(self, futures: list[Any]) -> list[Any]:
        return self._workers.gathered(futures, self._check)


def even_cuts(rows: int, parts: int) -> list[slice]:
    """Return consecutive parts of all rows, as many rows each, or one more."""
    return [slice(*cut) for cut in pairwise(rows * part // parts for part in range(parts + 1))]
