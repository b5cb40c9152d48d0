"""The benchmarks of the machine: matrix rates, memory, the card, the open widget; small sizes, and counts by hand."""

from __future__ import annotations

import json
import platform
from types import SimpleNamespace

import comm
import ipywidgets
import numpy as np
import pytest
import torch

from lsat_explorer.bench import gpu, gram, live, memory
from lsat_explorer.bench.flops import flops
from lsat_explorer.bench.gpu import Size
from lsat_explorer.bench.machine import held_memory, peak_memory
from lsat_explorer.bench.page import open_page
from lsat_explorer.bench.random_data import random_images, random_table
from lsat_explorer.bench.timing import Times, take_turns

CPU = torch.device("cpu")
LINUX = pytest.mark.skipif(platform.system() != "Linux", reason="only Linux counts a peak anew")


@pytest.mark.parametrize("name", ["gpu", "gram", "live", "memory"])
def test_each_says_what_it_does(name, command, capsys):
    with pytest.raises(SystemExit) as stopped:
        command("bench", name, "--help")
    assert stopped.value.code == 0
    assert "--json FILE" in capsys.readouterr().out


def test_work_takes_turns_after_one_run_that_is_not_timed():
    done = []
    times = take_turns({name: lambda name=name: done.append(name) for name in "ab"}, 3)
    assert "".join(done) == "abababab"
    assert [len(times[name].wall) for name in "ab"] == [3, 3]
    assert Times((5.0, 1.0, 2.0), (3.0, 1.0, 1.0)).cpu_median == 1.0


# --- gram ---------------------------------------------------------------------------------------------------------


def test_bench_gram_prints_the_share_of_the_rate(command, tmp_path):
    file = tmp_path / "figures.json"
    words = ("--rows", "300", "--columns", "40", "--sides", "1", "5", "--repeat", "2", "--json", str(file))
    code, out, _ = command("bench", "gram", *words)
    assert code == 0
    assert "Goal: the half Gram matrix of float32 rows at least 75% of the float32 rate. In this run: " in out
    figures = json.loads(file.read_text())
    rows = {row["what"]: row for row in figures["rows"]}
    # k n² = 300 · 1600, 2 k n² twice as many, 2 k n m = 2 · 300 · 40 · m.
    assert {what: row["flops"] for what, row in rows.items()} == {
        "full product XᵀX, float32": 960_000,
        "full product XᵀX, float64": 960_000,
        "half Gram, float32 into float64": 480_000,
        "its float32 blocks, not summed": 480_000,
        "half Gram, float64": 480_000,
        "product, m = 1": 24_000,
        "product, m = 5": 120_000,
    }
    for what, row in rows.items():
        assert what in out
        full = rows[f"full product XᵀX, {row['dtype']}"]
        assert row["median_share"] == pytest.approx(row["flops"] / row["median"] / (full["flops"] / full["median"]))


def test_a_half_gram_in_five_eighths_of_the_time_of_the_full_product_has_four_fifths_of_its_rate(monkeypatch):
    found = gram.works(2, 2, [])
    times = dict.fromkeys(found, Times((9.0,), (9.0,)))
    times["full product XᵀX, float32"] = Times((2.0, 4.0, 5.0), (4.0,))
    times["half Gram, float32 into float64"] = Times((1.25, 2.0, 6.0), (8.0,))
    monkeypatch.setattr(gram, "take_turns", lambda works, repeat, again: times if again else {})
    rates = {rate.what: rate for rate in gram.measure(found, 3)}
    half = rates["half Gram, float32 into float64"]
    assert (half.best_share, half.median_share, half.cpu_share) == (0.8, 1.0, 0.25)
    assert rates["full product XᵀX, float64"].best_share == 1.0


def test_what_bench_gram_times_are_the_products_that_it_names():
    found = {name: work.work() for name, work in gram.works(70, 6, [2]).items()}
    full = found["full product XᵀX, float64"]
    for name in ("full product XᵀX, float32", "half Gram, float32 into float64", "half Gram, float64"):
        torch.testing.assert_close(found[name].double(), full, rtol=1e-5, atol=1e-4)
    assert found["half Gram, float64"].dtype == found["half Gram, float32 into float64"].dtype == torch.float64
    assert found["product, m = 2"].shape == (6, 2)
    blocks = found["its float32 blocks, not summed"]  # narrow rows have one block, of two halves
    torch.testing.assert_close(blocks.double().sum(0), full, rtol=1e-5, atol=1e-4)


# --- memory -------------------------------------------------------------------------------------------------------


