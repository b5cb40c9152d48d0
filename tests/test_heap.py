"""The heap is tidied, seldom enough, while a run goes on and when it ends."""

from __future__ import annotations

from importlib import import_module

import lsat_explorer as lsat
from lsat_explorer.engines.heap import Heap
from test_problem import make_data


def test_a_heap_is_tidied_no_more_often_than_asked(monkeypatch):
    seen = []
    monkeypatch.setattr("lsat_explorer.engines.heap._trim", lambda: seen.append)
    assert not Heap(period=3600.0).tidy()
    assert seen == []
    assert Heap(period=0.0).tidy()
    assert seen == [0]


def test_a_heap_is_tidied_at_the_end_of_long_work_alone(monkeypatch):
    seen = []
    monkeypatch.setattr("lsat_explorer.engines.heap._trim", lambda: seen.append)
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    heap = Heap(period=1.0)
    assert not heap.tidy(ended=True)
    now = 1.0
    assert heap.tidy()
    now = 1.5
    assert not heap.tidy()
    assert heap.tidy(ended=True)
    assert seen == [0, 0]


def test_a_run_tidies_the_heap(monkeypatch):
    seen = []
    monkeypatch.setattr("lsat_explorer.engines.heap._trim", lambda: seen.append)
    monkeypatch.setattr(import_module("lsat_explorer.tune.stepping"), "Heap", lambda: Heap(period=0.0))
    run = lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=3)), make_data(), progress=False)
    assert len(seen) == len(run.iterates)
