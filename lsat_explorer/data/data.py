"""Data: rows to fit, rows that judge the fit, rows kept for the test, rows kept for the very end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lsat_explorer.data.images import PixelScale
from lsat_explorer.data.labels import Task, infer_task, strata
from lsat_explorer.data.missing import Missing
from lsat_explorer.data.partition import partition
from lsat_explorer.data.parts import check_parts, chosen_inputs, given_splits, joined, read_split
from lsat_explorer.data.rows import read_rows
from lsat_explorer.data.sparse_rows import table_of
from lsat_explorer.data.split import SPLITS, Split, counted

__all__ = ["Data", "Split"]


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Rows to fit (train), rows that judge the fit while tuning (validation), rows kept for the end (test).

    Made by :meth:`from_arrays`, :meth:`from_splits`, :meth:`from_rows` or ``lsat_explorer.datasets``. Two are equal
    when they are the same object.

    Where the test rows decide when to stop tuning (early stopping), they no longer tell the error on new rows: `final`
    keeps rows for that, to be looked at once.

    Parameters
    ----------
    train, validation, test
        The rows; `test` may be None.
    final
        Rows that decide nothing, or None. Like the test rows, they may lack classes.
    task
        ``"classification"`` or ``"regression"``.
    classes
        The user's own labels in the order of the target columns; None in regression.
    feature_names
        Names of the d columns.
    target_names
        Names of the m outputs in regression; empty where they have none, and in classification.
    image_shape
        Shape (h, w), (h, w, 1) or (h, w, 3) of a row that is an image, else None.
    name
        What to call the data set.
    pixel_scale
        How inputs become grey levels; from the least to the largest training input where None.
    source
        Python that makes the data again, such as ``"lsat.datasets.digits()"``; empty where only the user knows.
    fill
        What stands for a missing entry of each column, here and where a model predicts; None refuses such entries.

    Raises
    ------
    ValueError
        When the parts do not fit together.
    """

    train: Split
    validation: Split
    test: Split | None = None
    final: Split | None = field(kw_only=True, default=None)
    task: Task = field(kw_only=True)
    classes: tuple[Any, ...] | None = field(kw_only=True)
    feature_names: tuple[str, ...] = field(kw_only=True)
    target_names: tuple[str, ...] = field(kw_only=True, default=())
    image_shape: tuple[int, ...] | None = field(kw_only=True, default=None)
    name: str = field(kw_only=True, default="data")
    pixel_scale: PixelScale | None = field(kw_only=True, default=None)
    source: str = field(kw_only=True, default="")
    fill: tuple[float, ...] | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        names = self.feature_names, self.target_names
        check_parts(self._splits(), self.task, self.classes, *names, self.image_shape)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        validation: float = 0.3,
        test: float | None = 0.2,
        final: float | None = 0.0,
        task: Task | None = None,
        seed: int = 0,
        image_shape: Sequence[int] | None = None,
        feature_names: Sequence[Any] | None = None,
        target_names: Sequence[Any] | None = None,
        rows: Any = None,
        missing: Missing = "refuse",
        name: str = "data",
    ) -> Data:
        """Divide one table at random, stratified by class in classification; splits keep the order of X.

        Parameters
        ----------
        X
            Inputs (N, d): numpy, torch, pandas, polars or lists, or a sparse matrix of scipy, which stays sparse;
            images (N, h, w) with `image_shape`. float32 stays float32, all other numbers become float64. Copied, never
            modified.
        y
            Labels (N,), or targets (N,) or (N, m).
        validation, test, final
            Share of all rows between 0 and 1, or number of rows; a test or final of 0 or None keeps none.
        task
            ``"classification"`` or ``"regression"``. Where None: strings, categoricals and booleans are labels, and so
            are integers of at most 20 distinct values; other integers, floats and several columns are numbers.
        seed
            Seed of the division.
        image_shape
            Shape (h, w), (h, w, 1) or (h, w, 3) of a row that is an image.
        feature_names
            Names of the columns; those of the data frame, or ``x0``, ``x1``, ... where None.
        target_names
            Names of the outputs in regression; those of y where None, which an array has not.
        rows
            Unique name of each row (N,); the index of the data frame, or 0..N-1 where None.
        missing
            ``"refuse"`` refuses NaN, None and NA in X; ``"mean"`` and ``"median"`` put that of the column over the
            training rows in their place, also where the model predicts.
        name
            What to call the data set.

        Raises
        ------
        ValueError
            In one sentence with split, row and column: wrong shapes or lengths, no rows, entries that are missing,
            infinite or no numbers, categories in X, a single class, a class that training or validation would lack.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.arange(40.0).reshape(20, 2)
        >>> Data.from_arrays(X, ["even", "odd"] * 10, name="numbers")
        Data(numbers: 10 training, 6 validation, 4 test rows, 2 features, 2 classes)
        """
        table = table_of(X, y, rows=rows, image_shape=image_shape)
        task = infer_task(table.outcome, task)
        codes = strata(table.outcome) if task == "classification" else None
        parts = partition(len(table), codes, validation=validation, test=test, final=final, seed=seed)
        tables = {split: table.take(part) for split, part in parts.items()}
        return cls(**joined(tables, task, image_shape, feature_names, target_names, missing=missing), name=name)

    @classmethod
    def from_splits(
        cls,
        train: tuple[Any, Any],
        validation: tuple[Any, Any],
        test: tuple[Any, Any] | None = None,
        *,
        final: tuple[Any, Any] | None = None,
        task: Task | None = None,
        image_shape: Sequence[int] | None = None,
        feature_names: Sequence[Any] | None = None,
        target_names: Sequence[Any] | None = None,
        missing: Missing = "refuse",
        name: str = "data",
    ) -> Data:
        """Take rows that are already divided.

        Parameters
        ----------
        train, validation, test, final
            Pairs (X, y), each as in :meth:`from_arrays`. The training labels fix the classes; the validation rows have
            all of them, the test and the final rows need not.
        task, image_shape, feature_names, target_names, missing, name
            As in :meth:`from_arrays`; the rule for the task looks at the training rows.

        Raises
        ------
        ValueError
            As in :meth:`from_arrays`; also for a label of another split that no training row has, and for columns
            that differ between splits.

        Examples
        --------
        >>> import numpy as np
        >>> X, y = np.eye(4), np.array([0.5, 1.5, 2.5, 3.5])
        >>> Data.from_splits(train=(X, y), validation=(X[:2], y[:2]))
        Data(data: 4 training, 2 validation rows, 4 features, 1 output)
        """
        given = given_splits(train, validation, test, final)
        tables = {split: read_split(split, pair, image_shape) for split, pair in given.items()}
        task = infer_task(tables["train"].outcome, task)
        return cls(**joined(tables, task, image_shape, feature_names, target_names, missing=missing), name=name)

    @classmethod
    def from_rows(
        cls,
        train: Any,
        validation: Any,
        test: Any = None,
        *,
        final: Any = None,
        target: str | Sequence[str] | None = None,
        task: Task | None = None,
        image_shape: Sequence[int] | None = None,
        feature_names: Sequence[Any] | None = None,
        target_names: Sequence[Any] | None = None,
        folder: str | Path | None = None,
        name: str = "data",
    ) -> Data:
        """Take divided rows of which memory has no room for the inputs: these stay on disk.

        All are read once, and checked as in :meth:`from_splits`. Inputs in an .npy file of float32 or float64 are used
        where they are, others copied to a file that goes with them. Tune with ``Recipe(engine=Chunks(memory="1 GB"))``.

        Parameters
        ----------
        train, validation, test, final
            Each a pair (X, y) of .npy paths, or of an array that is read by slices (a memory map, zarr, h5py) and y;
            or the path of a Parquet file, or of a folder of them; or a pair (X, y) of dask's arrays or data frames, or
            a data frame of both, whose partitions stay with dask; or pairs (X, y) of some rows each: an iterable, or a
            function that returns one.
        target
            Name of the column with y in Parquet or dask's data frame, or the names of several.
        task, image_shape, feature_names, target_names, name
            As in :meth:`from_splits`.
        folder
            Where to put copies; the system's folder for temporary files where None. They are taken away with the data,
            or at the end of the program; those of a program that was killed by the next that puts copies there.

        Raises
        ------
        ValueError, OSError
            As in :meth:`from_splits`; for a file that is cut off, a column that a part lacks, a disk without room.

        Examples
        --------
        >>> import numpy as np
        >>> X, y = np.eye(4), np.array([0.5, 1.5, 2.5, 3.5])
        >>> Data.from_rows(train=[(X, y), (X + 1, y)], validation=(X[:2], y[:2]))
        Data(data: 8 training, 2 validation rows, 4 features, 1 output)
        """
        given = given_splits(train, validation, test, final)
        tables, files = read_rows(given, target=target, image_shape=image_shape, folder=folder)
        task = infer_task(tables["train"].outcome, task)
        return cls(**joined(tables, task, image_shape, feature_names, target_names, files=files), name=name)

    def __repr__(self) -> str:
        what = (len(self.classes), "class") if self.classes is not None else (self.train.targets.shape[1], "output")
        features = counted(len(self.feature_names), "feature")
        return f"Data({self.name}: {self._rows_in_words()}, {features}, {counted(*what)})"

    def describe(self) -> str:
        """Name and rows in words: ``"MNIST, deskewed · 3,500 training, 1,500 validation, 10,000 test rows"``."""
        return f"{self.name} · {self._rows_in_words()}"

    def images(self, split: str = "train", indices: Any = None) -> np.ndarray:
        """Rows of a split as pictures to look at.

        Standardised pixels are turned back into grey levels; the range from black to white is that of the data set
        (`pixel_scale`), so brightness compares between rows.

        Parameters
        ----------
        split
            ``"train"``, ``"validation"``, ``"test"`` or ``"final"``.
        indices
            Positions (N,) within the split, 0 .. len - 1; all rows where None.

        Returns
        -------
        numpy.ndarray
            Pictures (N, h, w), or (N, h, w, 3) in colour, uint8.

        Raises
        ------
        ValueError
            When rows are no images, there is no such split, or a position is outside it.
        """
        if self.image_shape is None:
            raise ValueError(
                f"the rows of {self.name} are not images; make the Data with image_shape=(h, w) to show them"
            )
        inputs = chosen_inputs(self._splits(), split, indices, self.name)
        grey = self._grey_levels.grey(inputs.numpy())
        shape = self.image_shape[:2] if self.image_shape[2:] == (1,) else self.image_shape
        return grey.reshape(-1, *shape)

    @cached_property
    def _grey_levels(self) -> PixelScale:
        return self.pixel_scale or PixelScale.of(self.train.inputs)

    def _splits(self) -> dict[str, Split]:
        splits = {name: getattr(self, name) for name in SPLITS}
        return {name: split for name, split in splits.items() if split is not None}

    def _rows_in_words(self) -> str:
        return ", ".join(f"{len(split):,} {SPLITS[name]}" for name, split in self._splits().items()) + " rows"
