"""What a person sees of the estimators: the Explorer, and the page of a notebook."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_diabetes, load_wine
from sklearn.pipeline import make_pipeline

import lsat_explorer as lsat

DIAGONAL = lsat.Recipe(regularizer=lsat.Diagonal(block="features"), criterion=lsat.LeaveOneOut())


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


def test_the_explorer_opens_on_the_run_that_fitted(wine):
    X, y = wine
    model = lsat.TunedLeastSquaresClassifier().fit(X, y)
    explorer = model.explore()
    try:
        assert explorer.run is model.run_
        assert explorer.data.describe() == "data · 178 training, 0 validation rows"
        explorer.start()
        explorer.wait(timeout=60)
        assert explorer.run.status.final
    finally:
        explorer.close()


def test_without_the_lab_packages_explore_says_what_to_install(wine, monkeypatch):
    model = lsat.TunedLeastSquaresClassifier().fit(*wine)
    monkeypatch.delitem(lsat.widgets.__dict__, "Explorer", raising=False)
    for name in [name for name in sys.modules if name.startswith("lsat_explorer.widgets.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'lsat_explorer\[lab\]'"):
        model.explore()


def test_a_notebook_shows_the_diagram_the_recipe_and_the_curves(diabetes):
    model = lsat.TunedLeastSquaresRegressor(DIAGONAL)
    before = model._repr_mimebundle_()["text/html"]
    assert "sk-container" in before
    assert "regularizer=lsat.Diagonal(block=&quot;features&quot;)" in before
    assert "data:image/png" not in before
    after = model.fit(*diabetes)._repr_mimebundle_()["text/html"]
    assert after[-2000:] == model._repr_html_()[-2000:]
    assert "sk-container" in after
    assert "data:image/png;base64" in after
    assert f"{model.n_iter_} iterations. Converged" in after
    assert "lsat-estimator" not in lsat.TunedLeastSquaresRegressor()._repr_html_()


class Shout(TransformerMixin, BaseEstimator):
    """A step before, which gives its columns names that a page must not read as marks."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return pd.DataFrame(np.asarray(X), columns=[f"<b>{i}</b>" for i in range(np.shape(X)[1])])


def test_names_that_look_like_marks_stay_text(diabetes):
    X, y = diabetes
    model = make_pipeline(Shout(), lsat.TunedLeastSquaresRegressor()).fit(X, y)
    assert model[-1].feature_names_in_[0] == "<b>0</b>"
    assert "<b>0</b>" not in model._repr_html_() + model[-1]._repr_html_()


def test_what_is_no_recipe_is_shown_as_the_parameter_that_it_is():
    page = lsat.TunedLeastSquaresRegressor(lsat.Ridge())._repr_html_()
    assert "Ridge()" in page
    assert "lsat-estimator" not in page
