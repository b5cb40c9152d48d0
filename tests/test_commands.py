"""The command line as a whole: errors of one sentence, help, and benchmarks that are found by name."""

from __future__ import annotations

import sys
import types

import pytest

import lsat_explorer
import lsat_explorer.commands
from lsat_explorer.__main__ import main
from lsat_explorer.bench import step
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


def test_bench_without_a_name_names_the_choices(command):
    code, out, error = command("bench")
    assert (code, out) == (2, "")
    assert error == (
        "lsat-explorer: Name a benchmark: `lsat-explorer bench NAME`, where NAME is gpu or gram or live or memory or "
        "methods or noise or paper or peers or scale or step.\n"
    )


@pytest.mark.parametrize("name", sorted(set(bench.BENCHES) - {"gpu", "gram", "live", "scale"}))  # these need no data
def test_a_benchmark_without_data_advises_the_option(name, monkeypatch, command):
    monkeypatch.delenv("LSAT_MNIST", raising=False)
    code, _, error = command("bench", name)
    assert code == 2
    assert "add `--data DIR`" in error


@pytest.mark.parametrize(("cpu", "busy"), [(2.5, False), (4.0, True)])
def test_the_step_benchmark_prints_numbers_and_asks_about_a_busy_machine(cpu, busy):
    ours = {"first": 1.0, "ours": 1.0, "ours_cpu": 1.0}
    times = {**ours, "stacked": 2.5, "stacked_cpu": cpu, "autograd": 5.0, "autograd_cpu": 5.0}
    text = step._report([step.Timing(method="reg×2", k=1, n=1, dtype="float32", factor="float32", apart={}, **times)])
    assert text.startswith("Goal, on the full set: each ratio at least 25. In this run: 2.5.\n")
    assert ("Machine busy?" in text) is busy


def test_an_interrupt_while_a_command_is_loaded_is_one_sentence(monkeypatch, command):
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lsat_explorer.__main__.import_module", interrupted)
    assert command("show", "run") == (130, "", "lsat-explorer: interrupted; nothing was saved.\n")


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
