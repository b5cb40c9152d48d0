"""What holds for every piece in the registry: it can be written as code and as JSON, and it refuses bad input."""

from __future__ import annotations

import dataclasses
import json
import math
from contextlib import nullcontext
from enum import IntEnum
from itertools import product

import numpy as np
import pytest
import torch
from scipy import sparse

import lsat_explorer as lsat
from lsat_explorer import model
from lsat_explorer.model.graph import Graph
from lsat_explorer.model.losses import Loss
from lsat_explorer.model.piece import REGISTRY, Piece, decode, encode
from pieces import ALL, EXAMPLES


class Level(IntEnum):
    """A whole number that has a name."""

    HIGH = 3


PUBLIC = {name: getattr(lsat, name) for name in lsat.__all__}


def test_every_registered_piece_has_examples():
    assert set(REGISTRY) == set(EXAMPLES)


def test_every_piece_is_public_and_in_the_table():
    table = {line.split()[0] for line in (model.__doc__ or "").splitlines() if line.strip()}
    for name, kind in REGISTRY.items():
        assert getattr(lsat, name) is kind
        if kind.__module__.startswith("lsat_explorer.model."):
            assert name in table or name == "EarlyStopping", f"{name} is missing from the table of lsat_explorer.model"


def short(piece) -> str:
    return repr(piece)[:60]


@pytest.mark.parametrize("piece", ALL, ids=short)
def test_equal_pieces_have_the_same_hash(piece):
    assert hash(piece) == hash(decode(json.loads(json.dumps(encode(piece))), "piece"))


@pytest.mark.parametrize("piece", ALL, ids=short)
def test_round_trip_as_code(piece):
    assert eval(repr(piece), dict(PUBLIC)) == piece
    assert eval(piece.to_code("lsat.", 0), {"lsat": lsat}) == piece


@pytest.mark.parametrize("piece", ALL, ids=short)
def test_round_trip_as_json(piece):
    text = json.dumps(encode(piece), allow_nan=False)
    assert decode(json.loads(text), "piece") == piece


