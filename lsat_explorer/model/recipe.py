"""The recipe: every choice of a least squares auto-tuning problem, as one frozen value."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from .arguments import told, with_words
from .choices import Criterion, EarlyStopping, Method, registered
from .data_weights import DataWeights
from .engines import Chunks, Dask, Engine, Memory
from .featurizers import Concat, Constant, Scale
from .hyper_penalties import HyperPenalty
from .losses import Loss
from .piece import DIGITS, REGISTRY, Piece, decode, encode, nearest, plain, refuse_unwritable, source, whole
from .prepared import Featurizer
from .regularizers import Regularizer, Ridge

__all__ = ["Recipe"]

FORMAT = 1
_MAX_TEXT = 64 * 2**20


@with_words
@dataclass(frozen=True, repr=False)
class Recipe(Piece):
    """Every choice: what is fitted, what is tuned and how. ``Recipe()`` alone is sensible for any table.

    Parameters
    ----------
    featurizer : Featurizer
        Feature map φ(u; ω). Default: standardised columns and a constant.
    regularizer : Regularizer
        Penalties on θ, their log weights in ω. Default: a ridge on the standardised columns.
    data_weights : DataWeights or None
        Weights of training rows.
    loss : Loss or None
        The true objective ψ. None: cross-entropy for classes, squared error for regression. Where the probabilities
        of classes are to be used, give ``CrossEntropy(temperature=True)``: without, even sure ones stay small.
    hyper_penalties : dict of str to HyperPenalty
        r, by the name of an entry of ω. Names left out: log units are boxed to ±8 around their start.
    criterion : Criterion
        The rows on which ψ is taken.
    method : Method
        How F = ψ + r is descended. Default: `LineSearch`, which serves every hyper-penalty and reached 10⁻³ of the best
        F in a third of the evaluations of the paper's rule, ``ProximalGradient()`` (`lsat-explorer bench methods`).
        `LBFGS` needs about as few and ends closer where every hyper-penalty is smooth, a box or a sum of zero.
    early_stopping : EarlyStopping or None
        Whether the test rows end the run; the data need a test split then.
    seed : int
        Seeds every random choice.
    dtype : {"float64", "float32"}
        Arithmetic of products over rows; their sums and all factors are float64.
    device : str
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, or ``"auto"``.
    engine : Engine or {"memory", "chunks", "dask"}
        Where rows and features are held: `Memory`, `Chunks` or `Dask`.

    Raises
    ------
    ValueError
        For a piece of the wrong kind, named with what was expected, and for early stopping of a method that searches
        several places.

    Examples
    --------
    >>> Recipe() == eval(repr(Recipe()))
    True
    >>> Recipe.from_json(Recipe(seed=3).to_json()).seed
    3
    """

    featurizer: Featurizer = field(default_factory=lambda: Concat(features=Scale(tuned=False), one=Constant()))
    regularizer: Regularizer = field(default_factory=lambda: Ridge(block="features"))
    data_weights: DataWeights | None = None
    loss: Loss | None = None
    hyper_penalties: dict[str, HyperPenalty] = field(default_factory=dict)
    criterion: Criterion = field(default_factory=registered("HeldOut"))
    method: Method = field(default_factory=registered("LineSearch"))
    early_stopping: EarlyStopping | None = None
    seed: int = 0
    dtype: str = "float64"
    device: str = "cpu"
    engine: Engine | str = field(default_factory=Memory)

    dtypes: ClassVar[tuple[str, ...]] = ("float64", "float32")
    engines: ClassVar[dict[str, type[Engine]]] = {"memory": Memory, "chunks": Chunks, "dask": Dask}

    def __post_init__(self) -> None:
        for name, kind, optional in _KINDS:
            value = getattr(self, name)
            if not (isinstance(value, kind) or (optional and value is None)):
                expected = (
                    f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}{' or None' if optional else ''}"
                )
                raise ValueError(f"Recipe: {name} is {told(value)}, expected {expected}{_instead(value, kind)}")
        if self.early_stopping is not None and not self.method.local:
            raise ValueError(
                f"Recipe: {self.early_stopping!r} ends a descent whose loss on the test rows has risen, and "
                f"{type(self.method).__name__} searches several places: choose a local method such as LBFGS(), or "
                "leave early_stopping out."
            )
        if not isinstance(self.hyper_penalties, Mapping):
            raise ValueError(f"Recipe: hyper_penalties is {told(self.hyper_penalties)}, expected a dict by name in ω.")
        for name, penalty in self.hyper_penalties.items():
            if not isinstance(name, str) or not isinstance(penalty, HyperPenalty):
                raise ValueError(f"Recipe: hyper_penalties[{name!r}] is {penalty!r}, expected a HyperPenalty.")
            if name == "type":  # which tells the kind of a piece in JSON
                raise ValueError("Recipe: hyper_penalties names 'type', expected a name in ω, with its part before it.")
            refuse_unwritable(name, "Recipe: hyper_penalties")
        object.__setattr__(self, "hyper_penalties", {plain(name): r for name, r in self.hyper_penalties.items()})
        whole(self.seed, "Recipe: seed", low=0, high=2**63 - 1)
        if self.dtype not in self.dtypes:
            raise ValueError(f"Recipe: dtype is {self.dtype!r}{nearest(self.dtype, self.dtypes)}")
        if not isinstance(self.engine, Engine):
            if not isinstance(self.engine, str) or self.engine not in self.engines:
                raise ValueError(f"Recipe: engine is {self.engine!r}{nearest(self.engine, self.engines)}")
            object.__setattr__(self, "engine", self.engines[self.engine]())
        if not isinstance(self.device, str) or not self.device.isprintable():
            raise ValueError(f"Recipe: device is {self.device!r}, expected a name such as 'cpu' or 'cuda'.")

    def __hash__(self) -> int:
        choices = (getattr(self, f.name) for f in fields(self))
        return hash(tuple(frozenset(item.items()) if isinstance(item, dict) else item for item in choices))

    def replace(self, **changes: Any) -> Recipe:
        """Return a copy with other choices."""
        return replace(self, **changes)

    def differs(self, other: Recipe) -> str:
        """Return in a few words where ``other`` differs, ``""`` where it does not."""
        names = [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]
        return ", ".join(name.replace("_", " ") for name in names)

    def to_json(self) -> str:
        """Return the recipe as JSON text, with a format number."""
        value = {key: item for key, item in encode(self).items() if key != "type"}
        return json.dumps({"format": FORMAT, **value}, indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Rebuild a recipe from JSON text: a pure function of the text, which imports and evaluates nothing.

        Raises
        ------
        ValueError
            Naming the key that is wrong: unknown type or key, one that stands twice, a value of the wrong kind, NaN, or
            another format number.
        """
        if not isinstance(text, str) or len(text) > _MAX_TEXT:
            raise ValueError("A recipe is JSON text of at most 64 MiB.")
        try:
            value = json.loads(
                text.removeprefix("\ufeff"),  # the mark that some editors put before a text
                parse_constant=_refuse_constant,
                parse_int=_whole,
                object_pairs_hook=_once,
            )
        except (json.JSONDecodeError, RecursionError) as error:
            path = f" {text!r} looks like a path: pass the text of that file." if text.strip().endswith(".json") else ""
            raise ValueError(f"The recipe is not readable JSON: {error}.{path}") from error
        if not isinstance(value, dict):
            raise ValueError(f"The recipe is a {type(value).__name__}: expected an object with the recipe's keys.")
        if type(value.get("format")) is not int or value["format"] != FORMAT:
            raise ValueError(f"format is {value.get('format')!r}: this version reads recipes of format {FORMAT}.")
        known = [f.name for f in fields(cls)]
        arguments: dict[str, Any] = {}
        for key, item in value.items():
            if key == "format":
                continue
            if key not in known:
                raise ValueError(f"The recipe has no {key!r}{nearest(key, known)}")
            try:
                arguments[key] = decode(item, key)
            except RecursionError as error:
                raise ValueError(f"{key}: nested too deeply.") from error
        return cls(**arguments)

    def to_source(self) -> str:
        """Return Python source that rebuilds the recipe as ``recipe``."""
        return f"import lsat_explorer as lsat\n\nrecipe = {source(self, 'lsat.', 0)}\n"


