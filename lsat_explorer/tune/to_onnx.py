"""A fitted model as an ONNX graph, made of plain operations."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ..data.whole_file import whole_file
from ..model.featurizers import (
    Chain,
    Concat,
    Constant,
    Identity,
    KMeansArchetypes,
    LowRank,
    PowerTransform,
    Scale,
    SelectFeatures,
)
from ..model.losses import CrossEntropy
from ..model.piece import Omega, tensor, within
from ..model.prepared import Featurizer

if TYPE_CHECKING:
    from .fitted import FittedModel

__all__ = ["label_table", "write_onnx"]

_OPSET, _IR = 17, 8
State = dict[str, Tensor]


class _Graph:
    """Nodes and constants, each by a name of its own; numbers are float64."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self._helper, self._numpy = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        array = values.detach().cpu().double().numpy() if isinstance(values, Tensor) else np.asarray(values)
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._numpy.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: Any, name: str = "", **attributes: Any) -> str:
        """Add an operation on names and constants, and return the name of what it gives."""
        names = [given if isinstance(given, str) else self.constant(given) for given in inputs]
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, names, [name], **attributes))
        return name


def write_onnx(model: FittedModel, path: str | os.PathLike[str], dtype: str) -> None:
    """Write what `FittedModel.to_onnx` says."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise ModuleNotFoundError("ONNX files are written by onnx: pip install 'lsat_explorer[onnx]'.") from None
    kinds = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
    if dtype not in kinds:
        raise ValueError(f"dtype is {dtype!r}: expected 'float32' or 'float64', the type of the inputs.")
    graph = _Graph(helper, numpy_helper)
    x = graph.node("Cast", "X", to=TensorProto.DOUBLE)
    if model.fill is not None:
        x = graph.node("Where", graph.node("IsNaN", x), np.array(model.fill), x)
    features = _features(graph, x, model.recipe.featurizer, model.prepared.state(), within("featurizer", model.omega))
    outputs = _outputs(graph, graph.node("MatMul", features, model.theta), model)
    made = helper.make_graph(
        graph.nodes,
        "lsat_explorer",
        [helper.make_tensor_value_info("X", kinds[dtype], ["N", len(model.feature_names)])],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs],
        graph.constants,
    )
    whole = helper.make_model(
        made, producer_name="lsat_explorer", opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR
    )
    told = {"feature_names": json.dumps(list(model.feature_names)), "recipe": model.recipe.to_json()}
    if model.target_names:
        told["target_names"] = json.dumps(list(model.target_names))
    helper.set_model_props(whole, told)
    onnx.checker.check_model(whole, full_check=True)
    with whole_file(path) as file:
        onnx.save_model(whole, os.fspath(file))


def label_table(classes: tuple[Any, ...]) -> np.ndarray:
    """Return labels as an array (m,), of objects where no type of numpy holds them as they are: tuples, ints ≥ 2⁶³."""
    table = np.empty(len(classes), dtype=object)
    for place, label in enumerate(classes):  # numpy would spread out a tuple
        table[place] = label
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
    if all(isinstance(label, bool | int | float | str | bytes) for label in labels):
        kept = np.asarray(labels)
        if kept.tolist() == labels and set(map(type, kept.tolist())) <= set(map(type, labels)):
            return kept
    return table


def _outputs(graph: _Graph, scores: str, model: FittedModel) -> list[tuple[str, int, list[Any]]]:
    """Add what the model gives; return name, type and shape of each."""
    from onnx import TensorProto

    m = model.theta.shape[1]
    if model.classes is None:
        if m > 1:
            graph.node("Identity", scores, name="prediction")
            return [("prediction", TensorProto.DOUBLE, ["N", m])]
        graph.node("Squeeze", scores, np.array([1]), name="prediction")
        return [("prediction", TensorProto.DOUBLE, ["N"])]
    labels = label_table(model.classes)
    kinds: dict[str, tuple[int, Any]] = {
        "b": (TensorProto.BOOL, np.bool_),
        "i": (TensorProto.INT64, np.int64),
        "f": (TensorProto.DOUBLE, np.float64),
        "U": (TensorProto.STRING, np.object_),
    }
    if labels.dtype.kind not in kinds:
        raise ValueError(f"Classes of type {labels.dtype} cannot be written as ONNX: use strings or numbers.")
    kind, array = kinds[labels.dtype.kind]
    graph.node("Identity", scores, name="scores")
    graph.node("Gather", labels.astype(array), graph.node("ArgMax", scores, axis=1, keepdims=0), name="label")
    outputs: list[tuple[str, int, list[Any]]] = [("label", kind, ["N"]), ("scores", TensorProto.DOUBLE, ["N", m])]
    if isinstance(model.loss, CrossEntropy):
        one = model.loss.scores(tensor(1.0), {k: v.cpu() for k, v in within("loss", model.omega).items()})
        graph.node("Softmax", graph.node("Mul", scores, one), axis=1, name="probabilities")
        outputs.append(("probabilities", TensorProto.DOUBLE, ["N", m]))
    return outputs


def _features(graph: _Graph, x: str, featurizer: Featurizer, state: State, omega: Omega, where: str = "") -> str:
    """Add φ(x; ω) and return its name."""
    if isinstance(featurizer, Concat | Chain):
        parts = []
        for name, member in featurizer.members.items():
            made = _features(graph, x, member, within(name, state), within(name, omega), f"{where}.{name}".strip("."))
            parts.append(made)
            x = made if isinstance(featurizer, Chain) else x
        return x if isinstance(featurizer, Chain) else graph.node("Concat", *parts, axis=1)
    make = _KNOWN.get(type(featurizer))
    if make is None:
        raise ValueError(
            f"Block {where!r} is {featurizer!r}, which has no form in plain ONNX operations: leave it out of the "
            f"featurizer, or use FittedModel.save. Known are {', '.join(sorted(kind.__name__ for kind in _KNOWN))}, "
            "and Chain and Concat of them."
        )
    return make(graph, x, featurizer, state, omega)


def _identity(graph: _Graph, x: str, featurizer: Any, state: State, omega: Omega) -> str:
    return x


def _constant(graph: _Graph, x: str, featurizer: Any, state: State, omega: Omega) -> str:
    rows = graph.node("Shape", x, start=0, end=1)
    return graph.node("Expand", np.ones((1, 1)), graph.node("Concat", rows, np.array([1]), axis=0))


def _scale(graph: _Graph, x: str, featurizer: Any, state: State, omega: Omega) -> str:
    values = omega if featurizer.tuned else state
    return graph.node("Mul", graph.node("Sub", x, values["shift"]), values["log_scale"].exp())


def _power(graph: _Graph, x: str, featurizer: Any, state: State, omega: Omega) -> str:
    z = graph.node("Sub", x, omega["centre"])
    return graph.node("Mul", graph.node("Sign", z), graph.node("Pow", graph.node("Abs", z), omega["exponent"]))


def _select(graph: _Graph, x: str, featurizer: Any, state: State, omega: Omega) -> str:
    return graph.node("Mul", x, omega["mask"])


def _low_rank(graph: _Graph, x: str, featurizer: Any, state: State, omega: Omega) -> str:
    return graph.node("MatMul", x, omega["T"])


def _archetypes(graph: _Graph, x: str, featurizer: Any, state: State, omega: Omega) -> str:
    # ‖x‖² − 2 xᵀc + ‖c‖² about the mean of the centres, as the featurizer computes it
    origin = state["archetypes"].mean(0)
    centres = state["archetypes"] - origin
    rows = graph.node("Sub", x, origin)
    own = graph.node("ReduceSum", graph.node("Mul", rows, rows), np.array([1]), keepdims=1)
    crossed = graph.node("MatMul", rows, -2 * centres.mT)
    squares = graph.node("Add", graph.node("Add", own, crossed), centres.square().sum(1))
    squares = graph.node("Max", squares, np.array(0.0))
    if featurizer.kernel == "gaussian":
        return graph.node("Exp", graph.node("Mul", squares, -0.5 * (-2 * omega["log_scale"]).exp()))
    distances = graph.node("Mul", graph.node("Sqrt", squares), -(-omega["log_scale"]).exp())
    return graph.node("Softmax", distances, axis=1)


_Maker = Callable[[_Graph, str, Any, State, Omega], str]
_KNOWN: dict[type[Featurizer], _Maker] = {
    Constant: _constant,
    Identity: _identity,
    KMeansArchetypes: _archetypes,
    LowRank: _low_rank,
    PowerTransform: _power,
    Scale: _scale,
    SelectFeatures: _select,
}
