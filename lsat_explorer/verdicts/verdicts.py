"""Verdicts on training rows: what a person decided, kept by the names of the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..data.data import Data
from ..data.tables import shown
from . import on_data
from .code import code_of
from .names import Row, in_order, row_names
from .store import Store
from .verdict import KINDS, Verdict

if TYPE_CHECKING:
    import pandas

__all__ = ["Verdicts"]


class Verdicts(Mapping[Row, Verdict]):
    """What was decided about training rows: to keep, relabel or drop them, or that they are ambiguous.

    A mapping of row names to verdicts, read-only but for the methods below. Rows are called by the user's own names,
    ``data.train.rows``, so that verdicts outlive another division of the data; those on rows that some data lack are
    kept, and listed by `missing`. Any thread may call any method.

    Parameters
    ----------
    path : path-like, optional
        JSON file in which they are kept, loaded where it is there and written at every change, in one step: a process
        that is killed leaves the file before or the one after. What another process has changed since is taken in row
        by row; a row that both have changed is as changed last. A file that cannot be written costs nothing: they stay
        in memory, a warning says so, and the next change tries again. None keeps them in memory.

    Raises
    ------
    ValueError
        When the file is damaged, or is no file of verdicts; it is left as it is.
    OSError
        When the file cannot be read.

    Examples
    --------
    >>> verdicts = Verdicts()
    >>> verdicts.drop([4, 8])
    >>> verdicts.relabel(15, 7)
    >>> verdicts[15], 8 in verdicts, len(verdicts)
    (Verdict(kind='relabel', to=7), True, 3)
    >>> verdicts.undo()
    >>> list(verdicts)
    [4, 8]
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        # A later change of the working folder, or a link in the file's place, does not move the file.
        self._store = Store(None if path is None else Path(path).expanduser().resolve())
        self._about: tuple[ref[Data], ...] = ()

    @property
    def path(self) -> Path | None:
        """The file; None where they are in memory."""
        return self._store.path

    @property
    def problem(self) -> str:
        """Why the last change is in memory alone; empty where it is saved. The next change tries again."""
        return self._store.problem

    def about(self, data: Data) -> None:
        """Have `relabel` refuse at once what is no label of some data.

        Until it is called any label is taken, and judged where the verdicts are applied. Called for several data, those
        of all of them are taken; data that are gone have no say. `WeightBrowser` calls it for the rows that it shows.

        Examples
        --------
        >>> import lsat_explorer as lsat
        >>> data, verdicts = lsat.datasets.digits(), Verdicts()
        >>> verdicts.about(data)
        >>> verdicts.relabel(5, "seven")
        Traceback (most recent call last):
        ValueError: relabel gives row 5 the class 'seven', which is unknown: give one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9.
        """
        on_data.refuse_no_data(data)
        others = tuple(each for each in self._about if each() not in (None, data))
        self._about = (*others, ref(data))

    def keep(self, rows: Any) -> None:
        """Decide that rows are right as they are.

        Parameters
        ----------
        rows : row name or iterable of row names
            By the user's own names, as in ``data.train.rows``.
        """
        self._store.decide(dict.fromkeys(row_names(rows), Verdict("keep")))

    def relabel(self, rows: Any, to: Any = None) -> None:
        """Decide that rows have another label.

        Parameters
        ----------
        rows : row name, iterable of row names, or dict of row name to label
            By the user's own names. A dict is one change, to be taken back as one.
        to : label
            A class, or in regression a number, a tuple of them for several outputs; left out with a dict.

        Raises
        ------
        ValueError
            When a label is none, or none of the data that the verdicts are `about`.
        """
        if isinstance(rows, Mapping) and to is not None:
            raise ValueError(f"relabel got a dict of labels and the label {shown(to)} beside it: give one of them.")
        labels = rows if isinstance(rows, Mapping) else dict.fromkeys(row_names(rows), to)
        decided: dict[Row, Verdict | None] = {
            row: Verdict("relabel", to) for name, to in labels.items() for row in row_names(name)
        }
        on_data.refuse_unknown(decided, [data for each in self._about if (data := each()) is not None])
        self._store.decide(decided)

    def drop(self, rows: Any) -> None:
        """Decide that rows are left out."""
        self._store.decide(dict.fromkeys(row_names(rows), Verdict("drop")))

    def ambiguous(self, rows: Any) -> None:
        """Decide that rows have no single right label."""
        self._store.decide(dict.fromkeys(row_names(rows), Verdict("ambiguous")))

    def clear(self, rows: Any) -> None:
        """Forget the verdicts on rows, where there are any."""
        self._store.decide(dict.fromkeys(row_names(rows)))

    def undo(self) -> None:
        """Take the last change back, if there is one; a row that another process has changed since stays as it is."""
        self._store.undo()

    def redo(self) -> None:
        """Make the change again that was last taken back, if there is one."""
        self._store.redo()

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to take back."""
        return self._store.undoes

    @property
    def can_redo(self) -> bool:
        """Whether there is a change to make again."""
        return self._store.redoes

    def observe(self, callback: Callable[[], object]) -> None:
        """Have ``callback()`` called after each change, by the thread that made it.

        Raises
        ------
        TypeError
            When it cannot be called.
        """
        if not callable(callback):
            raise TypeError(f"callback is a {type(callback).__name__}, expected a function without arguments.")
        self._store.observe(callback)

    def unobserve(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` no more."""
        self._store.unobserve(callback)

    def table(self, data: Data | None = None) -> pandas.DataFrame:
        """Return a table indexed by row: ``kind`` and ``to``; with data first ``given``, the label in the data.

        ``to`` is None but for relabelled rows, ``given`` for rows that the data lack.
        """
        return on_data.table(self._store.known, data)

    def indices(self) -> dict[str, list[Row]]:
        """Return the names of rows by kind of verdict: ``keep``, ``relabel``, ``drop``, ``ambiguous``."""
        known = self._store.known
        return {kind: in_order(row for row, verdict in known.items() if verdict.kind == kind) for kind in KINDS}

    def missing(self, data: Data) -> list[Row]:
        """Return the rows with a verdict that the training rows of some data do not have."""
        return on_data.missing(self._store.known, data)

    def weights(self, data: Data, ambiguous: float = 1.0) -> np.ndarray:
        """Return a weight for each training row (k,), in their order: 0 for dropped ones, 1 for others.

        ``Recipe(data_weights=FixedWeights(verdicts.weights(data)))`` fits with them. Verdicts on rows that the training
        rows lack are passed over, here as in `relabelled` and `applied`; `missing` tells them.

        Parameters
        ----------
        data : Data
            Whose training rows.
        ambiguous : float
            The weight of ambiguous rows, at least 0.
        """
        return on_data.weights(self._store.known, data, ambiguous)

    def relabelled(self, data: Data) -> np.ndarray:
        """Return the labels of the training rows (k,), in regression (k,) or (k, m), with the new ones.

        Raises
        ------
        ValueError
            When a new label is no class of the data, or in regression no number.
        """
        return on_data.relabelled(self._store.known, data)

    def applied(self, data: Data) -> Data:
        """Return data whose training rows lack the dropped ones and have the new labels; all else is as it was.

        Raises
        ------
        ValueError
            As `relabelled` does; when fewer than two rows are left; when rows are to be dropped that stay on disk.

        Examples
        --------
        >>> import lsat_explorer as lsat
        >>> data = lsat.datasets.digits()
        >>> verdicts = lsat.Verdicts()
        >>> verdicts.drop(data.train.rows[:2])
        >>> verdicts.applied(data)
        Data(digits: 896 training, 449 validation, 450 test rows, 64 features, 10 classes)
        """
        return on_data.applied(self._store.known, data)

    def to_source(self) -> str:
        """Return Python source that rebuilds the verdicts as ``verdicts``, in memory."""
        return code_of(self._store.known)

    def __getitem__(self, row: Any) -> Verdict:
        if isinstance(row, bool | np.bool_):  # which Python takes for 0 and 1
            raise KeyError(row)
        return self._store.known[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(in_order(self._store.known))

    def __len__(self) -> int:
        return len(self._store.known)

    # Two are equal when they are the same object: they change.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(rows):,} {kind}" for kind, rows in self.indices().items() if rows)
        where = "" if self.path is None else f" in {self.path.name}"
        return f"Verdicts({counts or 'none'}{where})"
