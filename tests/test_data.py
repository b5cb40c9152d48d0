"""Data and Split: whatever table the user has, divided once, and hashed alike."""

from __future__ import annotations

import decimal
import hashlib
import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from arrays import TARGETS, X, Y, final_of, of, parts
from lsat_explorer.data.partition import partition


def test_reprs_are_short_and_constant():
    data = of(X, Y, name="coins", validation=0.25, test=0.25)
    assert repr(data) == "Data(coins: 20 training, 10 validation, 10 test rows, 3 features, 2 classes)"
    assert data.describe() == "coins · 20 training, 10 validation, 10 test rows"
    assert repr(data.train) == "Split(20 rows, 3 features, 2 outputs)"
    assert len(data.train) == 20
    big = of(np.zeros((5000, 1)), np.linspace(0, 1, 5000), test=None)
    assert repr(big) == "Data(data: 3,500 training, 1,500 validation rows, 1 feature, 1 output)"


def test_every_row_is_in_one_split_with_its_own_outcome():
    data = of(X, TARGETS)
    rows = np.concatenate([split.rows for split in parts(data)])
    assert sorted(rows) == list(range(40))
    for split in parts(data):
        assert (np.diff(split.rows) > 0).all()
        np.testing.assert_array_equal(split.inputs.numpy(), X[split.rows])
        np.testing.assert_array_equal(split.targets.numpy()[:, 0], TARGETS[split.rows])
        np.testing.assert_array_equal(split.labels, TARGETS[split.rows])


