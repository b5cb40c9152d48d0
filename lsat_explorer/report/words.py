"""What a page says of a run, as sentences and as tables, before anything is HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data.tables import shown
from ..model.data_weights import LogWeights
from ..model.hyper_penalties import Frozen
from ..plots.curves import count_text, number_text, value_text
from ..tune.criteria import Counted, HeldOut, LeaveOneOut
from ..tune.entry_names import EntryNames
from ..tune.iterate import Status
from ..tune.saved import about, classes_of, names_of, prepared_of
from ..tune.score import error_of

if TYPE_CHECKING:
    from torch import Tensor

    from ..model.choices import Criterion
    from ..tune.run import Run

__all__ = [
    "ITERATES",
    "OMEGA",
    "columns",
    "data_name",
    "given",
    "iterates",
    "listed",
    "no_weights",
    "omega",
    "origin",
    "story",
    "weights",
]

MOST_ITERATES = 40
MOST_COLUMNS = 60
_LARGEST_POWER = 700.0
OMEGA = ("part", "name", "value", "at the start", "at the end", "weight e^(2ω)")
ITERATES = ("iteration", "loss ψ", "training loss", "error", "step size t", "residual", "accepted", "seconds")


def data_name(run: Run) -> str:
    """Return what was fitted, in words: name and rows, as they were saved where the rows are not there."""
    return run.data.describe() if run.data is not None else _saved_name(about(run))


def _saved_name(said: dict[str, Any]) -> str:
    return str((said.get("data") or {}).get("name", "unknown rows")).removeprefix("Data(").removesuffix(")")


def given(label: object) -> str:
    """Return what the data say of a row, a class or one or several targets, as one text.

    Examples
    --------
    >>> given("cat"), given(np.array([-0.909427562, 36922.9331]))
    ('cat', '-0.9094, 3.692e4')
    """
    if isinstance(label, np.ndarray):
        return ", ".join(given(part) for part in label.ravel())
    return number_text(float(label)) if isinstance(label, float | np.floating) else str(label)


def story(run: Run) -> list[str]:
    """Return the run in sentences: where it stands, what fell, how long it took, how often it was tested."""
    first, kept = run.iterates[0], run.kept
    accepted, rejected = run.iterates.counts
    kinds, criterion = classes_of(run) is not None, run.recipe.criterion
    steps = f"{count_text(len(run.iterates) - 1, 'iteration')} ({accepted:,} accepted, {rejected:,} rejected)"
    count = sum(value.numel() for name, value in kept.omega.items() if not _held(run, name))
    sentences = [
        run.message,
        f"Hyper-parameters that are tuned: {count:,}. There were {steps}, in {run.iterates[-1].seconds:.1f} s.",
        f"The {_loss_name(criterion)} went from {value_text(first.loss)} to {value_text(kept.loss)}, the training loss "
        f"from {value_text(first.training_loss)} to {value_text(kept.training_loss)}.",
        f"The {_error_name(kinds, criterion)} went from {_error(first.error, kinds)} to "
        f"{_error(kept.error, kinds)}.{_simplest(run)}",
        _looks(run),
    ]
    if kept.number != run.iterates[-1].number:
        sentences.insert(2, f"Early stopping keeps iteration {kept.number:,}.")
    return [sentence for sentence in sentences if sentence]


def _simplest(run: Run) -> str:
    """Return the error that one prediction for every row has on those that judge, in words; empty without rows."""
    data, criterion = run.data, run.recipe.criterion
    if data is None or (isinstance(criterion, Counted) and not isinstance(criterion.criterion, HeldOut | LeaveOneOut)):
        return ""  # rows that are divided are counted in an order of their own
    training, judged = data.train.targets, (data.validation if criterion.held_out else data.train).targets
    constant, name = training.mean(0), "mean of the training rows"
    if data.classes is not None:
        name = f"label {shown(data.classes[int(constant.argmax())])}"
    error = error_of(constant.expand_as(judged), judged, data.task, criterion.mean)
    return f" The {name}, predicted for every row, has {_error(float(error), data.classes is not None)}."


def _looks(run: Run) -> str:
    """Return how often rows that decided nothing were looked at; with early stopping those of the test did decide.

    Nothing is said of rows that the data do not have.
    """
    early, data = run.recipe.early_stopping is not None, run.data
    none = data is not None and (data.final if early else data.test) is None
    looks = "not been looked at" if run.looks == 0 else f"been looked at {count_text(run.looks, 'time')}"
    if not early:
        return "" if none else f"The test rows have {looks} by this run."
    judged = "Early stopping has judged each iteration by the test rows"
    return f"{judged}." if none else f"{judged}; final rows have {looks} by this run."


def _loss_name(criterion: Criterion) -> str:
    return f"loss on the {criterion.judging}" if criterion.apart else "validation loss"


def _error_name(kinds: bool, criterion: Criterion) -> str:
    rows = criterion.judging
    return f"share of {rows} that are classified wrongly" if kinds else f"root mean square on the {rows}"


def _error(value: float, kinds: bool) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{100 * value:.1f} %" if kinds else number_text(value)


def omega(run: Run) -> list[tuple[str, ...]]:
    """Return a row of `OMEGA` for each entry of ω, in the names that the user gave."""
    start, names = run.iterates[0].omega, _names(run)
    return [_entry(run, name, value, start.get(name), names.of(name, value)) for name, value in run.kept.omega.items()]


def _entry(run: Run, name: str, value: Tensor, start: Tensor | None, names: Sequence[str] | None) -> tuple[str, ...]:
    part, *own, last = name.split(".")
    held = ", held" if _held(run, name) else ""
    weight = _range(value, names, _weight) if last == "log_weight" else ""
    before = "–" if start is None else _range(start, names)
    own_name = ".".join(own)
    return part.replace("_", " "), own_name, last.replace("_", " ") + held, before, _range(value, names), weight


def _names(run: Run) -> EntryNames:
    if run.problem is None and run.data is not None:  # read back with its rows: its model knows all blocks
        return EntryNames(run.recipe, run.model.feature_names, run.model.blocks)
    return names_of(run)


def columns(run: Run) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a heading and a row for each column of the table, or feature, that has hyper-parameters of its own.

    Both are empty where there are none, and where there are more than are worth a table, as in images.
    """
    names, told, rows = _names(run), [], dict[str, dict[str, str]]()
    for name, value in run.kept.omega.items():
        own = names.of(name, value)
        if own is None or value.ndim != 1 or len(own) > MOST_COLUMNS:
            continue
        _, *path, last = name.split(".")
        told += [" ".join([*path, last.replace("_", " ")])]
        for each, number in zip(own, value.detach().double().cpu().tolist(), strict=True):
            rows.setdefault(each, {})[told[-1]] = number_text(number)
            if last == "log_weight":
                rows[each][f"{told[-1]}, e^(2ω)"] = _weight(number)
        told += [f"{told[-1]}, e^(2ω)"] if last == "log_weight" else []
    return ("column", *told), [(each, *(of.get(one, "") for one in told)) for each, of in rows.items()]


