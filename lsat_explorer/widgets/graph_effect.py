"""What the penalty of a graph does to θ: a quick ridge fit without it and with it, computed beside the editing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lsat_explorer.data import Data
from lsat_explorer.model.graph import Graph
from lsat_explorer.model.regularizers import Ridge, Smooth
from lsat_explorer.plots.curves import count_text, number_text
from lsat_explorer.tune.quick_fit import QuickFit, QuickResult
from lsat_explorer.widgets.latest import Latest
from lsat_explorer.widgets.rows import name_of

__all__ = ["Answer", "Effect", "Preview", "Question"]

Thetas = NDArray[np.float32]


@dataclass(frozen=True)
class Question:
    """Whose effect is asked for: a penalty by its name, the ridge beside it, the output whose θ is shown."""

    name: str
    piece: Smooth
    ridge: Ridge | None = None
    output: int = 0


@dataclass(frozen=True)
class Answer:
    """θ of one output before and after (2, n), and the words around it as values of JSON."""

    words: dict[str, Any]
    thetas: Thetas = field(default_factory=lambda: np.empty((2, 0), dtype=np.float32))


class Effect:
    """Answers questions about some data.

    Parameters
    ----------
    data : Data or None
        The rows that are fitted.
    """

    def __init__(self, data: Data | None) -> None:
        self.data = data
        self._quick: QuickFit | None = None
        self._before: tuple[Ridge, QuickResult] | None = None

    @property
    def outputs(self) -> list[str]:
        """What the outputs are called."""
        if self.data is None:
            return []
        if self.data.classes is not None:
            return [name_of(name, 24) for name in self.data.classes]
        names = self.data.target_names or range(self.data.train.targets.shape[1])
        return [name_of(name, 24) for name in names]

    def refusal(self, graph: Graph) -> str:
        """Return why there is no preview for a graph, empty where there is one."""
        if self.data is None:
            return "Give data=… to see here what the penalty does to θ."
        features = self.data.train.inputs.shape[1]
        if features != graph.n:
            return (
                f"The preview needs a node a feature: the data have {features:,} features, the graph {graph.n:,} nodes."
            )
        return ""

    def about(self) -> dict[str, Any]:
        """Return what is known before anything is computed."""
        noun = "class" if self.data is not None and self.data.classes is not None else "output"
        return {"outputs": self.outputs, "noun": noun, "state": "none", "words": ""}

    def answer(self, question: Question) -> Answer:
        """Fit without and with the penalty.

        Raises
        ------
        ValueError
            Where the data are too wide for a quick fit, or a solve failed.
        """
        if self.data is None:
            raise ValueError(self.refusal(question.piece.graph))
        quick = self._quick = self._quick or QuickFit(self.data)
        ridge = question.ridge or quick.ridge
        if self._before is None or self._before[0] != ridge:
            self._before = (ridge, quick.fit(ridge))
        before, after = self._before[1], quick.fit(ridge, question.piece)
        for result in (before, after):
            if not result.outcome.ok:
                raise ValueError(f"The quick fit failed: {result.outcome.sentence}")
        output = min(question.output, before.theta.shape[1] - 1)
        pair = np.stack([result.theta[:, output].numpy() for result in (before, after)])
        finite = np.abs(pair[np.isfinite(pair)])
        limit = float(np.quantile(finite, 0.995)) or float(finite.max(initial=0.0)) or 1.0
        words = self.about() | {
            "state": "ready",
            "shape": list(self._image_shape()),
            "limit": limit,
            "captions": [f"ridge {_weight(ridge)}", f"ridge and {question.name} {_weight(question.piece)}"],
            "facts": self._facts(question.piece.graph, pair, (before.error, after.error)),
            "words": self._legend(limit),
        }
        return Answer(words, pair.astype(np.float32))

    def _image_shape(self) -> tuple[int, ...]:
        shape = self.data.image_shape if self.data is not None else None
        return shape[:2] if shape is not None and shape[2:] in ((), (1,)) else ()

    def _facts(self, graph: Graph, pair: NDArray[np.float64], errors: tuple[float, float]) -> list[list[str]]:
        rough = [number_text(float(np.square(graph.incidence() @ theta).sum()), ".3g") for theta in pair]
        if self.data is not None and self.data.task == "classification":
            return [["Σ (θᵢ − θⱼ)² over edges", *rough], ["validation error", *(f"{100 * e:.1f} %" for e in errors)]]
        return [["Σ (θᵢ − θⱼ)² over edges", *rough], ["validation RMSE", *(number_text(e) for e in errors)]]

    def _legend(self, limit: float) -> str:
        rows = count_text(len(self.data.train) if self.data is not None else 0, "training row")
        fit = f"A quick fit of the inputs of {rows}."
        if not self._image_shape():
            return (
                f"θ of each feature, in order, from −{number_text(limit, '.2g')} to {number_text(limit, '.2g')}. {fit}"
            )
        return f"Red raises the score, blue lowers it; full colour from |θ| = {number_text(limit, '.2g')}. {fit}"


def _weight(piece: Ridge | Smooth) -> str:
    exponent = 2 * piece.log_weight
    return number_text(math.exp(exponent)) if exponent < 700 else "∞"


class Preview:
    """Answers the newest question in a thread of its own, and says what there is to show.

    Parameters
    ----------
    publish : callable
        Takes the words, and θ before and after (2, n), or None where these stay as they are. Called by whoever asks,
        and by the thread.
    """

    def __init__(self, publish: Callable[[dict[str, Any], Thetas | None], None]) -> None:
        self._publish = publish
        self._effect = Effect(None)
        self._latest: Latest[Question] = Latest(self._answer, "lsat-preview")
        self._threads = torch.get_num_threads()  # of the caller; a new thread would take every core
        self._asked: Question | None = None

    def take(self, data: Data | None) -> None:
        """Take other rows."""
        self._effect, self._asked = Effect(data), None

    def ask(self, question: Question) -> None:
        """Have a question answered, unless it is the one that was asked last."""
        refusal = self._effect.refusal(question.piece.graph)
        if refusal:
            self._asked = None
            self._publish(self._effect.about() | {"words": refusal}, _NOTHING)
        elif question != self._asked:
            self._asked = question
            self._publish(self._effect.about() | {"state": "busy"}, None)
            self._latest.ask(question)

    def wait(self, timeout: float) -> bool:
        """Wait until all is answered; return whether that came within ``timeout`` seconds."""
        return self._latest.wait(timeout)

    def close(self) -> None:
        """Take no more questions."""
        self._latest.close()

    def _answer(self, question: Question, stale: Callable[[], bool]) -> None:
        torch.set_num_threads(self._threads)
        effect = self._effect
        try:
            answer = effect.answer(question)
        except Exception as error:  # in a thread nobody would see it
            answer = Answer(effect.about() | {"words": str(error)})
        if question is self._asked and not stale():
            self._publish(answer.words, answer.thetas)


_NOTHING: Thetas = np.empty((2, 0), dtype=np.float32)
