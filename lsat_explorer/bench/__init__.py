"""Benchmarks: the paper's table and the time of one step, each beside what it is compared with."""
