"""A tree of steps and what came of trying it, as plain values for a page: names, counts, controls, complaints."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from torch import Tensor

from lsat_explorer.model.featurizers import KMeansArchetypes, RandomPatches, Spline
from lsat_explorer.model.piece import nearest, source
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.plots.curves import count_text, number_text, short
from lsat_explorer.widgets.featurizer_draft import PREFIX, Path, Step, at, built, leaves, names_held
from lsat_explorer.widgets.featurizer_fields import controls, kinds, parameter
from lsat_explorer.widgets.featurizer_trial import Inputs, Trial, Tried

__all__ = ["as_code", "check_names", "counts", "described", "held_by", "page", "width_at"]


def page(root: Step, trial: Trial | None, column: int, tried: int, rows: int, *, busy: bool) -> dict[str, Any]:
    """Return the tree with its counts, and a sentence that says whether its steps fit.

    Parameters
    ----------
    root : Step
        The tree.
    trial : Trial or None
        What came of it; of an earlier tree where ``busy``.
    column : int
        The column whose numbers are shown where a step has one for each.
    tried, rows : int
        How many training rows are tried, and how many there are.
    busy : bool
        Whether the tree is still being tried.
    """
    problems = built(root)[1] if busy or trial is None else trial.problems
    if problems:
        steps = "1 step is" if len(problems) == 1 else f"{len(problems)} steps are"
        tone, sentence = "bad", f"{steps} wrong: the featurizer stays as it was before."
    elif busy or trial is None:
        tone, sentence = "busy", f"Trying it on {count_text(tried, 'training row')} …"
    else:
        of = "" if tried == rows else f", tried on {tried:,} of them"
        tone, sentence = "good", f"Fits the {count_text(rows, 'training row')}{of}."
    known = trial if trial is not None and _same_shape(root, trial) else None
    return {
        "tree": described(root, known, problems, column),
        "counts": None if known is None else counts(root, known),
        "tone": tone,
        "sentence": sentence,
    }


def described(root: Step, trial: Trial | None, problems: dict[Path, str], column: int) -> dict[str, Any]:
    """Return the tree as a page shows it.

    Parameters
    ----------
    root : Step
        The tree.
    trial : Trial or None
        What came of it, or of a tree of the same shape before it, or nothing yet.
    problems : dict of path to str
        What is wrong, by step.
    column : int
        The column whose numbers are shown where a step has one for each.
    """
    names = {kind.name: kind for kind in kinds()}

    def node(step: Step, path: Path, name: str, dotted: str, neighbours: int) -> dict[str, Any]:
        kind = names[step.kind]
        found: dict[str, Any] = {
            "path": list(path),
            "kind": step.kind,
            "title": kind.title,
            "about": kind.about,
            "formula": kind.formula,
            "name": name,
            "up": bool(path) and path[-1] > 0,
            "down": bool(path) and path[-1] < neighbours - 1,
            "problem": problems.get(path, ""),
            "out": None if trial is None else trial.widths.get(path),
        }
        if step.members is not None:
            inside = [
                node(member, (*path, place), own, f"{dotted}{own}.", len(step.members))
                for place, (own, member) in enumerate(step.members)
            ]
            return found | {"members": inside}
        tried = None if trial is None else trial.tried.get(path)
        inputs = None if trial is None else trial.inputs.get(path)
        return found | {
            "in": None if inputs is None else inputs.rows.shape[1],
            "summary": _summary(step),
            "controls": [_control(step, inputs, tried, asdict(control), column) for control in controls(step.kind)],
            "parameters": [] if tried is None else _parameters(step, tried, dotted),
        }

    return node(root, (), "", "", 1)


def counts(root: Step, trial: Trial) -> dict[str, int] | None:
    """Return the numbers of features and of hyper-parameters, and how many of these are tuned; None where unknown."""
    width = trial.widths.get(())
    if width is None:
        return None
    tried = [(step, trial.tried[path]) for path, _, step in leaves(root)]
    hyper = sum(count for _, one in tried for count in one.sizes.values())
    held = sum(count for step, one in tried for name, count in one.sizes.items() if name in step.held)
    return {"features": width, "hyper": hyper, "tuned": hyper - held}


def hyper_parameters(root: Step, trial: Trial) -> list[str]:
    """Return the full names of ω that a tree has, as far as its steps could be tried."""
    return [
        f"{PREFIX}{name}.{own}" if name else PREFIX + own
        for path, name, _ in leaves(root)
        for own in (trial.tried[path].sizes if path in trial.tried else ())
    ]


def held_by(root: Step, trial: Trial) -> list[str]:
    """Return the full names of ω that are held and exist."""
    there = set(hyper_parameters(root, trial))
    return [name for name in names_held(root) if name in there]


def check_names(root: Step, trial: Trial | None, names: list[str]) -> None:
    """Refuse names of ω that a tree does not have, if it has been tried.

    Raises
    ------
    ValueError
        For such a name; the nearest that exists is named.
    """
    if trial is None or trial.featurizer is None or trial.featurizer != built(root)[0]:
        return
    known = hyper_parameters(root, trial)
    for name in names:
        if name not in known:
            raise ValueError(f"held: ω has no entry {name!r}{nearest(name, known)}")


def width_at(root: Step, trial: Trial | None, path: Path, after: bool) -> int | None:
    """Return how many columns come into a step, or would into one that follows it; None where nobody knows."""
    if trial is None:
        return None
    if after and at(root, path).kind != "Concat" and path in trial.widths:
        return trial.widths[path]
    inside = [inputs.rows.shape[1] for leaf, inputs in trial.inputs.items() if leaf[: len(path)] == path]
    return inside[0] if inside else None


def _same_shape(root: Step, trial: Trial) -> bool:
    """Whether what was tried has the steps of a tree in its places, so that its numbers may stand for theirs."""
    now, then = ([(path, step.kind) for path, _, step in leaves(tree)] for tree in (root, trial.root))
    return now == then


def as_code(featurizer: Featurizer, held: list[str]) -> str:
    """Return Python that makes the featurizer, and the hyper-penalties that hold what is held."""
    lines = f"import lsat_explorer as lsat\n\nfeaturizer = {source(featurizer, 'lsat.', 0)}\n"
    if not held:
        return lines
    inside = "".join(f'    "{name}": lsat.Frozen(),\n' for name in held)
    return f"{lines}hyper_penalties = {{\n{inside}}}\n"


def _summary(step: Step) -> str:
    """Return in a few words what was chosen: the fields that are not at their defaults, and what is held."""
    said = []
    for control in controls(step.kind):
        value = step.fields.get(control.name)
        if value is None or (value == control.default and control.default is not None):
            continue
        if control.form == "flag":
            said.append(control.label if value else control.off or f"no {control.label}")
        elif isinstance(value, list) and control.each:
            said.append(f"{control.label} by column")
        elif control.form == "knots" and isinstance(value, list):
            said.append(f"{len(value)} knots")
        else:
            said.append(f"{control.label} {_text(value)}")
    said += [f"{parameter(step.kind, name)[0]} held" for name in step.held]
    return short(", ".join(said), 90) if said else ""


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " × ".join(map(_text, value))
    return number_text(value) if isinstance(value, float) else str(value)


def _parameters(step: Step, tried: Tried, dotted: str) -> list[dict[str, Any]]:
    found = []
    for name, count in tried.sizes.items():
        label, meaning = parameter(step.kind, name)
        found.append(
            {
                "name": name,
                "label": label,
                "meaning": f"{meaning} In ω: {PREFIX}{dotted}{name}".rstrip("."),
                "count": count,
                "held": name in step.held,
            }
        )
    return found


def _control(
    step: Step, inputs: Inputs | None, tried: Tried | None, control: dict[str, Any], column: int
) -> dict[str, Any]:
    """Return a control with its value, the ends of its slider, and what stands for an empty field."""
    value: Any = step.fields.get(control["name"])
    one = control["each"] and isinstance(value, list)
    start = None
    if inputs is not None:
        column = min(column, inputs.rows.shape[1] - 1)
        control |= _ends(step, inputs.rows, tried, control["name"], column)
    if tried is not None:
        start = _start(tried, control["name"], column)
    if one:
        value = value[column] if column < len(value) else None
    return control | {"value": value, "start": start, "one": one}


def _start(tried: Tried, name: str, column: int) -> float | None:
    """Return what stands for an empty field: where an entry of ω starts, for one column if there is one for each."""
    if isinstance(tried.piece, Spline) and name == "continuity":
        return tried.piece.degree - 1
    value = tried.block.init().get(name)
    if value is None or value.numel() not in (1, tried.rows.shape[1]):
        return None
    start = float(value.flatten()[column if value.numel() > 1 else 0])
    return 0.0 if abs(start) < 1e-12 * float(tried.rows[:, column].abs().max()) else start  # rounding is no centre


def _ends(step: Step, rows: Tensor, tried: Tried | None, name: str, column: int) -> dict[str, float]:
    """Return the ends of a slider that depend on what comes into the step, or on its other fields."""
    place, piece = (step.kind, name), None if tried is None else tried.piece
    if place == ("PowerTransform", "centre"):
        values = rows if step.fields.get("shared") is True else rows[:, column]
        low, high = float(values.min()), float(values.max())
        return {"low": low, "high": high} if high > low else {"low": low - 1, "high": high + 1}
    if place == ("LowRank", "rank"):
        return {"high": min(rows.shape)}
    if isinstance(piece, Spline) and name == "continuity":
        return {"low": 0, "high": max(1, piece.degree - 1)}
    if isinstance(piece, RandomPatches) and name == "size":
        return {"high": min(piece.image_shape[:2])}
    if tried is not None and isinstance(piece, KMeansArchetypes) and name == "log_scale":
        centres = tried.block.state()["archetypes"]
        reach = float((centres - centres.mean(0)).square().sum(1).mean().sqrt())
        usual = round(math.log(reach)) if reach > 0 else 0
        return {"low": usual - 6.0, "high": usual + 2.0}
    return {}
