"""Data of sparse rows: how they are divided, read and indexed, and what they are refused for."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import lsat_explorer as lsat
from lsat_explorer.data import sparse_rows
from lsat_explorer.data.sparse_rows import RowsSparse
from thin_rows import DENSE, LABELS, D, K, Y, both


def test_data_of_sparse_rows_are_divided_as_those_of_dense_ones() -> None:
    dense, thin = both(LABELS, final=0.1)
    for split in ("train", "validation", "test", "final"):
        mine, theirs = getattr(thin, split), getattr(dense, split)
        np.testing.assert_array_equal(mine.inputs.numpy(), theirs.inputs)
        np.testing.assert_array_equal(mine.rows, theirs.rows)
        np.testing.assert_array_equal(mine.labels, theirs.labels)
    assert thin.feature_names == dense.feature_names


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_])
def test_entries_of_any_type_given_twice_or_as_zeros_are_the_same_numbers(dtype: Any) -> None:
    rows, columns = [0, 0, 1, 2, 3, 3], [0, 0, 1, 0, 1, 0]
    entries = np.array([1, 1, 1, 1, 0, 1], dtype=dtype)
    given = sparse.coo_array((entries, (rows, columns)), shape=(4, 2))
    kept = given.copy()
    data = lsat.Data.from_splits((given, np.arange(4.0)), (given, np.arange(4.0)))
    assert data.train.inputs.dtype == (torch.float32 if dtype == np.float32 else torch.float64)
    np.testing.assert_array_equal(data.train.inputs.numpy(), given.toarray().astype(float))
    np.testing.assert_array_equal(given.data, kept.data)


def test_what_sparse_rows_cannot_be_is_refused_by_name() -> None:
    wrong = DENSE.copy()
    wrong[11, 3] = np.inf
    for make in (sparse.csr_array, sparse.csc_array):
        with pytest.raises(ValueError, match=r"X has inf at row 11, column 3 \('x3'\), expected finite numbers"):
            lsat.Data.from_splits((make(wrong), Y), (make(wrong), Y), feature_names=[f"x{i}" for i in range(D)])
    with pytest.raises(ValueError, match=r"X has 1e\+200 at row 0, column 1, expected numbers of at most 1e\+100"):
        lsat.Data.from_arrays(sparse.csr_array([[0, 1e200], [1, 0]] * 9), np.arange(18.0))
    with pytest.raises(ValueError, match="X is sparse and of type complex128, expected real numbers"):
        lsat.Data.from_arrays(sparse.csr_array(DENSE + 0j), Y)
    with pytest.raises(ValueError, match=r"X has 90 rows and y has 89"):
        lsat.Data.from_arrays(sparse.csr_array(DENSE), Y[1:])
    with pytest.raises(ValueError, match="missing is 'mean' and X is sparse"):
        lsat.Data.from_arrays(sparse.csr_array(DENSE), Y, missing="mean")
    with pytest.raises(ValueError, match=r"X has nan at row 0, column 0 \('x0'\)"):
        lsat.tune(lsat.Recipe(), both(Y)[0], progress=False).model.predict(sparse.csr_array([[np.nan] * D]))


INDICES = [
    slice(2, 9),
    slice(None, None, 3),
    torch.tensor([5, 1, 1]),
    np.array([4, 0]),
    torch.arange(K) % 7 == 0,
    (slice(None), 3),
    (torch.tensor([3, 2]), slice(1, 4)),
    (..., 2),
    -1,
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_sparse_rows_reads_those_rows(index: Any) -> None:
    rows, dense = RowsSparse(sparse.csr_array(DENSE)), torch.from_numpy(DENSE)
    assert torch.equal(rows[index], dense[index])
    assert type(rows[index]) is torch.Tensor


def test_sparse_rows_are_a_tensor_to_whoever_asks_for_few() -> None:
    rows, dense = RowsSparse(sparse.csr_array(DENSE)), torch.from_numpy(DENSE)
    assert torch.equal(rows.mean(0), dense.mean(0))
    assert torch.equal(rows @ dense.mT, dense @ dense.mT)
    assert [len(part) for part in rows.split(40)] == [40, 40, 10]
    assert all(isinstance(part, RowsSparse) for part in rows.split(40))
    assert rows.bounds() == (DENSE.min(), DENSE.max())
    assert torch.equal(torch.cat([part for _, part in rows.passes()]), dense)
    assert torch.equal(pickle.loads(pickle.dumps(rows)).double(), dense)
    assert "RowsSparse(90 rows, 7 columns" in repr(rows)


def test_all_entries_of_many_rows_are_refused_with_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RowsSparse(sparse.csr_array((200_000, 5_000)))
    words = r"200,000 rows and 5,000 columns, and mean asks for all of its rows at once, which take 7.5 GiB"
    with pytest.raises(ValueError, match=words):
        rows.mean(0)
    with pytest.raises(ValueError, match=r"50,000 of its rows are asked for at once, which take 1.9 GiB"):
        rows[::4]
    assert rows[:3].sum() == 0
    monkeypatch.setattr(sparse_rows, "MOST_DENSE", 100)
    with pytest.raises(ValueError, match="TruncatedSVD"):
        RowsSparse(sparse.csr_array(DENSE)).numpy()
