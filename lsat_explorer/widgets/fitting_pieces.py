"""A recipe whose pieces were changed by hand, one at a time: what follows from it for the other pieces."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf, log
from typing import Any

from lsat_explorer.data import Data
from lsat_explorer.model.featurizers import Concat, Identity, PowerTransform, Scale, SelectFeatures
from lsat_explorer.model.graph import Graph
from lsat_explorer.model.hyper_penalties import Frozen, HyperPenalty
from lsat_explorer.model.piece import Omega
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.model.regularizers import Regularizer, Smooth, Stack
from lsat_explorer.tune.column_names import refuse_unknown_blocks
from lsat_explorer.widgets.featurizer_draft import Step, leaves, step_of

__all__ = [
    "Dropped",
    "editable",
    "held_names",
    "misfit",
    "still_told",
    "with_features",
    "with_graphs",
    "with_tuned",
    "with_weight",
]


def editable(recipe: Recipe, data: Data) -> Stack:
    """Return the regularizer as the graph editor takes it: a stack with a graph, one without edges if there is none."""
    regularizer = recipe.regularizer
    if isinstance(regularizer, Smooth):
        return Stack(smooth=regularizer)
    members = dict(regularizer.members) if isinstance(regularizer, Stack) else {_name(regularizer): regularizer}
    if not any(isinstance(member, Smooth) for member in members.values()):
        from lsat_explorer.widgets.graph_session import usual_graph  # with the whole of the graph editor

        usual, name = usual_graph(data, None), "smooth"
        while name in members:
            name += "_graph"
        members[name] = Smooth(Graph(usual.n, (), usual.names), block=_block_of_inputs(recipe.featurizer))
    return Stack(**members)


def _block_of_inputs(featurizer: Featurizer) -> str | None:
    """Return the block with a feature for each column, or None where all features are that."""
    members = featurizer.members if isinstance(featurizer, Concat) else {}
    same = (Identity, Scale, PowerTransform, SelectFeatures)
    return next((name for name, piece in members.items() if isinstance(piece, same)), None)


def with_features(recipe: Recipe, featurizer: Featurizer, held: Mapping[str, Frozen]) -> Recipe:
    """Return the recipe with another featurizer, of whose hyper-parameters those named in ``held`` are not tuned.

    Where one block has another name and is else the same, regularizers and hyper-penalties follow the name. Penalties
    on steps that are gone go too.
    """
    blocks = [piece.members if isinstance(piece, Concat) else {} for piece in (recipe.featurizer, featurizer)]
    before, after = _steps_of(recipe.featurizer), _steps_of(featurizer)
    same = {name: name for name, step in before.items() if name in after and after[name].kind == step.kind}
    if renamed := _renamed(*blocks):
        old, new = renamed
        recipe = recipe.replace(regularizer=_follow(recipe.regularizer, old, new))
        start = f"featurizer.{old}"
        same |= {n: f"featurizer.{new}{n.removeprefix(start)}" for n in before if f"{n}.".startswith(f"{start}.")}
    elif moved := _renamed(before, after):  # a step alone that became one of a chain, or the other way round
        same |= dict([moved])
    tuned = {n: p for n, p in recipe.hyper_penalties.items() if not _holds_feature(n, p)}
    kept = {_moved(name, owner, same[owner]): p for name, p in tuned.items() if (owner := _owner(name, before)) in same}
    return recipe.replace(
        featurizer=featurizer,
        hyper_penalties={n: p for n, p in tuned.items() if _owner(n, before) is None} | kept | dict(held),
    )


def _steps_of(featurizer: Featurizer) -> dict[str, Step]:
    """Return the pieces of a featurizer that are not made of pieces, by what the names of their ω begin with."""
    return {f"featurizer.{name}".rstrip("."): step for _, name, step in leaves(step_of(featurizer))}


def _owner(name: str, owners: Collection[str]) -> str | None:
    """Return which of these pieces has an entry of ω by this name, or None."""
    return max((own for own in owners if name.startswith(f"{own}.")), key=len, default=None)


def _renamed(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the old and the new name of the one piece that has another, or None."""
    gone = [name for name in old if name not in new]
    came = [name for name in new if name not in old]
    pairs = [(one, other) for one in gone for other in came if old[one] == new[other]]
    return pairs[0] if len(pairs) == 1 else None