def test_bench_memory_tunes_in_a_process_of_its_own(command, tmp_path):
    file = tmp_path / "figures.json"
    words = ("--cases", "table", "--table", "400", "30", "--iterations", "1", "--json", str(file))
    code, out, _ = command("bench", "memory", *words)
    assert code == 0
    assert "Goal: each ratio at most 1.6. In this run: " in out
    (row,) = json.loads(file.read_text())["rows"]
    # 400 rows of 30 float32 numbers, 120 of them validation rows.
    assert (row["k"], row["d"], row["data"], row["iterations"]) == (280, 30, 48_000, 1)
    assert 5e7 < row["loaded"] <= row["peak"]  # torch alone takes more
    assert row["beyond"] == (row["peak"] - row["loaded"]) / row["data"]
    assert f"{row['case']:<11} {280:>8} {30:>8}" in out


def test_the_ratios_are_of_the_data():
    figures = {"case": "a", "k": 1, "d": 1, "iterations": 0, "seconds": 0.0}
    held = memory.Memory(**figures, data=100, imported=1000, loaded=1120, peak=1280)
    assert (held.beyond, held.whole) == (1.6, 2.8)


@LINUX
def test_what_a_tune_takes_for_a_moment_is_counted_and_what_loading_took_is_not(monkeypatch):
    def tune(recipe, data, progress):
        np.ones(40_000_000).sum()  # 320 MB
        return SimpleNamespace(model="model", iterates=[SimpleNamespace(number=3)])

    def load(rows, columns):
        np.ones(80_000_000).sum()  # 640 MB
        return random_table(rows, columns)

    monkeypatch.setattr(memory, "tune", tune)
    monkeypatch.setattr(memory, "random_table", load)
    found = memory.tune_alone(memory.Case("table", 40, 5))
    assert 300e6 < found.peak - found.loaded < 340e6
    assert found.loaded - found.imported < 100e6


@LINUX
def test_a_peak_is_forgotten():
    before = held_memory()
    np.ones(25_000_000).sum()  # 200 MB
    assert peak_memory() > before + 190e6
    assert held_memory() < before + 100e6


def test_missing_files_are_one_sentence(command, tmp_path):
    code, _, error = command("bench", "memory", "--small", "--cases", "+weighting", "--data", str(tmp_path))
    assert code == 2
    assert error.count("\n") == 1
    assert "train-images-idx3-ubyte" in error


# --- gpu ----------------------------------------------------------------------------------------------------------


def test_operations_are_counted_as_by_hand():
    A, B = torch.randn(6, 3, requires_grad=True), torch.randn(6, 2)

    def solve():
        # AᵀA 2·6·3·3 = 108, its factor 27/3 = 9, AᵀB 2·6·3·2 = 72, two triangles of 9·2 = 18 each.
        lower = torch.linalg.cholesky(A.mT @ A)
        half = torch.linalg.solve_triangular(lower, A.mT @ B, upper=False)
        return torch.linalg.solve_triangular(lower.mT, half, upper=True)

    with torch.no_grad():
        assert flops(solve) == 108 + 9 + 72 + 2 * 18
        assert flops(lambda: torch.cholesky_solve(A.mT @ B, torch.eye(3))) == 72 + 2 * 9 * 2
        assert flops(lambda: torch.zeros(6, 2).addmm_(A, torch.ones(3, 2))) == 2 * 6 * 3 * 2
    product = (A.mT @ B).sum()
    assert flops(lambda: torch.autograd.grad(product, A)) == 72