_KINDS: tuple[tuple[str, type, bool], ...] = (
    ("featurizer", Featurizer, False),
    ("regularizer", Regularizer, False),
    ("data_weights", DataWeights, True),
    ("loss", Loss, True),
    ("criterion", Criterion, False),
    ("method", Method, False),
    ("early_stopping", EarlyStopping, True),
)


def _instead(value: Any, kind: type) -> str:
    """Return the end of an error sentence that says what to give in place of a value that is no piece of a kind."""
    names = {name.lower(): name for name, each in REGISTRY.items() if issubclass(each, kind)}
    word = value.__name__ if isinstance(value, type) else value if isinstance(value, str) else ""
    close = list(names) if len(names) == 1 else difflib.get_close_matches(word.lower().replace("_", ""), names, n=1)
    if close:
        return f": write {names[close[0]]}()."
    if kind is DataWeights and isinstance(value, Iterable) and not isinstance(value, str):
        return ": for weights of your own, one a training row, write FixedWeights(…)."
    return f": one of {', '.join(names.values())}."


def _whole(digits: str) -> int:
    count = len(digits.removeprefix("-"))
    if count > DIGITS:
        raise ValueError(f"The recipe holds a whole number of {count} digits: expected at most {DIGITS}.")
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"The recipe holds {twice!r} twice in one object: expected each key once.")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"The recipe holds {name}: expected finite numbers.")
