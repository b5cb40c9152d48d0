"""A recipe whose pieces were changed by hand, one at a time: what follows from it for the other pieces."""

from __future__ import annotations

from collections.abc import Mapping
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

__all__ = [
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

    Where one block has another name and is else the same, regularizers and hyper-penalties follow the name.
    """
    if renamed := _renamed(recipe.featurizer, featurizer):
        old, new = renamed
        penalties = {_moved(name, old, new): penalty for name, penalty in recipe.hyper_penalties.items()}
        recipe = recipe.replace(regularizer=_follow(recipe.regularizer, old, new), hyper_penalties=penalties)
    kept = {n: p for n, p in recipe.hyper_penalties.items() if not _holds_feature(n, p) and n not in held}
    return recipe.replace(featurizer=featurizer, hyper_penalties=kept | dict(held))


def _renamed(old: Featurizer, new: Featurizer) -> tuple[str, str] | None:
    """Return the old and the new name of the one block that has another, or None."""
    if not (isinstance(old, Concat) and isinstance(new, Concat)):
        return None
    gone = [name for name in old.members if name not in new.members]
    came = [name for name in new.members if name not in old.members]
    if len(gone) != 1 or len(came) != 1 or old.members[gone[0]] != new.members[came[0]]:
        return None
    return gone[0], came[0]


def _moved(name: str, old: str, new: str) -> str:
    start = f"featurizer.{old}."
    return f"featurizer.{new}.{name.removeprefix(start)}" if name.startswith(start) else name


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

    A regularizer that was alone becomes a member of a stack; what was said of its weight is said of the member's.
    """
    old = recipe.regularizer
    if not isinstance(old, Stack) and (name := _name(old)) in regularizer.members:
        renamed = {f"regularizer.{name}.{n.removeprefix('regularizer.')}": n for n in recipe.hyper_penalties}
        known = {n: p for n, p in recipe.hyper_penalties.items() if not n.startswith("regularizer.")}
        known |= {new: recipe.hyper_penalties[n] for new, n in renamed.items() if n.startswith("regularizer.")}
    else:
        known = {
            n: p
            for n, p in recipe.hyper_penalties.items()
            if not n.startswith("regularizer.") or n.split(".")[1] in regularizer.members
        }
    return recipe.replace(regularizer=regularizer, hyper_penalties=known)


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
