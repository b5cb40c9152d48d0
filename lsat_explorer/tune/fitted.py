"""The fitted model: what a run leaves behind to predict with."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..data.as_numbers import no_numbers, refuse_categories
from ..data.by_name import coded_columns, in_order
from ..data.foreign import collected, frame_of, numbered
from ..data.row_names import row_names
from ..data.safe_file import refuse_path, write_tensors
from ..data.sparse_rows import RowsSparse, check_entries, read_sparse
from ..data.tables import check_finite, fitting, numbers, plain, shown
from ..data.whole_file import whole_file
from ..engines.devices import resolve_device
from ..engines.sparse import outputs
from ..model.losses import CrossEntropy, Loss
from ..model.piece import Omega, within
from ..model.prepared import Prepared
from ..model.recipe import Recipe
from .coefficients import coefficients
from .column_names import in_words
from .model_file import FORMAT, read_model
from .to_onnx import label_table, write_onnx

if TYPE_CHECKING:
    import pandas

    from ..data.data import Data
    from .problem import Problem

__all__ = ["FittedModel"]

_CHUNK = 8192


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Predictions φ(u; ω)ᵀ θ of a fit, in the user's own labels.

    Attributes
    ----------
    recipe : Recipe
        What was fitted.
    loss : Loss
        The loss in use, also where the recipe left it to the task.
    prepared : Prepared
        The featurizer as prepared on the training rows.
    omega : dict of str to Tensor
        The hyper-parameters.
    theta : Tensor (n, m)
        The coefficients, float64.
    classes : tuple or None
        The user's labels in the order of the outputs; None in regression.
    feature_names : tuple of str
        Names of the d inputs.
    data : Data or None
        The rows that it was fitted to, for `lsat_explorer.explain`; not saved, so None for a model that was loaded.
    fill : tuple of float, or None
        What stands for a missing entry of each input, where the data were made with ``missing="mean"`` or ``"median"``;
        None refuses missing entries.
    target_names : tuple of str
        Names of the m outputs in regression; empty where the data had none, and in classification.
    """

    recipe: Recipe
    loss: Loss
    prepared: Prepared
    omega: Omega
    theta: Tensor
    classes: tuple[Any, ...] | None
    feature_names: tuple[str, ...]
    data: Data | None = None
    fill: tuple[float, ...] | None = None
    target_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n, m = self.theta.shape
        return f"FittedModel({n} features, {m} outputs)"

    @property
    def blocks(self) -> dict[str, slice]:
        """The rows of θ that belong to each block of features."""
        return self.prepared.columns()

    def coefficients(self) -> pandas.DataFrame:
        """Return θ (n, m) as a table: a row for each feature, by block and name, a column for each class or output.

        A feature that is one input has its name, the constant is ``"1"``, others are numbered: ``"low_rank 0"``.
        Outputs have their `target_names`, and are numbered where there are none.

        Examples
        --------
        >>> import lsat_explorer as lsat
        >>> run = lsat.tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
        >>> run.model.coefficients().loc["one"].shape
        (1, 10)
        """
        return coefficients(self)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the raw outputs φ(u)ᵀθ (N, m) for inputs (N, d), which may be a sparse matrix of scipy.

        The columns of a data frame are taken by name; by their places where the model was tuned on an array without
        names, or where pandas numbered them, 0 … d − 1, or polars did. Where it lacks the input ``colour=red`` and has
        a column ``colour``, the input is 1 where that says ``red``, else 0, and missing where the entry is.

        Raises
        ------
        ValueError
            When X is not (N, d), holds an infinity, a number beyond 1e100 in size, or a NaN where the model has no
            `fill`; when a frame lacks a column, has another, categories for numbers, or a text that is in no name of
            an input.
        """
        matrix = X.matrix if isinstance(X, RowsSparse) else read_sparse(X, "X")
        if matrix is not None:
            self._check_width(matrix)
            check_entries(matrix, "X", np.arange(matrix.shape[0]), self.feature_names)
            return outputs(self.prepared, within("featurizer", self.omega), self.theta, matrix)
        rows = self._inputs(X)
        parts = [torch.empty(0, self.theta.shape[1], dtype=torch.float64, device="cpu")]
        featurizer = within("featurizer", self.omega)
        with torch.no_grad():
            for chunk in rows.split(_CHUNK):
                blocks = self.prepared.blocks(featurizer, chunk.to(self.theta.device).double())
                parts.append((torch.cat(list(blocks.values()), 1) @ self.theta).cpu())
        return torch.cat(parts).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """Return the user's labels (N,), or the outputs (N, m), (N,) for one output, in regression."""
        scores = self.decision_function(X)
        if self.classes is None:
            return scores[:, 0] if scores.shape[1] == 1 else scores
        return np.asarray(label_table(self.classes)[scores.argmax(1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return softmax(e^τ φ(u)ᵀθ) (N, m), the classes' probabilities under the cross-entropy loss.

        Scores lie between 0 and 1, more or less. So with τ = 0, as a recipe has it that asks for no temperature, none
        of m classes is given much more than e / (e + m − 1), 0.23 of ten, however sure its label is.
        ``CrossEntropy(temperature=True)`` tunes τ.

        Raises
        ------
        ValueError
            When the model was not tuned for the cross-entropy, so that its outputs are no log odds.
        """
        if not isinstance(self.loss, CrossEntropy):
            raise ValueError(f"predict_proba needs a CrossEntropy loss; this model was tuned for {self.loss!r}.")
        omega = {name: value.cpu() for name, value in within("loss", self.omega).items()}
        return torch.softmax(self.loss.scores(torch.from_numpy(self.decision_function(X)), omega), 1).numpy()

    def _inputs(self, X: Any) -> Tensor:
        X = collected(X)
        frame = frame_of(X)
        if frame is None:
            array = plain(X, "X")
        else:
            array = in_order(*frame, self.feature_names, unnamed=numbered(X), rows=row_names(X, len(frame[1])))
        refuse_categories(X, "X", coded_columns(self.feature_names))
        self._check_width(array)
        if array.dtype.kind not in "biufOU":
            raise no_numbers(array.dtype, "X", None if frame is None else self.feature_names)
        array = numbers(array, "X", self.feature_names) if array.dtype.kind in "OU" else array
        rows = np.array(array, dtype=np.float32 if array.dtype == np.float32 else np.float64)
        if self.fill is not None:
            rows = np.where(np.isnan(rows), np.array(self.fill), rows)  # in float64, which rounds no mean
        fits = fitting(rows)
        if not fits.all():
            row, column = np.argwhere(~fits)[0]
            name = row_names(X, len(rows))[[row]]
            if np.isfinite(rows[row, column]):  # so large that features of it may be none
                check_finite(rows[[row]], "X", name, self.feature_names)
            raise ValueError(
                f"X holds {rows[row, column]} in row {shown(name[0])}, column {self.feature_names[column]!r}, expected "
                "finite numbers: fill it in, or leave out the row."
            )
        return torch.from_numpy(rows)

    def _check_width(self, X: Any) -> None:
        if not X.ndim:
            raise ValueError(
                f"X is of type {type(X.item()).__name__}, which is no table: give an array "
                f"(N, {len(self.feature_names)}) or a data frame, one row a case, such as data.test.inputs."
            )
        if X.ndim != 2 or X.shape[1] != len(self.feature_names):
            raise ValueError(f"X has shape {X.shape}: expected (N, {len(self.feature_names)}), one row a case.")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one safetensors file, the recipe in its header; an old file stays until the new one is whole.

        Raises
        ------
        ValueError
            When the path is a folder, or no text in UTF-8, or a class is neither a number nor a string.
        """
        path = Path(path).expanduser()
        refuse_path(path)
        tensors = {f"featurizer.{name}": value for name, value in self.prepared.state().items()}
        tensors |= {f"omega.{name}": value for name, value in self.omega.items()} | {"theta": self.theta}
        described = {
            "omega": list(self.omega),
            "loss": Recipe(loss=self.loss).to_json(),
            "classes": None if self.classes is None else [_plain(label) for label in self.classes],
            "feature_names": list(self.feature_names),
            "fill": self.fill,
        }
        if self.target_names:  # a file without them is read by older versions too
            described["target_names"] = list(self.target_names)
        header = {
            "format": FORMAT,
            "recipe": self.recipe.to_json(),
            "model": json.dumps(described),
        }
        with whole_file(path) as file:
            write_tensors(file, header, tensors)

    def to_onnx(self, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Write an ONNX file of `predict`, for programs without Python; it is written by the package ``onnx``.

        Its input is ``X`` (N, d), in the order of ``feature_names``. It gives ``prediction`` as `predict` does in
        regression; for classes ``label`` and the outputs ``scores`` (N, m), and ``probabilities`` (N, m) where there is
        a `predict_proba`. Arithmetic is float64, of operations of opset 17.

        Parameters
        ----------
        path : path
            The file to write, by custom ``model.onnx``.
        dtype : {"float32", "float64"}
            The type of X.

        Raises
        ------
        ValueError
            For a block that plain ONNX operations cannot tell; the sentence names it. When the path is a folder.
        ModuleNotFoundError
            Without the packages of ``lsat_explorer[onnx]``.
        """
        write_onnx(self, Path(path).expanduser(), dtype)

    @classmethod
    def of(cls, problem: Problem, omega: Omega) -> FittedModel:
        """Fit at ``omega``.

        Raises
        ------
        ValueError
            When there is no fit.
        """
        omega = problem.adapted(omega)
        theta, outcome = problem.coefficients(omega)
        if not outcome.ok:
            raise ValueError(f"There is no fit at these hyper-parameters: {in_words(problem, outcome)}")
        return cls(
            recipe=problem.recipe,
            loss=problem.loss,
            prepared=problem.prepared,
            omega=problem.there(omega),
            theta=theta.contiguous(),
            classes=problem.data.classes,
            feature_names=problem.data.feature_names,
            data=problem.data,
            fill=problem.data.fill,
            target_names=problem.data.target_names,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "cpu") -> FittedModel:
        """Read a file that `save` wrote; no pickle is involved.

        Raises
        ------
        ValueError
            When the file is no model, is damaged, or has a format of another version; for a device that is not there.
        """
        there = str(resolve_device(device))
        path = Path(path).expanduser()
        if path.is_dir():
            raise ValueError(f"{path} is a folder: give its model.safetensors, or use Run.load for a whole run.")
        return cls(**read_model(path, there))


def _plain(label: Any) -> Any:
    """Return a label as JSON can hold it: numbers, strings and booleans stay what they are."""
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise ValueError(
            f"Class {label!r} is a {type(label).__name__}: only numbers, strings and booleans can be saved."
        )
    return value
