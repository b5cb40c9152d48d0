"""The benchmark of wrong labels: what is drawn, what is counted, which goals are judged, and what it prints."""

from __future__ import annotations

import json
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from lsat_explorer.bench import answers, noise
from lsat_explorer.bench.cleaning_peer import cleanlab_flags
from lsat_explorer.bench.label_noise import Cleaning, f1, noisy, suspects

METHODS = [
    "nothing",
    "one gradient",
    "gradient and margin",
    "label doubt",
    "tuned",
    "kNN",
    "second look",
    "combined",
    "the truth",
]


def test_labels_are_drawn_uniformly_for_a_share_of_the_training_rows_only(digits):
    given = noisy(digits, 0.5, seed=3)
    k = len(digits.train)
    assert given.polluted.sum() == k // 2
    changed = given.data.train.labels != digits.train.labels
    np.testing.assert_array_equal(changed, given.wrong)
    assert not (given.wrong & ~given.polluted).any()
    drawn = given.data.train.labels[given.polluted]
    assert set(drawn) == set(digits.classes)
    assert np.bincount(drawn, minlength=10).max() < 2 * len(drawn) / 10
    np.testing.assert_array_equal(given.data.train.targets.argmax(1), given.data.train.labels)
    assert given.data.validation is digits.validation
    assert given.data.test is digits.test
    assert given.expected_wrong == round(k // 2 * 0.9)
    again, other = noisy(digits, 0.5, seed=3), noisy(digits, 0.5, seed=4)
    np.testing.assert_array_equal(again.data.train.labels, given.data.train.labels)
    assert (other.data.train.labels != given.data.train.labels).any()


def test_f1_is_that_of_scikit_learn():
    from sklearn.metrics import f1_score

    random = np.random.default_rng(0)
    found, truth = random.random(50) < 0.4, random.random(50) < 0.3
    assert f1(found, truth) == pytest.approx(100 * f1_score(truth, found))
    nothing = np.zeros(3, dtype=bool)
    assert f1(nothing, nothing) == 100.0


def test_the_most_suspect_rows_are_flagged():
    assert suspects(np.array([0.1, 3.0, 2.0, 3.0]), 3).tolist() == [False, True, True, True]
    assert suspects(np.array([1.0, 1.0, 1.0]), 2).tolist() == [True, True, False]


def made(method: str, share: float, kept: float, flagged: float = 95.0, accuracy: float = 95.0) -> Cleaning:
    return Cleaning(share, 0, method, 10, kept, flagged, accuracy)


def test_goals_are_judged_by_the_mean_over_seeds_and_against_shapley():
    ours, peer = "combined rank, known share", "kNN-Shapley, known share"
    good = [made(ours, 0.5, 93.0), made(ours, 0.5, 92.0), made(peer, 0.5, 92.4)]
    assert noise.verdict(good) == []
    assert noise.verdict([made(ours, 0.2, 98.0), made(peer, 0.2, 97.0)]) == []
    low = noise.verdict([made(ours, 0.5, 91.0, accuracy=90.0), made(peer, 0.5, 92.4)])
    assert [line.split(": ")[1].split(" is")[0] for line in low] == [
        "kept_f1 91.00",
        "accuracy 90.00",
        "the combined rank",
    ]
    assert noise.verdict([made(ours, 0.2, 98.0, flagged=92.9), made(peer, 0.2, 97.0)]) == [
        "Missed at 20%: flagged_f1 92.90 is below 93."
    ]


def test_the_small_benchmark_prints_every_method_and_writes_its_figures(command, tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "find_spec", lambda name: None)
    file = tmp_path / "noise.json"
    words = ["--small", "--seeds", "0", "--shares", "0.4", "--repeat", "1", "--json", str(file)]
    code, out, err = command("bench", "noise", *words)
    assert (code, err) == (0, "")
    assert "cleanlab is left out: it is not installed" in out
    assert all(out.count(f"40% 0       {method}") == 1 for method in METHODS)
    figures = json.loads(file.read_text())
    rows = {row["method"].split(",")[0]: row for row in figures["rows"]}
    combined, nothing, truth = rows["combined rank"], rows["nothing"], rows["the truth"]
    assert combined["kept_f1"] > max(90, rows["kNN-Shapley"]["kept_f1"] - 1)
    assert nothing["accuracy"] < combined["accuracy"] <= truth["accuracy"] + 1.5
    assert truth["flagged_f1"] == 100
    assert figures["missed"] == []
    assert figures["answers"]["difference"] < 1e-6
    assert set(figures["answers"]["wall"]) == set(figures["answers"]["cpu"])
    assert len(figures["answers"]["wall"]) == 4


def test_a_share_is_between_0_and_1(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        command("bench", "noise", "--shares", "50")
    assert stopped.value.code == 2
    assert "50 is no share; a number between 0 and 1 is expected" in capsys.readouterr().err


def test_without_mnist_the_sentence_says_how_to_get_it(command, tmp_path):
    code, _, err = command("bench", "noise", "--data", str(tmp_path))
    assert code == 2
    assert "`lsat-explorer data mnist" in err


def test_answers_that_begin_anew_are_not_those_of_a_model_that_was_asked_before(digits, monkeypatch):
    asked = []
    monkeypatch.setattr(answers.explain, "overview", lambda model: asked.append(id(model)))
    kept = SimpleNamespace(models=[])
    doubt = answers.explain.label_doubt
    monkeypatch.setattr(answers.explain, "label_doubt", lambda model: kept.models.append(model) or doubt(model))
    answers.answer_times(digits, 3)
    assert len(asked) == 3
    assert len({id(model) for model in kept.models}) == 3


@pytest.mark.skipif(find_spec("cleanlab") is None, reason="there is no cleanlab: install lsat_explorer[bench]")
def test_cleanlab_finds_wrong_labels_of_digits(digits):
    given = noisy(digits, 0.2, seed=0)
    flagged, suspicion = cleanlab_flags(noise.fitted(given, 0, small=True), given.data)
    assert f1(flagged, given.wrong) > 75
    assert f1(suspects(suspicion, int(given.wrong.sum())), given.wrong) > 75
