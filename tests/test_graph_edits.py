"""Graphs that change against sets, lists of edges read and written, steps that are undone."""

from __future__ import annotations

import itertools
import re

import networkx
import numpy as np
import pytest

import lsat_explorer as lsat
from graph_asks import HOSTILE, as_set
from lsat_explorer.model.edge_lists import node_number, read_edges, write_csv, write_edges
from lsat_explorer.model.graph_edits import cut, inside, joined, neighbours, toggled
from lsat_explorer.model.graph_patterns import PATTERNS, pattern
from lsat_explorer.widgets.undo import Undo

# --- graphs that change, against sets


@pytest.mark.parametrize("seed", range(5))
def test_edits_are_those_of_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = list(itertools.combinations(range(9), 2))
    a, b = (lsat.Graph(9, [every[i] for i in rng.choice(36, size, replace=False)]) for size in rng.integers(0, 30, 2))
    assert as_set(joined(a, b)) == as_set(a) | as_set(b)
    assert as_set(cut(a, b)) == as_set(a) - as_set(b)
    assert as_set(toggled(a, b)) == as_set(a) ^ as_set(b)
    chosen = rng.choice(9, 4, replace=False).tolist()
    assert as_set(inside(a, chosen)) == {e for e in as_set(a) if set(e) <= set(chosen)}
    assert all(neighbours(a, i) == sorted(networkx.Graph(a.to_networkx()).neighbors(i)) for i in range(9))


def test_edits_keep_names_and_refuse_other_nodes() -> None:
    named = lsat.Graph(3, [(0, 1)], names=["wind", "rain", "sun"])
    for edit in (joined, cut, toggled):
        assert edit(named, lsat.Graph(3, [(1, 2)])).names == named.names
        with pytest.raises(ValueError, match="3 nodes and the other 4"):
            edit(named, lsat.Graph(4, ()))


@pytest.mark.parametrize("name", [name for name, each in PATTERNS.items() if each.needs == "shape"])
def test_a_pattern_on_some_nodes_is_the_pattern_between_them(name: str) -> None:
    nodes = [1, 2, 5, 6, 7, 9]
    whole = pattern(name, 12, shape=(3, 4))
    assert as_set(pattern(name, 12, shape=(3, 4), nodes=nodes)) == {e for e in as_set(whole) if set(e) <= set(nodes)}
    with pytest.raises(ValueError, match="needs 12 nodes on a grid"):
        pattern(name, 12)


def test_a_ring_goes_through_the_chosen_nodes() -> None:
    assert as_set(pattern("ring", 9, nodes=[8, 0, 3])) == {(0, 3), (3, 8), (0, 8)}
    assert pattern("ring", 9) == lsat.graphs.ring(9)
    assert pattern("path", 9) == lsat.graphs.path(9)
    with pytest.raises(ValueError, match="A ring through 2 nodes"):
        pattern("ring", 9, nodes=[1, 2])
    with pytest.raises(ValueError, match="did you mean 'ring'"):
        pattern("rin", 9)


# --- lists of edges


def test_lists_are_read_as_they_were_written() -> None:
    names = [*HOSTILE, "\tindented", "3"]
    graph = lsat.Graph(6, [(0, 3), (1, 2), (2, 5)], names=names)
    assert read_edges(write_edges(graph), 6, names) == graph
    assert read_edges(write_csv(graph), 6, names) == graph
    assert read_edges("\ufeffsource,target\r\n0,3\r\n1;2\r\n\r\n# a remark\r\n2\t5\r\n", 6, names) == graph
    odd = lsat.Graph(4, [(0, 1), (1, 2), (2, 3)], names=["a\nb", "c\u0085d", 'e"f', "g, h"])
    assert read_edges(write_csv(odd), 4, odd.names) == odd
    with pytest.raises(ValueError, match="Line 4: there is no node"):
        read_edges('0,1,"a\nb",c\n# a remark\nwind,c', 2, ["a\nb", "c"])
    assert read_edges("wind rain\nrain  sun", 3, ["wind", "rain", "sun"]).edges.tolist() == [[0, 1], [1, 2]]
    assert read_edges("", 3) == lsat.Graph(3, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1\n2", "Line 2 is '2': expected two nodes, such as 0 1."),
        ("0 1 2", "Line 1 is '0 1 2': expected two nodes"),
        ("0,", "Line 1 is '0,': expected two nodes"),
        ("0 1\n\n3 4", "Line 3: there is no node '4': nodes are 0 to 3."),
        ("0 -1", "Line 1: there is no node '-1': nodes are 0 to 3."),
        ("0 1.0", "Line 1: there is no node '1.0': nodes are 0 to 3."),
        ("1 2\n3 3", "Line 2 joins node 3 to itself"),
        ("1 2\n0 3\n2 1", "Line 3 repeats edge 1 2 of line 1"),
        ("0 1\nsource,target", "Line 2: there is no node 'source'"),
        ("٣ 1", "Line 1: there is no node '٣'"),
    ],
)
def test_a_line_that_is_no_edge_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(said)) as error:
        read_edges(text, 4)
    assert "\n" not in str(error.value)


def test_a_misspelt_node_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'wind'"):
        node_number("windd", 2, ["wind", "rain"])
    with pytest.raises(ValueError, match="named like 'pixel_0_0'") as error:
        node_number("qqq", 784, [f"pixel_{i // 28}_{i % 28}" for i in range(784)])
    assert len(str(error.value)) < 120


# --- undo


def test_undo_goes_back_and_forth_and_forgets_what_was_overwritten() -> None:
    steps = Undo("")
    for letter in "abc":
        steps.push(steps.present + letter, f"add {letter}")
    steps.undo()
    steps.undo()
    assert (steps.present, steps.undoes, steps.redoes) == ("a", "add a", "add b")
    steps.redo()
    steps.push("abx", "add x")
    assert (steps.present, steps.redoes) == ("abx", "")
    for _ in range(9):
        steps.undo()
    assert (steps.present, steps.undoes) == ("", "")
    for _ in range(9):
        steps.redo()
    assert steps.present == "abx"


def test_steps_of_one_kind_are_one_step() -> None:
    steps = Undo(0)
    for value in (1, 2, 3):
        steps.push(value, "weight", "weight")
    steps.push(4, "weight", "weight of another")
    steps.undo()
    assert steps.present == 3
    steps.undo()
    assert steps.present == 0
    for value in range(1000):
        steps.push(value, "step")
    for _ in range(1000):
        steps.undo()
    assert 500 < steps.present < 1000  # the past is bounded
    assert steps.undoes == ""