def _moved(name: str, old: str, new: str) -> str:
    return f"{new}.{name.removeprefix(f'{old}.')}" if name.startswith(f"{old}.") else name


def _follow(regularizer: Regularizer, old: str, new: str) -> Regularizer:
    if isinstance(regularizer, Stack):
        return Stack(**{name: _follow(member, old, new) for name, member in regularizer.members.items()})
    if getattr(regularizer, "block", None) != old:
        return regularizer
    return replace(regularizer, block=new)  # type: ignore[type-var]


def misfit(recipe: Recipe) -> str:
    """Return what refuses a run of the recipe, where a regularizer acts on a block that the features lack, or nothing.

    Examples
    --------
    >>> from lsat_explorer import Ridge
    >>> misfit(Recipe(regularizer=Ridge(block="pixels")))
    "There is no block 'pixels' for the regularizer: expected one of features, one."
    """
    try:
        refuse_unknown_blocks(recipe)
    except ValueError as error:
        return str(error)
    return ""


def _leaves(regularizer: Regularizer, name: str = "") -> list[tuple[str, Regularizer]]:
    if not isinstance(regularizer, Stack):
        return [(name, regularizer)]
    return [leaf for member, piece in regularizer.members.items() for leaf in _leaves(piece, member)]


def with_graphs(recipe: Recipe, regularizer: Stack) -> Recipe:
    """Return the recipe with another regularizer, and without penalties on the weights of members that are gone.

    A regularizer that was alone becomes a member of a stack; what was said of its weight is said of the member's. So
    it is where one member has another name and is else the same.
    """
    old = recipe.regularizer
    if not isinstance(old, Stack):
        moved = ("regularizer", f"regularizer.{_name(old)}")
    elif renamed := _renamed(old.members, regularizer.members):
        moved = (f"regularizer.{renamed[0]}", f"regularizer.{renamed[1]}")
    else:
        moved = ("", "")
    known = {_moved(n, *moved): p for n, p in recipe.hyper_penalties.items()}
    kept = {
        n: p for n, p in known.items() if not n.startswith("regularizer.") or n.split(".")[1] in regularizer.members
    }
    return recipe.replace(regularizer=regularizer, hyper_penalties=kept)