@pytest.mark.parametrize("piece", ALL, ids=short)
def test_pieces_are_frozen_and_refuse_unknown_keys(piece):
    with pytest.raises(AttributeError):
        piece.anything = 1
    with pytest.raises(ValueError, match="wieght"):
        decode({**encode(piece), "wieght": 1}, "piece")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lsat.SumSquares(-1.0), "weight is -1.0"),
        (lambda: lsat.SumSquares(math.nan), "weight is nan"),
        (lambda: lsat.SumSquares("1"), "weight is '1'"),
        (lambda: lsat.Box(2.0, 1.0), "low ≤ high"),
        (lambda: lsat.Box(1.0, 2.0) + lsat.ZeroSum(), r"allows no value: expected low ≤ 0"),
        (lambda: lsat.Frozen() + lsat.ZeroSum(), r"Frozen \+ ZeroSum is not known"),
        (lambda: lsat.SumSquares(1.0) + lsat.Cardinality(0.5), r"Cardinality \+ SumSquares is not known"),
        (lambda: lsat.AbsoluteValue(-1.0), "weight is -1.0"),
        (lambda: lsat.Cardinality(1.5), "fraction is 1.5"),
        (lambda: lsat.SumSquares(1.0) + lsat.SumSquares(1.0), "is not known"),
        (lambda: lsat.Concat(), "nothing"),
        (lambda: lsat.Concat(a=lsat.Ridge()), "a is Ridge"),
        (lambda: lsat.Concat(**{"a b": lsat.Identity()}), "'a b' cannot name"),
        (lambda: lsat.Stack(a=lsat.Identity()), "expected a regularizer"),
        (lambda: lsat.Ridge(log_weight=math.inf), "log_weight is inf"),
        (lambda: lsat.Ridge(block=3), "block is 3"),
        (lambda: lsat.Smooth(7), "graph is of type int, expected a Graph"),
        (lambda: lsat.KMeansArchetypes(per_class=0), "per_class is 0"),
        (lambda: lsat.KMeansArchetypes(kernel="cosine"), "kernel is 'cosine'"),
        (lambda: lsat.CrossEntropy(temperature=1), "temperature is 1"),
        (lambda: lsat.Scale(tuned="no"), "tuned is 'no'"),
        (lambda: lsat.ProximalGradient(step=0), "step is 0"),
        (lambda: lsat.ProximalGradient(shrink=1.0), "shrink is 1.0"),
        (lambda: lsat.ProximalGradient(max_iterations=-1), "max_iterations is -1"),
        (lambda: lsat.graphs.grid(0, 3), "h is 0"),
        (lambda: lsat.graphs.grid(3, 3, neighbours=6), "neighbours is 6"),
        (lambda: lsat.graphs.grid(3, 3, neighbours=8, vertical=False), "8 neighbours need both"),
        (lambda: lsat.graphs.grid(3, 3, vertical=False, horizontal=False), "vertically or both"),
        (lambda: lsat.graphs.grid(3, 3, vertical=1), "vertical is 1"),
        (lambda: lsat.graphs.ring(2), "n is 2"),
        (lambda: lsat.graphs.nearest_neighbours(np.eye(4), 4), "k is 4"),
        (lambda: lsat.graphs.nearest_neighbours(np.eye(4), 1, distance="cosine"), "distance is 'cosine'"),
        (lambda: lsat.graphs.nearest_neighbours([[1.0, math.nan]], 1), "finite numbers"),
        (lambda: lsat.Matrix([1.0, 2.0]), r"R has shape \(2,\)"),
        (lambda: lsat.Matrix([[1.0, math.inf]]), "holds inf in row 0, column 1"),
        (lambda: lsat.Matrix([["a"]]), "no matrix of numbers"),
        (lambda: lsat.Matrix({"shape": (2, 2)}), "expected shape and entries"),
        (lambda: lsat.Matrix({"shape": (2, 0), "entries": ()}), "the shape of R"),
        (lambda: lsat.Matrix({"shape": (2, 2), "entries": ((0, 2, 1.0),)}), "outside its shape"),
        (lambda: lsat.Matrix({"shape": (2, 2), "entries": ((0, 0, 1.0), (0, 0, 2.0))}), "two entries in one place"),
        (lambda: lsat.Matrix([[1.0]], log_weight=math.nan), "log_weight is nan"),
        (lambda: lsat.Diagonal(block=1), "block is 1"),
        (lambda: lsat.FixedWeights([1.0, -2.0]), r"values\[1\] is -2.0"),
        (lambda: lsat.FixedWeights([0.0, 0.0]), "every weight is 0"),
        (lambda: lsat.FixedWeights([1.0, math.nan]), r"values\[1\] is nan"),
        (lambda: lsat.FixedWeights(3), "values is 3"),
        (lambda: lsat.FixedWeights({1.0, 2.0}), "values is {1.0, 2.0}: expected one entry .*, in their order"),
        (lambda: lsat.GroupWeights({1: 2}), "groups is {1: 2}: expected one entry .*, in their order"),
        (lambda: lsat.FixedWeights([]), "is empty"),
        (lambda: lsat.Times(lsat.Ridge(), [1.0]), "weights is Ridge"),
        (lambda: lsat.Times(lsat.LogWeights(), [1.0, 0.0]), r"Times: counts\[1\] is 0"),
        (lambda: lsat.Counted(lsat.LogWeights(), [1.0]), "criterion is LogWeights"),
        (lambda: lsat.Counted(lsat.HeldOut(), [math.inf]), r"Counted: counts\[0\] is inf"),
        (lambda: lsat.GroupWeights("classes"), "groups is 'classes'"),
        (lambda: lsat.GroupWeights([1, "a"]), "whole numbers, or strings"),
        (lambda: lsat.GroupWeights([1.5]), "holds 1.5"),
        (lambda: lsat.Huber(0.0), "threshold is 0.0"),
        (lambda: lsat.Bisquare(-1.0), "threshold is -1.0"),
        (lambda: lsat.CustomLoss("log cos"), "did you mean 'log cosh'"),
        (lambda: lsat.CustomLoss(abs), "no name of a loss"),
        (lambda: lsat.register_loss("", abs), "cannot name a loss"),
        (lambda: lsat.register_loss("a", 3), "'a' is 3"),
        (lambda: lsat.FromModule("small nework"), "did you mean 'small network'"),
        (lambda: lsat.FromModule(torch.nn.Linear(2, 2)), "Linear is no name of a module"),
        (lambda: lsat.PowerTransform(shared=1), "shared is 1"),
        (lambda: lsat.Spline(knots=0), "knots is 0"),
        (lambda: lsat.Spline(degree=3, continuity=3), "continuity is 3"),
        (lambda: lsat.Spline(basis="hat"), "basis is 'hat'"),
        (lambda: lsat.LowRank(0), "rank is 0"),
        (lambda: lsat.SelectFeatures(2.0), "SelectFeatures: fraction is 2.0"),
        (lambda: lsat.KMeansArchetypes(total=0), "total is 0"),
        (lambda: lsat.RandomPatches(28), "image_shape is 28"),
        (lambda: lsat.RandomPatches((28, 0)), "image_shape holds"),
        (lambda: lsat.RandomPatches((4, 4), size=5), "does not fit"),
        (lambda: lsat.RandomPatches((6, 6), size=5, cells=3), "has 2 places"),
        (lambda: lsat.Chain(), "Chain of nothing"),
        (lambda: lsat.Chain(lsat.Ridge()), "expected a featurizer"),
        (lambda: lsat.Chain(lsat.Scale(), scale=lsat.Scale()), "'scale' names a member"),
        (lambda: lsat.Chain(lsat.Scale(), lsat.Constant()), "forgets its inputs"),
        (lambda: lsat.Graph(3, [(0, 3)]), r"\(0, 3\) leaves the graph"),
        (lambda: lsat.Graph(3, [(1, 1)]), "joins a node to itself"),
        (lambda: lsat.Graph(3, [(0.5, 1)]), "pairs of node numbers"),
        (lambda: lsat.Graph(3, [(0, 1)], names=["a"]), "1 names"),
        (lambda: lsat.graphs.from_networkx([1]), "got list"),
    ],
)
def test_bad_input_is_one_sentence_that_names_it(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_members_without_a_name_are_told_how_to_have_one():
    with pytest.raises(
        TypeError, match=r"Concat got 2 without a name: .* in Concat\(a=Identity\(\), b=Constant\(\)\)\."
    ):
        lsat.Concat(lsat.Identity(), lsat.Constant())
    with pytest.raises(TypeError, match=r"each regularizer one, as in Stack\(a=Ridge\(\), b=Ridge\(\), …\)\."):
        lsat.Stack(lsat.Ridge(), lsat.Ridge(), lsat.Ridge())


def test_a_file_that_names_an_unknown_module_is_refused_and_nothing_is_imported():
    for kind, name in (("FromModule", "os.system"), ("CustomLoss", "os.system")):
        with pytest.raises(ValueError, match=r"piece: No (module|loss) is registered as 'os.system'"):
            decode({"type": kind, "name": name}, "piece")


def test_the_order_of_members_counts():
    one, two = lsat.Chain(a=lsat.Scale(), b=lsat.LowRank(2)), lsat.Chain(b=lsat.LowRank(2), a=lsat.Scale())
    assert one != two
    assert one == lsat.Chain(a=lsat.Scale(), b=lsat.LowRank(2))
    assert hash(one) == hash(lsat.Chain(a=lsat.Scale(), b=lsat.LowRank(2)))
    assert lsat.Concat(a=lsat.Scale()) != lsat.Chain(a=lsat.Scale())


def test_members_of_a_chain_are_named_by_type_and_number():
    chain = lsat.Chain(lsat.Scale(), lsat.PowerTransform(), lsat.Scale(), lsat.KMeansArchetypes())
    assert list(chain.members) == ["scale", "power_transform", "scale_2", "kmeans_archetypes"]
    assert repr(chain) == "Chain(Scale(), PowerTransform(), Scale(), KMeansArchetypes())"
    assert repr(lsat.Chain(pre=lsat.Scale())) == "Chain(pre=Scale())"


def test_matrix_is_the_same_dense_and_sparse():
    R = np.array([[1.0, -2.0, 0.0], [0.0, 3.0, 1.0]])
    dense, thin = lsat.Matrix(R), lsat.Matrix(sparse.csc_array(R))
    assert np.array_equal(dense.matrix(3).toarray(), R)
    assert np.array_equal(thin.matrix(3).toarray(), R)
    assert dense == lsat.Matrix(R.tolist())
    assert thin == lsat.Matrix(sparse.coo_array(R))
    with pytest.raises(ValueError, match="R has 3 columns and the features are 4"):
        dense.matrix(4)
    with pytest.raises(ValueError, match="R has 3 columns and block 'x' has 4"):
        lsat.Matrix(R, block="x").matrix(4)


ANYTHING: tuple[object, ...] = (
    *(0, 1, 3, 2**31, 2**63 - 1, 2**63, -(2**63), 10**19, 10**20, -(10**30), 10**4000),
    *(np.int64(3), np.uint64(2**64 - 1), np.float32(0.5), np.float64(0.1), np.bool_(True), np.str_("text")),
    *((10**30, 1), [10**30, 1], [np.int64(1), 2] * 20, np.array([2**64 - 1, 1], dtype=np.uint64), [np.float64(0.1)]),
    *("half a \ud800", ["half a \udfff", "b"], "class", Level.HIGH, 0.1, True),
)


def fields_of(kind: type[Piece]) -> list[str]:
    """The fields of a kind of piece, none where it makes them itself from what it is given."""
    own = kind is Graph or kind.members_field is not None
    return [] if own or not dataclasses.is_dataclass(kind) else [f.name for f in dataclasses.fields(kind)]


def made(kind: type[Piece], name: str, value: object) -> Piece | None:
    """A piece with another value in one field, None where it is refused in words of ours."""
    try:
        return dataclasses.replace(EXAMPLES[kind.__name__][0], **{name: value})
    except ValueError as error:
        return None if "Exceeds the limit" not in str(error) else pytest.fail(f"{name}: {error}")


@pytest.mark.parametrize("kind", [kind for kind in REGISTRY.values() if fields_of(kind)])
def test_whatever_a_piece_accepts_can_be_read_again_from_its_json_and_its_code(kind):
    for name, value in product(fields_of(kind), ANYTHING):
        piece = made(kind, name, value)
        if piece is None:
            continue
        text = json.dumps({"format": 1, "loss": encode(piece)}, allow_nan=False, ensure_ascii=False).encode().decode()
        with nullcontext() if isinstance(piece, Loss) else pytest.raises(ValueError, match=r"^Recipe: loss is"):
            lsat.Recipe.from_json(text)  # every piece is read before its place is looked at
        assert decode(json.loads(text)["loss"], "loss") == piece, (name, value)
        assert eval(repr(piece), dict(PUBLIC)) == piece, (name, value)
        assert not any(word in repr(piece) for word in ("np.", "Level")), (name, value)


@pytest.mark.parametrize("level", [lsat.EarlyStopping(patience=np.int64(3)), lsat.EarlyStopping(patience=Level.HIGH)])
def test_numbers_of_other_kinds_are_kept_as_those_of_python(level):
    assert type(level.patience) is int
    assert level == lsat.EarlyStopping(patience=3)
    assert encode(level) == {"type": "EarlyStopping", "patience": 3}


def test_numbers_of_numpy_make_source_that_runs():
    recipe = lsat.Recipe(
        loss=lsat.Huber(np.float64(0.5)),
        seed=np.int64(3),
        hyper_penalties={np.str_("regularizer.log_weight"): lsat.SumSquares(np.logspace(-3, 0, 4)[1])},
    )
    scope: dict[str, object] = {}
    exec(recipe.to_source(), scope)
    assert scope["recipe"] == recipe == eval(repr(recipe), dict(PUBLIC))
    assert "np." not in recipe.to_source()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: lsat.EarlyStopping(patience=10**20),
            "EarlyStopping: patience holds a whole number of 67 bits: expected at",
        ),
        (lambda: lsat.EarlyStopping(patience=10**5000), "EarlyStopping: patience holds a whole number of 16610 bits"),
        (
            lambda: lsat.EarlyStopping(patience=10**18),
            "EarlyStopping: patience is 10{18}: expected a whole number from 1",
        ),
        (lambda: lsat.LBFGS(max_iterations=10**20), "LBFGS: max_iterations holds a whole number of 67 bits"),
        (lambda: lsat.LBFGS(memory=10**6), "LBFGS: memory is 1000000: expected a whole number from 1 to 1,000"),
        (lambda: lsat.KFold(folds=10**20), "KFold: folds holds a whole number of 67 bits"),
        (lambda: lsat.KFold(folds=1), "KFold: folds is 1: expected a whole number from 2"),
        (lambda: lsat.Chunks(rows=10**20), "Chunks: rows holds a whole number of 67 bits"),
        (lambda: lsat.MultiStart(starts=10**20), "MultiStart: starts holds a whole number of 67 bits"),
        (lambda: lsat.Grid(points=10**20), "Grid: points holds a whole number of 67 bits"),
        (lambda: lsat.GroupWeights([10**30, 1]), "GroupWeights: groups holds a whole number of 100 bits"),
        (lambda: lsat.Chunks(memory="9" * 400 + " GB"), 'Chunks: memory is .*, expected a size; give it as "512 MB"'),
    ],
)
def test_numbers_that_nothing_has_so_many_of_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()