def test_the_steps_of_the_paper_are_a_solve_and_its_gradient():
    assert set(gpu.PAPER) == {Size(20_000, 10_000, 10_000), Size(20_000, 10_000, 1), Size(100_000, 1_000, 100)}
    assert [str(size.reduced()) for size in gpu.PAPER] == [
        "2,000 × 1,000, m = 1,000",
        "2,000 × 1,000, m = 1",
        "10,000 × 100, m = 10",
    ]
    step = gpu.dense_step(Size(12, 4, 2), CPU)
    loss = step.loss()
    through_A, through_B = step.gradient(loss)
    assert (through_A.shape, through_B.shape) == ((12, 4), (12, 2))
    generator = torch.Generator().manual_seed(0)
    A, B = (torch.randn(12, c, generator=generator, requires_grad=True) for c in (4, 2))
    plain = torch.linalg.lstsq(A.double(), B.double()).solution.square().mean()
    torch.testing.assert_close(loss.double(), plain)
    for ours, expected in zip((through_A, through_B), torch.autograd.grad(plain, (A, B)), strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.fixture
def tiny(monkeypatch):
    """Two small sizes, and few images."""
    step = gpu.problem_step
    monkeypatch.setattr(gpu, "PAPER", {Size(400, 100, 20): (1.0, 2.0), Size(300, 50, 1): (0.5, 0.25)})
    monkeypatch.setattr(gpu, "problem_step", lambda rows, device: step(300, device))


def test_bench_gpu_runs_a_reduced_size_on_the_cpu_and_says_so(tiny, command, tmp_path):
    file = tmp_path / "figures.json"
    code, out, _ = command("bench", "gpu", "--device", "cpu", "--repeat", "2", "--json", str(file))
    assert code == 0
    assert "Without a card a reduced size runs on the CPU" in out
    assert "Times as fast as the paper's card" not in out
    figures = json.loads(file.read_text())
    assert figures["reduced"] is True
    assert figures["device"].startswith("cpu")
    assert [row["what"] for row in figures["rows"]] == ["40 × 10, m = 2", "30 × 5, m = 1", "weighted problem"]
    for row in figures["rows"]:
        assert row["what"] in out
        assert (row["peak"], row["paper"]) == (None, None)
        for half in (row["loss"], row["gradient"]):
            assert half["share"] == pytest.approx(half["flops"] / half["seconds"] / row["rate"])
    # The gradient of a dense solve: one solve, 2 n² m, and products that are not less than ∇_A, 4 k n m.
    assert figures["rows"][0]["gradient"]["flops"] >= 2 * 100 * 2 + 4 * 40 * 10 * 2


@pytest.mark.cuda
def test_bench_gpu_runs_on_the_card_beside_the_papers_figures(tiny, command, tmp_path):
    file = tmp_path / "figures.json"
    code, out, _ = command("bench", "gpu", "--repeat", "2", "--json", str(file))
    assert code == 0
    assert "Without a card" not in out
    assert "Times as fast as the paper's card" in out
    figures = json.loads(file.read_text())
    assert figures["reduced"] is False
    first = figures["rows"][0]
    assert (first["what"], first["paper"]) == ("400 × 100, m = 20", [1.0, 2.0])
    # A and B are float32: the least that the card must hold.
    assert first["peak"] > 4 * 400 * 120


def test_a_device_that_is_not_there_is_refused_in_a_sentence(command):
    code, _, error = command("bench", "gpu", "--device", "cuda:99")
    assert code == 2
    assert "cuda:99" in error
    assert error.count("\n") == 1


# --- live ---------------------------------------------------------------------------------------------------------


def test_reports_hold_a_run_up_by_what_they_take_and_what_the_next_iteration_takes_longer() -> None:
    run = live._Clocked.of(live.prepared("digits", 1))
    run.began, run.ended = [0.0, 1.5, 2.5, 3.9, 5.0], [1.0, 2.5, 3.5, 5.0, 6.0]  # 1.1 s after the second report
    last = (6.0, 9.0)  # holds up nothing
    assert run.held_up([(3.5, 3.9), last]) == pytest.approx(0.4 + 0.1)
    assert run.held_up([(1.0, 1.5), last]) == pytest.approx(0.5)
    assert run.held_up([last]) == 0.0


def test_bench_live_runs_the_same_iterations_bare_and_in_the_displayed_widget(command, tmp_path):
    file, opened = tmp_path / "figures.json", comm.create_comm
    words = ("--cases", "digits", "--iterations", "3", "--repeat", "1", "--json", str(file))
    code, out, _ = command("bench", "live", *words)
    assert code == 0
    assert "Goal: at most 5% added. In this run: " in out
    (row,) = json.loads(file.read_text())["rows"]
    assert (row["case"], row["k"], row["n"], row["iterations"]) == ("digits", 898, 165, 3)
    assert row["added"] == row["live"] / row["bare"] - 1
    assert row["reports"] >= 2  # at the start and at the end
    assert row["messages"] > row["reports"]
    assert row["report"] == row["reporting"] * row["live"] / row["reports"]
    assert 0 < row["reporting"] < 1
    assert comm.create_comm is opened


def test_a_pass_without_a_page_has_no_messages():
    problem = live.prepared("digits", 2)
    bare, shown = live.run_bare(problem), live.run_live(problem)
    assert bare.iterations == shown.iterations == 2
    assert (bare.messages, bare.reports, bare.picture) == (0, 0, 0.0)
    assert shown.picture > 0.001
    assert shown.messages > shown.reports > 0


def test_a_page_counts_what_widgets_and_displays_send():
    with open_page() as page:
        slider = ipywidgets.IntSlider()
        sent = page.messages
        assert sent == 3  # the slider, its layout and its style
        slider.value = 7
        assert page.messages == sent + 1
        before = page.size
        ipywidgets.Image(value=bytes(10_000))
        assert page.size > before + 10_000  # what is binary goes beside the text
    messages = page.messages
    ipywidgets.IntSlider()
    assert page.messages == messages


# --- random data --------------------------------------------------------------------------------------------------


def test_random_images_have_ten_classes_in_clusters():
    data = random_images(400, (4, 4))
    assert (len(data.train), len(data.validation), data.image_shape) == (280, 120, (4, 4))
    assert data.train.inputs.dtype == torch.float32
    assert (float(data.train.inputs.min()), float(data.train.inputs.max())) == (0.0, 255.0)
    assert data.train.targets.sum(0).tolist() == [28.0] * 10