class Dropped:
    """Penalties that went with their pieces, until equal pieces come back by the same names.

    Examples
    --------
    >>> from lsat_explorer import Ridge, SumSquares
    >>> both = Recipe(
    ...     regularizer=Stack(a=Ridge(), b=Ridge("features")),
    ...     hyper_penalties={"regularizer.b.log_weight": SumSquares(0.1)},
    ... )
    >>> dropped, one = Dropped(), Stack(a=Ridge())
    >>> without = dropped.follow(both, with_graphs(both, one))
    >>> without.hyper_penalties
    {}
    >>> dropped.follow(without, with_graphs(without, both.regularizer)) == both
    True
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Any, HyperPenalty]] = {}

    def follow(self, before: Recipe, after: Recipe) -> Recipe:
        """Return what a recipe became, with the penalties of pieces that came back."""
        old, new = _parts(before), _parts(after)
        came = [piece for name, piece in new.items() if name not in old]
        for name, penalty in before.hyper_penalties.items():
            piece = old.get(_owner(name, old) or "")
            # the builder keeps what is held by itself
            if name not in after.hyper_penalties and piece not in (None, *came) and not _holds_feature(name, penalty):
                self._kept[name] = piece, penalty
        back = {n: p for n, (piece, p) in self._kept.items() if new.get(_owner(n, new) or "") == piece}
        for name in back:
            del self._kept[name]
        return after.replace(hyper_penalties=back | dict(after.hyper_penalties)) if back else after


def _parts(recipe: Recipe) -> dict[str, Any]:
    """Return steps of the featurizer and regularizers, by what the names of their ω begin with."""
    regularizers = {f"regularizer.{name}".rstrip("."): piece for name, piece in _leaves(recipe.regularizer)}
    return {**_steps_of(recipe.featurizer), **regularizers}


def with_weight(recipe: Recipe, path: str, weight: float) -> Recipe:
    """Return the recipe with another weight e^{2ω} at which one of its regularizers starts.

    Parameters
    ----------
    recipe : Recipe
        The recipe.
    path : str
        Dotted names of members, ``""`` for a regularizer that is alone.
    weight : float
        Positive.

    Raises
    ------
    ValueError
        If the weight is not a positive number, or nothing is there.

    Examples
    --------
    >>> from lsat_explorer import Ridge
    >>> with_weight(Recipe(regularizer=Ridge()), "", 1.0).regularizer
    Ridge()
    """
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < inf:
        raise ValueError(f"The weight is {weight!r}, expected a positive number; type one such as 1.")
    return recipe.replace(regularizer=_weighed(recipe.regularizer, path, log(weight) / 2))


def _weighed(regularizer: Regularizer, path: str, log_weight: float) -> Regularizer:
    if not path and hasattr(regularizer, "log_weight"):
        return replace(regularizer, log_weight=log_weight)  # type: ignore[type-var]
    first, _, rest = path.partition(".")
    if not isinstance(regularizer, Stack) or first not in regularizer.members:
        raise ValueError(f"There is no regularizer {path!r} with a weight: open the tab again.")
    return Stack(**{**regularizer.members, first: _weighed(regularizer.members[first], rest, log_weight)})


def with_tuned(recipe: Recipe, path: str, tuned: bool) -> Recipe:
    """Return the recipe with the weight of one of its regularizers tuned, or held where it starts.

    Parameters
    ----------
    recipe, path
        As for `with_weight`.
    tuned : bool
        Whether it is tuned.
    """
    name = f"regularizer.{path}.log_weight" if path else "regularizer.log_weight"
    kept = {known: penalty for known, penalty in recipe.hyper_penalties.items() if known != name}
    return recipe.replace(hyper_penalties=kept if tuned else kept | {name: Frozen()})


def still_told(ran: Recipe, omega: Omega, wanted: Recipe) -> Omega:
    """Return what of the hyper-parameters of a run the cards of another recipe tell, as long as no other run begins.

    Parameters
    ----------
    ran : Recipe
        That of the run.
    omega : dict of str to Tensor
        Where the run stands.
    wanted : Recipe
        What is assembled.

    Returns
    -------
    dict of str to Tensor
        Those of features where the featurizer is the same, and of each regularizer, weight of rows and loss that both
        have by the same name and of the same type, wherever it is to start.
    """
    before, after = (
        {"data_weights": type(recipe.data_weights), "loss": type(recipe.loss), "featurizer": recipe.featurizer}
        | {f"regularizer.{name}".rstrip("."): type(piece) for name, piece in _leaves(recipe.regularizer)}
        for recipe in (ran, wanted)
    )

    def told(name: str) -> bool:
        owner = "featurizer" if name.startswith("featurizer.") else name.rpartition(".")[0]
        return owner in after and before[owner] == after[owner]

    return {name: value for name, value in omega.items() if told(name)}


def _name(regularizer: Any) -> str:
    return "smooth" if isinstance(regularizer, Smooth) else type(regularizer).__name__.lower()


def held_names(recipe: Recipe) -> list[str]:
    """Return the names of ω below the featurizer that are not tuned."""
    return [name for name, penalty in recipe.hyper_penalties.items() if _holds_feature(name, penalty)]


def _holds_feature(name: str, penalty: HyperPenalty) -> bool:
    return name.split(".")[0] == "featurizer" and isinstance(penalty, Frozen)