def _held(run: Run, name: str) -> bool:
    if run.problem is not None:
        return name not in run.problem.tuned
    own = {f"featurizer.{of}": penalty for of, penalty in prepared_of(run).hyper_penalties().items()}
    return isinstance((own | run.recipe.hyper_penalties).get(name), Frozen)


def _weight(log_weight: float) -> str:
    """Return e^(2ω) as a number, as a power of e where a float would hold 0 or infinity."""
    power = 2 * float(log_weight)
    return f"e^{number_text(power)}" if abs(power) > _LARGEST_POWER else number_text(math.exp(power))


def _range(value: Tensor, names: Sequence[str] | None = None, text: Callable[[float], str] = number_text) -> str:
    """Return a number as ``text``, which grows with it, or how many there are and the least and the greatest.

    Where the values have names, the least and the greatest are told with theirs.
    """
    numbers = value.detach().double().cpu().reshape(-1).numpy()
    if numbers.size < 2:
        return text(numbers[0]) if numbers.size else "none"
    each = numbers.size // len(names) if names else 1
    ends = int(numbers.argmin()) // each, int(numbers.argmax()) // each
    least, greatest = (f" ({names[place]})" if names else "" for place in ends)
    low, high = text(numbers.min()), text(numbers.max())
    return f"{numbers.size:,} values, {f'all {low}' if low == high else f'{low}{least} to {high}{greatest}'}"


def listed(count: int, most: int = MOST_ITERATES) -> list[int]:
    """Return the numbers of the iterates that a table lists: all, or of many the first, the last and some between.

    Examples
    --------
    >>> listed(3)
    [0, 1, 2]
    >>> listed(1000, 8)
    [0, 1, 2, 334, 665, 997, 998, 999]
    """
    if count <= 1.5 * most:  # leaving out a few would save nothing
        return list(range(count))
    ends = most // 4
    between = np.linspace(ends, count - 1 - ends, most - 2 * ends).round().astype(int)
    return sorted({*range(ends), *between.tolist(), *range(count - ends, count)})


def iterates(run: Run, numbers: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Yield a row of `ITERATES` for each of these iterates."""
    kinds = classes_of(run) is not None
    for number in numbers:
        it = run.iterates[number]
        yield (
            f"{it.number:,}",
            value_text(it.loss),
            value_text(it.training_loss),
            _error(it.error, kinds),
            value_text(it.step, "step"),
            value_text(it.residual, "residual"),
            "yes" if it.accepted else "no",
            f"{it.seconds:.2f}",
        )


def weights(run: Run) -> NDArray[np.float64] | None:
    """Return the weights e^{2ω_i} (k,) of the training rows, None where `no_weights` says why there are none."""
    described = run.recipe.data_weights
    if isinstance(described, LogWeights):  # which need no rows
        found = (2 * run.omega["data_weights.log_weight"].double().cpu()).exp().numpy()
    elif described is None or run.data is None:
        return None
    else:
        found = run.weights()
    return found if np.isfinite(found).all() else None


def no_weights(run: Run) -> str:
    """Say why a run has no `weights` to show: none are given, the rows must say them, or a float holds none of them."""
    if run.recipe.data_weights is None:
        return "Every training row counts once."
    known = isinstance(run.recipe.data_weights, LogWeights) or run.data is not None
    large = "Some are larger than any number that a float can hold, 1.8e308."
    return large if known else "They follow from the rows, which are not there."


def origin(run: Run) -> list[tuple[str, object]]:
    """Return what it takes to make the run again: data by name and hash, seed, device, versions."""
    said = about(run)
    device = run.recipe.device if run.problem is None else str(run.problem.device)
    versions = said.get("versions") or {"versions": "not recorded by the version that saved this run"}
    return [
        ("data", _saved_name(said)),
        ("SHA-256 of the training and validation rows", (said.get("data") or {}).get("sha256", "not recorded")),
        ("seed", run.recipe.seed),
        ("device", device),
        ("arithmetic over rows", run.recipe.dtype),
        ("engine", repr(run.recipe.engine)),
        ("status", f"{run.status.value}{'' if run.status.final else ', the run goes on'}"),
        *versions.items(),
    ]


def begun(run: Run) -> None:
    """Refuse a run of which there is nothing to see.

    Raises
    ------
    ValueError
        When the run has not started.
    """
    if run.status is Status.READY or not run.iterates:
        raise ValueError("The run has no iterates to report: pull run.steps(), or call lsat.tune(recipe, data).")
