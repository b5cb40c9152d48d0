"""The command line as a whole: errors of one sentence, help, and benchmarks that are found by name."""

from __future__ import annotations

import sys
import types

import pytest

import lsat_explorer
import lsat_explorer.commands
from lsat_explorer.__main__ import main
from lsat_explorer.commands import bench


def test_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"lsat-explorer {lsat_explorer.__version__}\n"


@pytest.mark.parametrize("words", [[], ["tun"], ["data", "imagenet", "d"], ["lab", "--port", "x"], ["bench", "none"]])
def test_words_that_are_not_understood_give_one_line_and_code_2(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--help" in error


def test_help_of_every_command_is_shown(capsys):
    for name in lsat_explorer.commands.COMMANDS:
        with pytest.raises(SystemExit) as stopped:
            main([name, "--help"])
        assert stopped.value.code == 0
        assert f"lsat-explorer {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", bench.BENCHES)
def test_help_of_every_benchmark_is_shown(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["bench", name, "--help"])
    assert stopped.value.code == 0
    assert f"lsat-explorer bench {name}" in capsys.readouterr().out


def test_bench_hands_its_words_to_the_benchmark(monkeypatch, command, capsys):
    module = types.ModuleType("a_benchmark", "Time nothing.")
    module.add_arguments = lambda parser: parser.add_argument("--repeat", type=int, default=1)
    module.run = lambda args: print("repeated", args.repeat) or 0
    monkeypatch.setitem(sys.modules, "a_benchmark", module)
    monkeypatch.setitem(bench.BENCHES, "nothing", "a_benchmark")
    assert command("bench", "nothing", "--repeat", "3") == (0, "repeated 3\n", "")
    with pytest.raises(SystemExit) as stopped:
        main(["bench", "nothing", "--repeat", "often"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("lsat-explorer bench nothing:")
