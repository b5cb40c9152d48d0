"""A default device of torch is the user's: no number of the package lies there, unless a recipe names it."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils import _device

import lsat_explorer as lsat

FACTORIES = {factory.__name__ for factory in _device._device_constructors()}
RANDOM = np.random.default_rng(0)
PIXELS = RANDOM.uniform(size=(80, 36))
PIXELS[:, :5] = 0.0
CLASSES = (PIXELS @ RANDOM.normal(size=36) > 0).astype(int)
lsat.register_module("halved", lambda d: torch.nn.Linear(d, d // 2))
BLOCKS = lsat.Concat(
    pixels=lsat.Identity(),
    scaled=lsat.Chain(lsat.Scale(), lsat.PowerTransform()),
    archetypes=lsat.KMeansArchetypes(per_class=2),
    patches=lsat.RandomPatches(image_shape=(6, 6), patches=4, size=3),
    spline=lsat.Chain(lsat.LowRank(2), lsat.Spline(knots=2)),
    module=lsat.FromModule("halved"),
    one=lsat.Constant(),
)
STACK = lsat.Stack(
    ridge=lsat.Ridge(block="archetypes"),
    diagonal=lsat.Diagonal(block="pixels"),
    smooth=lsat.Smooth(lsat.graphs.grid(6, 6), block="pixels"),
    **{name: lsat.Ridge(block=name) for name in ("scaled", "patches", "spline", "module")},
)
FEW = lsat.LineSearch(max_iterations=3)
RECIPES = {
    "usual": lsat.Recipe(method=FEW),
    "every block": lsat.Recipe(BLOCKS, STACK, data_weights=lsat.LogWeights(), method=FEW),
    "select": lsat.Recipe(lsat.SelectFeatures(0.5), lsat.Ridge(), method=FEW),
    "groups": lsat.Recipe(data_weights=lsat.GroupWeights(), method=lsat.LBFGS(max_iterations=3)),
    "temperature": lsat.Recipe(loss=lsat.CrossEntropy(temperature=True), method=lsat.MultiStart(FEW, starts=2)),
    "k-fold": lsat.Recipe(criterion=lsat.KFold(3), method=lsat.Grid(points=3)),
    "leave-one-out": lsat.Recipe(loss=lsat.Huber(0.5), criterion=lsat.LeaveOneOut(), method=FEW),
    "gcv": lsat.Recipe(loss=lsat.SquaredError(), criterion=lsat.GCV(), method=FEW),
    "chunks": lsat.Recipe(BLOCKS, STACK, data_weights=lsat.LogWeights(), method=FEW, engine=lsat.Chunks(rows=16)),
    "chunks, leave-one-out": lsat.Recipe(criterion=lsat.LeaveOneOut(), method=FEW, engine=lsat.Chunks(rows=16)),
    "early": lsat.Recipe(early_stopping=lsat.EarlyStopping(), method=FEW),
}


@pytest.fixture
def elsewhere():
    """Tensors that name no device hold no numbers, so that any use of them fails."""
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


def everything(recipe: lsat.Recipe, folder: Path, sparse: bool = False) -> list[np.ndarray]:
    """Tune, save, read and explain; return the numbers that came of it."""
    from scipy.sparse import csr_array

    X = csr_array(PIXELS) if sparse else PIXELS
    data = lsat.Data.from_arrays(X, CLASSES, validation=0.3, test=0.2, seed=1)
    run = lsat.tune(recipe, data, progress=False, checkpoint=folder / "kept")
    run.save(folder / "run")
    again = lsat.Run.load(folder / "run", data)
    for _ in again.steps():
        pass
    model = lsat.FittedModel.load(folder / "run" / "model.safetensors")
    numbers = [again.history()["loss"].to_numpy(), model.decision_function(X), np.array(run.kept.error)]
    if not sparse:
        explained = lsat.explain.overview(run.model, data=data)
        pushed = lsat.explain.attribution(run.model, data.validation.rows[0], data=data)
        numbers += [table.select_dtypes("number").to_numpy() for table in (explained, pushed)]
        given = {"drop": data.train.rows[:2], "relabel": {data.train.rows[2]: 0}}
        numbers.append(np.array(lsat.explain.what_if(run.model, **given, data=data).after.loss))
    return [np.asarray(one, dtype=float) for one in numbers]


@pytest.mark.parametrize("name", RECIPES)
def test_a_default_device_changes_no_number(name, elsewhere, tmp_path):
    found = everything(RECIPES[name], tmp_path / "a")
    torch.set_default_device(None)
    for one, other in zip(found, everything(RECIPES[name], tmp_path / "b"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_default_device_changes_no_number_of_sparse_rows(elsewhere, tmp_path):
    recipe = lsat.Recipe(method=FEW)
    found = everything(recipe, tmp_path / "a", sparse=True)
    torch.set_default_device(None)
    for one, other in zip(found, everything(recipe, tmp_path / "b", sparse=True), strict=True):
        np.testing.assert_array_equal(one, other)


def test_solves_take_the_device_of_their_matrices(elsewhere):
    A, B = (torch.from_numpy(RANDOM.normal(size=shape)) for shape in ((12, 3), (12, 2)))
    expected = np.linalg.lstsq(A.numpy(), B.numpy(), rcond=None)[0]
    for solver in (lsat.Cholesky(), lsat.QR(), lsat.LSMR(), lsat.CG()):
        given = A if isinstance(solver, lsat.Cholesky | lsat.QR) else A.to_sparse_csr()
        np.testing.assert_allclose(lsat.least_squares(given, B, solver=solver).numpy(), expected, atol=1e-8)
    one = torch.from_numpy(np.ones((1, 3)))
    theta, _ = lsat.constrained_least_squares(A, B, one, one[:, :2])
    np.testing.assert_allclose(theta.sum(0).numpy(), 1.0)
    assert lsat.multi_objective([(A, B, 0.1), (one, one[:, :2], 2.0)]).device.type == "cpu"


def test_every_new_tensor_names_its_device():
    package = Path(lsat.__file__).parent
    unnamed = []
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).removeprefix("torch.") in FACTORIES:
                made_by_torch = isinstance(node.func, ast.Attribute)
                if made_by_torch and not {word.arg for word in node.keywords} & {"device", None}:
                    unnamed.append(f"{path.relative_to(package)}:{node.lineno}: {ast.unparse(node)}")
    assert unnamed == []
