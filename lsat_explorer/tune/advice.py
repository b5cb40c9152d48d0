"""What to say of a run: its status in words, and what its numbers warn of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from .column_names import far_from_zero, in_words
from .iterate import Iterate, Status
from .multi_start import Grid, MultiStart
from .score import unfitted

if TYPE_CHECKING:
    from .evaluation import Evaluation
    from .problem import Problem
    from .run import Run

__all__ = ["IN_CODE", "advice", "coarse", "notes", "overfitting"]

_EXACT = 1e-12
"""What is left of the loss of zero predictions where a fit is exact, to the six digits or so of float32."""

IN_CODE = "To go on, pull run.steps() again, or raise max_iterations in a new run."
"""How one goes on in code, as `Run.message` has it."""


def advice(run: Run, onward: str = IN_CODE) -> str:
    """Return the status of a run as sentences; ``onward`` says how one goes on that has come to its most iterations."""
    if not run.iterates:
        return " ".join(filter(None, [run.status.sentence, run.unsaved]))
    last = run.iterates[-1]
    if run.problem is not None and not run.problem.tuned and run.status is Status.CONVERGED:
        return " ".join(["Nothing to tune: this is the least squares fit at the recipe's values.", *run.notes])
    tolerance = run.recipe.method.tolerance
    searched = run.status is Status.CONVERGED and tolerance is None
    sentences = ["Done: the best of the values that were tried is kept." if searched else run.status.sentence]
    sentences += filter(None, [_grid_end(run) if searched else "", _other_start(run)])
    if run.status is Status.MAX_ITERATIONS:
        sentences.append(onward)
    if run.status is Status.NOT_FINITE and run.problem is not None:
        outcome = run.problem.holding(last.omega).evaluate(last.omega).outcome
        sentences.append(
            "The loss or its gradient is not a finite number." if outcome.ok else in_words(run.problem, outcome)
        )
    if run.status is Status.STALLED and run.recipe.dtype == "float32":
        sentences.append('Rounding of float32 hides smaller improvements: dtype="float64" goes on.')
    if run.status is Status.STALLED and tolerance is not None and 0 < tolerance < 1e-11 * abs(last.objective):
        sentences.append(
            f"A tolerance of {tolerance:g} is out of reach for an objective of {last.objective:.3g}: "
            "scale the targets, or raise the tolerance."
        )
    if run.status.final:
        sentences += filter(None, [overfitting(run)])
    return " ".join(filter(None, [*sentences, *run.notes, run.unsaved]))


def _grid_end(run: Run) -> str:
    """Return a word on a best value at an end of its grid, beyond which a better one may lie; empty elsewhere."""
    method, problem = run.recipe.method, run.problem
    if not isinstance(method, Grid) or problem is None:
        return ""
    (name,) = problem.tuned
    origin, best = (run.iterates[at].omega[name] for at in (run.leg, -1))
    for end, word in (("low", "lower"), ("high", "higher")):
        if torch.equal(best, origin + getattr(method, end)):
            return f"It is the end of the grid, and better ones may lie beyond: give Grid a {word} {end}."
    return ""


def _other_start(run: Run) -> str:
    """Return a word on a start that was given and left, as outside the domain of its hyper-penalty; empty elsewhere."""
    first = run.iterates[0].omega
    left = [name for name, value in (run.start or {}).items() if name in first and not torch.equal(value, first[name])]
    if not left:
        return ""
    one = left[0] if len(left) == 1 else f"{left[0]} and {len(left) - 1} more"
    return f"The start given for {one} lies outside what the hyper-penalty allows: the run set out from within."


def overfitting(run: Run) -> str:
    """Return the warning of a run whose validation loss fell while its validation error rose; empty for another.

    By `GCV` no row is judged without itself, and an error that rises may be all to the good.
    """
    first, last, criterion = run.iterates[0], run.kept, run.recipe.criterion
    judged = criterion.error_rows == "validation"
    if not (judged and last.loss < first.loss and last.error > first.error):
        return ""
    places = 1 if _shown(first.error, run) != _shown(last.error, run) else 3
    rows = "validation rows" if criterion.held_out else "training rows, which judge them as they are left out in turn"
    return (
        f"The validation loss fell, but the validation error rose from {_shown(first.error, run, places)} to "
        f"{_shown(last.error, run, places)}: the hyper-parameters may be fitting the {rows}."
    )


def coarse(problem: Problem, last: Iterate, variance: float | None = None) -> str:
    """Return the warning of a run that converged to a tolerance too large for the size of F; empty for another.

    A slope of a hundredth of F leaves a percent of it to be had for each unit of ω. Where a fit is all but exact F is
    nothing, and what is left does not count beside the loss of the best constant, unless it is noise in the targets
    that ψ would come down to, to a half or less, without the penalties; nor does the rounding that is left of targets
    that are all the same. A tolerance that was given in units of the ``variance`` of the targets is told so.
    """
    method, tolerance = problem.recipe.method, problem.recipe.method.tolerance
    if last.status is not Status.CONVERGED or tolerance is None or not problem.tuned:
        return ""
    reached = tolerance / 100 if isinstance(method, MultiStart) else tolerance  # it refines its best end
    if abs(last.objective) >= 100 * reached:
        return ""
    nothing, constant = _loss_without_features(problem, last)
    size = max(abs(last.objective), constant)
    if size >= 100 * reached:
        names = [matrix.name for matrix in problem.penalty_matrices if matrix.name in problem.tuned]
        size = _with_penalties(problem, last, names, -10.0).loss
        if not (last.residual >= last.objective / 100 and _EXACT * nothing < size < last.loss / 2):
            return ""
    if not 1e-26 * nothing < size:
        return ""
    unit, of, or_else = (1.0, "", ", or scale the targets") if variance is None else (variance, " variances of y", "")
    return (
        f"A tolerance of {tolerance / unit:g} is coarse for an objective of {last.objective / unit:.3g}{of}, and may "
        f"have ended the run before much was tuned: lower the tolerance to about {1e-4 * size / unit:.0e}{or_else}."
    )


def rounded(problem: Problem) -> str:
    """Return the warning where float32 rounds targets by a hundredth of their spread or more; empty elsewhere."""
    if problem.recipe.dtype != "float32" or problem.data.task == "classification" or len(problem.targets) < 2:
        return ""
    targets = problem.targets.double()
    rounding = float(targets.abs().max()) * torch.finfo(torch.float32).eps / 2
    spread = float(targets.std(0).max())
    if not 0 < spread < 100 * rounding:
        return ""
    return (
        f"float32 rounds the targets by up to {rounding:.2g}, beside a spread of {spread:.2g}: subtract a constant "
        'from them, or use dtype="float64".'
    )


def drowned(problem: Problem, last: Iterate) -> str:
    """Return the warning where penalties that nobody raised leave nothing of the features; empty elsewhere.

    F is then the same, to 10⁻⁵ relative, with penalties of e²⁰ times the weight.
    """
    names, start = [matrix.name for matrix in problem.penalty_matrices], problem.init()
    raised = any(bool((last.omega[name] > start[name] + 0.01).any()) for name in names)
    # what is better than a constant is not worth the evaluation
    if not names or raised or not last.loss > 0.9 * _loss_without_features(problem, last)[1] > 0:
        return ""
    without = _with_penalties(problem, last, names, 10.0)
    if not abs(without.loss - last.loss) <= 1e-5 * abs(last.loss):
        return ""
    return (
        "The penalties leave nothing of the features: without these the loss is the same to five digits. Start the "
        "penalties lower, or raise the weights of the rows where these are small."
    )


def one_class(problem: Problem, last: Iterate) -> str:
    """Return the warning of a model that predicts one class for all rows that judge, where there are others; or empty.

    Least squares scores of a rare class mostly stay below those of a common one.
    """
    classes, targets = problem.data.classes, problem.targets
    if classes is None or not len(targets):
        return ""
    share, most = (float(found) for found in targets.double().mean(0).max(0))
    # the error tells, but for another model with just this one
    if not share < 1 or abs(last.error - (1 - share)) > 1e-9:
        return ""
    predictions = problem.evaluate(last.omega).predictions  # none where the rows lie elsewhere
    if len(predictions) and bool((predictions.argmax(1) != most).any()):
        return ""
    rows = "validation rows" if problem.criterion.held_out else "rows that judge"
    return (
        f"All {rows} are predicted as {classes[int(most)]!r}, which {100 * share:.1f} % of them are: raise the weights "
        "of the other classes' rows, or compare predict_proba, which a CrossEntropy has, with another threshold."
    )


def _with_penalties(problem: Problem, last: Iterate, names: list[str], move: float) -> Evaluation:
    """Return F with the log weights of penalties so far from where they are: by ten, a weight is e²⁰ times as large."""
    return problem.evaluate({**last.omega, **{name: last.omega[name] + move for name in names}})


def _loss_without_features(problem: Problem, last: Iterate) -> tuple[float, float]:
    """Return ψ of predictions that are zero everywhere, and of those that are the mean of the targets everywhere."""
    targets = problem.targets.double()
    mean = targets.mean(0).expand_as(targets)
    return unfitted(problem, last.omega, torch.zeros_like(targets)), unfitted(problem, last.omega, mean)


def notes(problem: Problem, last: Iterate) -> list[str]:
    """Return what the end of a run warns of: a coarse tolerance, too many hyper-parameters, some that do nothing.

    There are too many where fewer rows judge them.
    """
    found = [coarse(problem, last), rounded(problem), far_from_zero(problem, last.omega), drowned(problem, last)]
    if not found[-1]:
        found.append(one_class(problem, last))
    count, rows = sum(last.omega[name].numel() for name in problem.tuned), len(problem.targets)
    if count > rows:
        found.append(
            f"There are {count:,} hyper-parameters and {rows:,} rows that judge them: the validation loss says little "
            "about new rows."
        )
    tuned = [matrix.name for matrix in problem.penalty_matrices if matrix.name in problem.tuned]
    idle = [_short(name) for name in tuned if _idle(problem, last, name)]
    if idle:
        found.append(
            f"The loss no longer depends on the weight of {' and '.join(idle)}: without, it is the same to five digits."
            + (" Other starts may find better: MultiStart()." if problem.recipe.method.local else "")
        )
    found += [_dead(problem, last, name) for name in problem.tuned if name.startswith("featurizer.")]
    ends = [_short(name) for name in problem.tuned if _at_an_end(problem, last, name)]
    if ends:
        many = " and ".join(ends)
        many = many.replace("the", "The", 1) if many.startswith("the ") else many  # names stay as they were given
        found.append(f"{many} ended at the bound that the hyper-penalty sets.")
    if problem.recipe.early_stopping is not None and problem.data.final is None:
        found.append("Early stopping has used the test rows: for an honest last look give the data a final split.")
    return [told for told in found if told]


def _at_an_end(problem: Problem, last: Iterate, name: str) -> bool:
    """Whether a number lies at an end of its domain."""
    if last.omega[name].ndim:
        return False
    beyond = [last.omega[name] + move for move in (-1e-3, 1e-3)]
    return any(bool(problem.hyper_penalties[name].value(value) == math.inf) for value in beyond)


def _short(name: str) -> str:
    """Return the name that the user gave: ``smooth`` for ``regularizer.smooth.log_weight``."""
    return ".".join(name.split(".")[1:-1]) or f"the {name.split('.')[0]}"


def _idle(problem: Problem, last: Iterate, name: str) -> bool:
    """Whether F stays the same, to 10⁻⁵ relative, when a penalty that was not raised is taken away altogether."""
    raised = bool((last.omega[name] > problem.init()[name] + 0.01).any())
    if raised or last.number == 0:
        return False
    without = _with_penalties(problem, last, [name], -10.0)
    return abs(without.loss - last.loss) <= 1e-5 * abs(last.loss)


def _dead(problem: Problem, last: Iterate, name: str) -> str:
    """Return the warning of a number of the features from whose start F is flat, to 10⁻⁵ relative, one to each side."""
    start, value = problem.init()[name], last.omega[name]
    if value.ndim or bool((value - start).abs() > 1.001):  # the first step over what is flat may be as long as one
        return ""
    # one after the other: where F is not flat, the first of them mostly says so
    beside = (problem.evaluate({**last.omega, name: start + move}).loss for move in (-1.0, 1.0))
    if not all(abs(loss - last.loss) <= 1e-5 * abs(last.loss) for loss in beside):
        return ""
    return (
        f"The loss does not depend on {name.split('.', 1)[1]} near its start, {float(start):.4g}, from where nothing "
        "tunes it: give another start, or leave it out for the usual one."
    )


def _shown(error: float, run: Run, places: int = 1) -> str:
    return f"{100 * error:.{places}f} %" if run.data.task == "classification" else f"{error:.{3 + places}g}"