def test_the_division_follows_the_seed_and_is_stratified():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    data, again, other = (of(np.zeros((100, 1)), y, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(data.train.rows, again.train.rows)
    assert not np.array_equal(data.train.rows, other.train.rows)
    assert [split.targets.sum(0).tolist() for split in parts(data)] == [[30, 15, 5], [18, 9, 3], [12, 6, 2]]


def test_shares_may_be_numbers_of_rows_and_no_test_may_be_kept():
    data = of(X, Y, validation=7, test=5)
    assert [len(split) for split in parts(data)] == [28, 7, 5]
    assert of(X, Y, test=0).test is None
    assert of(X, Y, test=None).test is None
    # 0.07 * 100 is 7.000000000000001 in floating point, and seven rows
    assert len(of(np.zeros((100, 1)), np.linspace(0, 1, 100), test=0.07).test) == 7


def test_the_end_may_keep_rows_of_its_own():
    data = of(X, Y, validation=0.25, test=0.25, final=0.1, name="coins")
    assert repr(data) == "Data(coins: 16 training, 10 validation, 10 test, 4 final rows, 3 features, 2 classes)"
    assert data.describe() == "coins · 16 training, 10 validation, 10 test, 4 final rows"
    rows = np.concatenate([split.rows for split in parts(data)])
    assert sorted(rows) == list(range(40))
    assert (np.diff(data.final.rows) > 0).all()
    np.testing.assert_array_equal(data.final.inputs.numpy(), X[data.final.rows])
    np.testing.assert_array_equal(data.final.labels, Y[data.final.rows])
    assert data.final.targets.sum(0).tolist() == [2, 2]
    assert of(X, Y).final is of(X, Y, final=0).final is of(X, Y, final=None).final is None
    # without a test split, and with fractions of a row rounded up as for the test
    assert repr(of(X, TARGETS, test=None, final=0.11)).startswith("Data(data: 23 training, 12 validation, 5 final rows")
    mixed = final_of(X.astype(np.float32), TARGETS)
    assert mixed.train.inputs.dtype == mixed.final.inputs.dtype == torch.float64


@pytest.mark.parametrize("y", [Y, TARGETS])
def test_final_rows_stay_when_the_other_shares_change(y):
    data = of(X, y, final=6)
    for options in ({"validation": 0.2}, {"test": 0.1}, {"test": None, "validation": 9}):
        np.testing.assert_array_equal(of(X, y, final=6, **options).final.rows, data.final.rows)
    np.testing.assert_array_equal(of(X, y, final=6, validation=0.2).test.rows, data.test.rows)


def test_divisions_without_a_final_split_stay_for_good():
    # positions of the first version: a seed written down by a user must go on to mean the same rows
    data = of(X[:12], [0, 1, 2] * 4, seed=3)
    assert [split.rows.tolist() for split in parts(data)] == [[0, 3, 4, 7, 8, 11], [1, 5, 9], [2, 6, 10]]
    data = of(X[:12], TARGETS[:12], seed=3, test=3, validation=4)
    assert [split.rows.tolist() for split in parts(data)] == [[0, 2, 3, 8, 9], [6, 7, 10, 11], [1, 4, 5]]
    codes = np.repeat([0, 1, 2, 3], [57, 30, 10, 3])[np.random.RandomState(0).permutation(100)]
    shares = [(0.3, 0.2), (0.25, 0.25), (0.3, None), (7, 5), (0.5, 0), (1, 60), (0.05, 0.05)]
    digest = hashlib.sha256()
    for strata, seed, (validation, test) in itertools.product((None, codes), range(5), shares):
        positions = partition(100, strata, validation=validation, test=test, seed=seed)
        for split in ("train", "validation", "test"):
            found = ",".join(map(str, positions[split])) + ";" if split in positions else "-"
            digest.update(found.encode())
    assert digest.hexdigest().startswith("4493e88e7a76d541")


def test_rare_classes_reach_training_and_validation():
    y = np.array(["common"] * 200 + ["rare"] * 2 + ["scarce"] * 3)
    for seed in range(20):
        data = of(np.zeros((205, 1)), y, seed=seed)
        for split in (data.train, data.validation):
            assert set(split.labels) == {"common", "rare", "scarce"}
        assert sum(map(len, parts(data))) == 205
        held_out = of(np.zeros((205, 1)), y, seed=seed, validation=0.1, test=0.3, final=0.4)
        for split in (held_out.train, held_out.validation):
            assert set(split.labels) == {"common", "rare", "scarce"}
        assert sorted(np.concatenate([split.rows for split in parts(held_out)])) == list(range(205))


def test_targets_are_one_hot_in_the_order_of_the_classes():
    data = of(X, np.where(Y, "no", "yes"))
    assert data.task == "classification"
    assert data.classes == ("no", "yes")
    for split in parts(data):
        assert split.targets.dtype == torch.float64
        assert (np.asarray(data.classes)[split.targets.argmax(1).numpy()] == split.labels).all()
        assert (split.targets.sum(1) == 1).all()


def test_several_outputs():
    data = of(X, np.stack([TARGETS, -TARGETS], axis=1))
    assert data.task == "regression"
    assert data.classes is None
    assert data.train.targets.shape == (20, 2)
    assert data.train.labels.shape == (20, 2)
    assert repr(data).endswith("3 features, 2 outputs)")
    frame = of(X, pd.DataFrame({"a": Y, "b": Y}))
    assert frame.train.targets.shape == (20, 2)
    column = of(X, TARGETS[:, None])
    assert column.train.labels.shape == (20,)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (Y, "classification"),
        (Y.astype(np.uint8), "classification"),
        (Y.astype(bool), "classification"),
        (Y.astype(object), "classification"),
        (Y.astype(bool).astype(object), "classification"),
        (np.where(Y, "a", "b"), "classification"),
        (np.where(Y, "a", "b").astype(object), "classification"),
        (pd.Series(np.where(Y, "a", "b"), dtype="category"), "classification"),
        (pd.Series(Y, dtype="Int64"), "classification"),
        (Y.tolist(), "classification"),
        (torch.from_numpy(Y), "classification"),
        (np.arange(40) % 20, "classification"),
        (np.arange(40), "regression"),
        (np.arange(40) % 21, "regression"),
        (np.arange(40).astype(object), "regression"),
        (Y.astype(float), "regression"),
        ([decimal.Decimal(number) for number in range(40)], "regression"),
        (torch.from_numpy(TARGETS), "regression"),
    ],
)
def test_the_task_is_inferred_by_the_stated_rule(y, task):
    assert of(X, y).task == task


def test_the_users_word_goes_before_the_rule():
    assert of(X, Y, task="regression").classes is None
    data = of(X, Y.astype(float), task="classification")
    assert data.classes == (0.0, 1.0)


def test_the_import_is_light():
    program = (
        "import sys; from lsat_explorer.data import Data, datasets; "
        "print([m for m in ('sklearn', 'pandas', 'PIL', 'matplotlib', 'plotly') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
