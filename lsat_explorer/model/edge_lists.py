"""Graphs as lists of edges in text: two nodes a line, or a table of comma separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain

from .graph import Graph
from .piece import nearest

__all__ = ["node_number", "read_edges", "write_csv", "write_edges"]

_HEADER = ("source", "target")


def write_edges(graph: Graph) -> str:
    r"""Return the edges as text, a line with two node numbers for each.

    Examples
    --------
    >>> write_edges(Graph(3, [(0, 1), (1, 2)]))
    '0 1\n1 2\n'
    """
    return "".join(f"{a} {b}\n" for a, b in graph.edges.tolist())


def write_csv(graph: Graph) -> str:
    r"""Return the edges as comma separated values with a header; names of nodes stand in columns of their own.

    Examples
    --------
    >>> write_csv(Graph(2, [(0, 1)], names=["wind", "rain"]))
    'source,target,source_name,target_name\n0,1,wind,rain\n'
    """
    named = graph.names is not None
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*_HEADER, *(f"{end}_name" for end in _HEADER if named)])
    for edge in graph.edges.tolist():
        table.writerow([*edge, *(graph.names[node] for node in edge if graph.names is not None)])
    return text.getvalue()


def read_edges(text: str, n: int, names: Sequence[str] | None = None) -> Graph:
    r"""Return the graph of a list of edges, as `write_edges` and `write_csv` make it.

    Parameters
    ----------
    text : str
        Two nodes a line, separated by blanks, a tab or a comma: numbers from 0 to n − 1, or names. Empty lines, lines
        that begin with ``#`` and a header ``source,target`` are passed over, and so are columns after the second.
    n : int
        Number of nodes.
    names : sequence of str, optional
        Names of the nodes; a number is read as a number.

    Raises
    ------
    ValueError
        For a line that is no edge, an unknown node, an edge from a node to itself or one that stands twice, naming
        the line.

    Examples
    --------
    >>> read_edges("# a path\n0 1\n2,1", 3).edges.tolist()
    [[0, 1], [1, 2]]
    """
    found: dict[tuple[int, int], int] = {}
    for line, fields in _lines(text):
        try:
            first, second = (node_number(field, n, names) for field in fields)
        except ValueError as error:
            raise ValueError(f"Line {line}: {error}") from error
        edge = (min(first, second), max(first, second))
        if first == second:
            raise ValueError(f"Line {line} joins node {first} to itself: remove it, it penalises nothing.")
        if edge in found:
            raise ValueError(f"Line {line} repeats edge {edge[0]} {edge[1]} of line {found[edge]}: remove one of them.")
        found[edge] = line
    return Graph(n, list(found), names)


def node_number(text: str, n: int, names: Sequence[str] | None = None) -> int:
    """Return the number of the node that a text names.

    Parameters
    ----------
    text : str
        A number from 0 to n − 1, or a name.
    n : int
        Number of nodes.
    names : sequence of str, optional
        Names of the nodes; the first of several equal ones is taken.

    Raises
    ------
    ValueError
        Where there is no such node.

    Examples
    --------
    >>> node_number("rain", 2, ["wind", "rain"]), node_number("0", 2)
    (1, 0)
    """
    text = text.strip()
    if text.isascii() and text.isdigit() and int(text) < n:
        return int(text)
    if names is not None and text in names:
        return list(names).index(text)
    known = f": nodes are 0 to {n - 1}." if names is None or text.lstrip("-").isdigit() else nearest(text, names)
    if len(known) > 300:
        known = f": nodes are numbered 0 to {n - 1} and named like {names[0] if names else 0!r}."
    raise ValueError(f"there is no node {text[:60]!r}{known}")


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line that holds an edge, and its two fields."""
    begun, after = False, 1
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    for line in lines:
        number, after = after, after + 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        separator = next((mark for mark in ",;\t" if mark in line), None)
        if separator is None:
            fields = line.split()
            proper = len(fields) == 2
        else:  # a name in quotes may go on in the next line
            table = csv.reader(chain([line], lines), delimiter=separator, skipinitialspace=True)
            fields = next(table)
            after = number + table.line_num
            proper = len(fields) >= 2 and all(field.strip() for field in fields[:2])
        if not proper:
            raise ValueError(f"Line {number} is {line.strip()[:60]!r}: expected two nodes, such as 0 1.")
        head = not begun and tuple(field.strip().lower() for field in fields[:2]) == _HEADER
        begun = True
        if not head:
            yield number, fields[:2]
