"""A featurizer that is being assembled: a tree of steps that may still be wrong, and the edits of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from lsat_explorer.model.featurizers.chain import step_names
from lsat_explorer.model.piece import REGISTRY, decode, encode, nearest
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.widgets.featurizer_complaints import complaint

__all__ = [
    "PREFIX",
    "Path",
    "Step",
    "added",
    "at",
    "built",
    "kept_held",
    "leaves",
    "moved",
    "names_held",
    "removed",
    "renamed",
    "step_of",
    "with_field",
    "with_held",
    "with_hold",
]

Path = tuple[int, ...]
"""Where a step stands: its place among the members, from the outermost container inwards."""

PREFIX = "featurizer."
"""What stands before the names of a featurizer's hyper-parameters in ω."""


@dataclass(frozen=True)
class Step:
    """One piece as it is typed: fields that nobody has checked, and which of its hyper-parameters are held.

    Parameters
    ----------
    kind : str
        The type's name in the registry.
    fields : mapping of str to JSON value
        The fields by name, for a piece that is not made of pieces.
    held : tuple of str
        Local names of entries of ω that are not tuned.
    members : tuple of (str, Step), optional
        The members by name, for a `Chain` or a `Concat`.
    """

    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    members: tuple[tuple[str, Step], ...] | None = None

    def to_text(self) -> str:
        """Return the tree as JSON text: the form of the featurizer, with ``held`` beside it where something is."""
        return json.dumps(self._encoded(), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Step:
        """Rebuild a tree from `to_text`."""
        return _step(json.loads(text))

    def _encoded(self) -> dict[str, Any]:
        inside = {"members": {n: s._encoded() for n, s in self.members}} if self.members is not None else self.fields
        return {"type": self.kind, **inside, **({"held": list(self.held)} if self.held else {})}


def _step(value: Mapping[str, Any]) -> Step:
    rest = {key: item for key, item in value.items() if key not in ("type", "held")}
    if REGISTRY[value["type"]].members_field is None:
        return Step(value["type"], rest, tuple(value.get("held", ())))
    return Step(value["type"], members=tuple((name, _step(member)) for name, member in rest["members"].items()))


def step_of(featurizer: Featurizer) -> Step:
    """Return the tree of a featurizer, with nothing held.

    Examples
    --------
    >>> from lsat_explorer import Scale
    >>> step_of(Scale())
    Step(kind='Scale', fields={'tuned': True}, held=(), members=None)
    """
    return _step(encode(featurizer))


def built(step: Step, path: Path = ()) -> tuple[Featurizer | None, dict[Path, str]]:
    """Return the featurizer that a tree stands for, and what is wrong, in the pieces' own words, by step.

    Returns
    -------
    featurizer : Featurizer or None
        None where anything is wrong.
    problems : dict of path to str
        A sentence for each step that its piece, or the container around it, refuses.
    """
    kind: Any = REGISTRY[step.kind]
    if step.members is None:
        try:
            return kind(**{name: decode(value, name) for name, value in step.fields.items()}), {}
        except (ValueError, TypeError) as error:
            return None, {path: complaint(step.kind, step.fields, error)}
    taken: dict[str, Featurizer] = {}
    problems: dict[Path, str] = {}
    for place, (name, member) in enumerate(step.members):
        piece, wrong = built(member, (*path, place))
        problems |= wrong
        if piece is None:
            continue
        try:  # one member more at a time, so that what the container refuses has its place
            kind(**taken, **{name: piece})
        except ValueError as error:
            problems[(*path, place)] = str(error)
        else:
            taken[name] = piece
    return (None if problems else kind(**taken)), problems


def leaves(step: Step, path: Path = (), name: str = "") -> Iterator[tuple[Path, str, Step]]:
    """Yield the pieces that are not made of pieces: path, dotted name, step, in the order of their features."""
    if step.members is None:
        yield path, name, step
        return
    for place, (own, member) in enumerate(step.members):
        yield from leaves(member, (*path, place), f"{name}.{own}" if name else own)


def names_held(root: Step) -> list[str]:
    """Return the full names of ω that are held, such as ``"featurizer.pixels.scale.shift"``."""
    return [f"{PREFIX}{name}.{own}" if name else PREFIX + own for _, name, step in leaves(root) for own in step.held]


def with_held(root: Step, names: Iterable[str]) -> Step:
    """Return the tree with exactly these entries of ω held.

    Raises
    ------
    ValueError
        For a name that belongs to no step.
    """
    held: dict[Path, list[str]] = {}
    known = {name: path for path, name, _ in leaves(root)}
    for full in names:
        local = str(full).removeprefix(PREFIX)
        owners = [name for name in known if not name or local.startswith(name + ".")]
        if local == full or not owners:
            begins = " or ".join(f"{PREFIX}{name}{'.' if name else ''}" for name in known)
            raise ValueError(f"held: no step has an entry of ω named {full!r}: their names begin with {begins}")
        name = max(owners, key=len)
        held.setdefault(known[name], []).append(local[len(name) + 1 :] if name else local)
    for path in known.values():
        root = _changed(root, path, partial(replace, held=tuple(held.get(path, ()))))
    return root


def kept_held(root: Step, names: Iterable[str]) -> Step:
    """Return the tree with those entries of ω held that belong to one of its steps."""
    for name in names:
        with suppress(ValueError):
            root = with_held(root, [*names_held(root), name])
    return root


def at(root: Step, path: Path) -> Step:
    """Return the step at a path.

    Raises
    ------
    ValueError
        When there is none, such as after another view removed it.
    """
    step = root
    for place in path:
        if step.members is None or not 0 <= place < len(step.members):
            raise ValueError("That step is no longer there.")
        step = step.members[place][1]
    return step


def _changed(root: Step, path: Path, change: Callable[[Step], Step]) -> Step:
    if not path:
        return change(root)
    at(root, path[:1])
    members = list(root.members or ())
    name, member = members[path[0]]
    members[path[0]] = (name, _changed(member, path[1:], change))
    return replace(root, members=tuple(members))


def with_field(root: Step, path: Path, name: str, value: Any) -> Step:
    """Return the tree with one field of one step replaced."""
    step = at(root, path)
    known = [f.name for f in fields(REGISTRY[step.kind])]  # type: ignore[arg-type]
    if step.members is not None or name not in known:
        raise ValueError(f"{step.kind} has no {name!r}{nearest(name, known)}")
    return _changed(root, path, lambda step: replace(step, fields={**step.fields, name: value}))


def with_hold(root: Step, path: Path, name: str, hold: bool) -> Step:
    """Return the tree with one entry of ω held at its start, or tuned."""
    others = tuple(own for own in at(root, path).held if own != name)
    return _changed(root, path, lambda step: replace(step, held=(*others, name) if hold else others))


def added(root: Step, path: Path, step: Step, beside: bool = False) -> tuple[Step, Path]:
    """Return the tree with a step more, and where it is.

    Parameters
    ----------
    path : Path
        A container, which takes the step at its end, or a piece, which becomes the first of a `Chain`.
    beside : bool
        Put the step beside what is at ``path`` rather than after it: a `Concat` takes both.
    """
    target = at(root, path)
    side = target.kind == "Concat"
    if beside and not side:
        target, side = Step("Concat", members=(("features", target),)), True
    elif target.members is None:
        target = Step("Chain", members=((step_names([target.kind])[0], target),))
    members = target.members or ()
    grown = _with_members(target, (*members, (_unused(step.kind, members), step)))
    return _changed(root, path, lambda _: grown), (*path, len(members))


def removed(root: Step, path: Path) -> Step:
    """Return the tree without a step; a container that it leaves empty goes with it.

    Raises
    ------
    ValueError
        For the last step of all.
    """
    if not path:
        raise ValueError("A featurizer needs at least one step: add another before you remove this one.")
    at(root, path)
    around = at(root, path[:-1])
    members = tuple(member for place, member in enumerate(around.members or ()) if place != path[-1])
    if not members:
        return removed(root, path[:-1])
    alone = around.kind == "Chain" and len(members) == 1 and _automatic(around)
    return _changed(root, path[:-1], lambda step: members[0][1] if alone else _with_members(step, members))


def moved(root: Step, path: Path, by: int) -> tuple[Step, Path]:
    """Return the tree with a step some places further down among its neighbours, and where it is then."""
    around, place = (at(root, path[:-1]), path[-1]) if path else (root, 0)
    members = list(around.members or ())
    target = min(max(place + by, 0), max(len(members) - 1, 0))
    if not path or target == place:
        return root, path
    members.insert(target, members.pop(place))
    return _changed(root, path[:-1], lambda step: _with_members(step, tuple(members))), (*path[:-1], target)


def renamed(root: Step, path: Path, name: str) -> Step:
    """Return the tree with another name for a member.

    Raises
    ------
    ValueError
        When a neighbour has that name.
    """
    around = at(root, path[:-1])
    members = list(around.members or ())
    if not path or any(own == name for place, (own, _) in enumerate(members) if place != path[-1]):
        raise ValueError(f"There is a {name!r} already: give another name.")
    members[path[-1]] = (name, at(root, path))
    return _changed(root, path[:-1], lambda step: replace(step, members=tuple(members)))


def _with_members(step: Step, members: tuple[tuple[str, Step], ...]) -> Step:
    """Return a container with other members; names that its positions gave are given anew."""
    if step.kind == "Chain" and _automatic(step):
        names = step_names([member.kind for _, member in members])
        members = tuple((name, member) for name, (_, member) in zip(names, members, strict=True))
    return replace(step, members=members)


def _automatic(chain: Step) -> bool:
    members = chain.members or ()
    return [name for name, _ in members] == step_names([step.kind for _, step in members])


def _unused(kind: str, members: Iterable[tuple[str, Step]]) -> str:
    taken = {name for name, _ in members}
    base = step_names([kind])[0]
    return next(n for n in (base, *(f"{base}_{i}" for i in range(2, len(taken) + 3))) if n not in taken)
