"""What holds for every piece in the registry: it can be written as code and as JSON, and it refuses bad input."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from scipy import sparse

import lsat_explorer as lsat
from lsat_explorer import model
from lsat_explorer.model.piece import REGISTRY, decode, encode
from pieces import ALL, EXAMPLES

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
        (lambda: lsat.Smooth(7), "graph is 7"),
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
