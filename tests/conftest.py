"""What every test may count on: fixed threads, no display, and the folders and programs that not every machine has."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import machine

if TYPE_CHECKING:
    import lsat_explorer as lsat
    from fake_run import FakeRun
    from lsat_explorer.widgets import Explorer, FeaturizerBuilder, LiveTuner
    from lsat_explorer.widgets.worker import Worker

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("LSAT_RUNS", "off")  # an Explorer of a test leaves no runs in the working folder
if os.environ.get("PYTEST_XDIST_WORKER"):
    # One thread for each of several test processes, or they fight for the same cores. It is read when torch is loaded.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out, with the reason, what this machine has not got the files, the program or the device for."""
    for item in items:
        for marker, reason in ABSENT.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))
        if item.get_closest_marker("cuda") and not _has_cuda():
            item.add_marker(pytest.mark.skip(reason="there is no CUDA device"))


def _has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.fixture(scope="session")
def digits() -> lsat.Data:
    """The digits in their usual division; data are frozen, so that one serves every test."""
    import lsat_explorer

    return lsat_explorer.datasets.digits()


@pytest.fixture(scope="session")
def data(digits: lsat.Data) -> lsat.Data:
    """The rows of a test whose module has no others: the digits."""
    return digits


@pytest.fixture(scope="session")
def recipe() -> lsat.Recipe:
    """The recipe of a test whose module has no other: it tunes weights of rows, in six iterations."""
    from live import weighting

    return weighting(6)


@pytest.fixture
def run(data: lsat.Data) -> Iterator[FakeRun]:
    """The run of a test whose module has no other: one without mathematics, let go at the end of the test."""
    import lsat_explorer
    from fake_run import FakeRun

    run = FakeRun(lsat_explorer.recipes.paper_weighting(), data)
    yield run
    run.gate.set()
    run.stop()


@pytest.fixture
def nothing_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that other tests leave behind are not those of this test's cells."""
    from lsat_explorer.widgets import cells

    monkeypatch.setattr(cells, "_begun", [])


@pytest.fixture
def worker(run: FakeRun) -> Iterator[Worker]:
    """The thread that pulls the ``run``, closed at the end of the test."""
    from lsat_explorer.widgets.worker import Worker

    worker = Worker(run, period=0.0)
    yield worker
    run.gate.set()
    worker.close()


@pytest.fixture
def tuner(run: FakeRun) -> Iterator[LiveTuner]:
    """The buttons and curves of the ``run``, closed at the end of the test."""
    from lsat_explorer.widgets import LiveTuner

    tuner = LiveTuner(run)
    yield tuner
    run.gate.set()
    tuner.close()


@pytest.fixture
def explorer(data: lsat.Data, recipe: lsat.Recipe) -> Iterator[Explorer]:
    """An explorer of the ``data`` and the ``recipe`` of the test's module, closed at its end."""
    from lsat_explorer.widgets import Explorer

    explorer = Explorer(data, recipe)
    yield explorer
    explorer.close()


@pytest.fixture
def builder(data: lsat.Data) -> Iterator[FeaturizerBuilder]:
    """A featurizer builder on the ``data`` of the test's module, closed at its end."""
    from building import BLOCKS, SOON
    from lsat_explorer.widgets import FeaturizerBuilder

    builder = FeaturizerBuilder(data, BLOCKS)
    yield builder
    builder.wait(SOON)
    builder.close()


ABSENT: dict[str, str] = {}
if not machine.has_mnist():
    ABSENT["mnist"] = machine.without_mnist()
if machine.chromium() is None:
    ABSENT["browser"] = "there is no Chromium: install it, or name its program in LSAT_CHROMIUM"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: `command("show", "runs/a")` gives exit code, stdout and stderr."""
    from lsat_explorer.__main__ import main

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def mnist_folder() -> Path:
    """The folder of the MNIST files; the test is marked `mnist` too."""
    return machine.mnist_folder()


@pytest.fixture(scope="session")
def chromium() -> str:
    """Chromium's program; the test is marked `browser` too."""
    program = machine.chromium()
    assert program is not None, "mark this test `browser`"
    return program


@pytest.fixture(scope="session")
def project_files() -> list[Path]:
    """The files of the project: all that git does not ignore."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(words, cwd=machine.ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    paths = [machine.ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]
