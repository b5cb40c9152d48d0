"""The scikit-learn faces: they agree with scikit-learn's own, fit its tools, and say what is wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lsat_explorer as lsat
from lsat_explorer.estimators import usual

LINEAR = lsat.Concat(features=lsat.Scale(tuned=False), one=lsat.Constant())
DIAGONAL = lsat.Recipe(regularizer=lsat.Diagonal(block="features"), criterion=lsat.LeaveOneOut())
POWER = lsat.Recipe(
    featurizer=lsat.Concat(features=lsat.Chain(lsat.Scale(tuned=False), lsat.PowerTransform()), one=lsat.Constant()),
    criterion=lsat.LeaveOneOut(),
    method=lsat.LineSearch(tolerance=4e-3),
)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


def tuned_alpha(model):
    return float((2 * model.run_.omega["regularizer.log_weight"]).exp())


def test_at_the_tuned_weight_the_regressor_is_ridge(diabetes):
    X, y = diabetes
    model = lsat.TunedLeastSquaresRegressor().fit(X, y)
    scaler = StandardScaler().fit(X)
    ridge = Ridge(tuned_alpha(model)).fit(scaler.transform(X), y)
    slopes = ridge.coef_ / scaler.scale_
    np.testing.assert_allclose(model.coef_, slopes, rtol=1e-8)
    assert model.intercept_ == pytest.approx(ridge.intercept_ - slopes @ scaler.mean_, rel=1e-8)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-8)


def test_among_the_same_weights_it_chooses_as_ridgecv(diabetes):
    X, y = diabetes
    grid = lsat.Grid(-3.0, 3.0, points=13)  # its start, 0, is one of them
    model = lsat.TunedLeastSquaresRegressor(lsat.Recipe(criterion=lsat.LeaveOneOut(), method=grid)).fit(X, y)
    theirs = RidgeCV(np.exp(2 * np.linspace(-3.0, 3.0, 13))).fit(StandardScaler().fit_transform(X), y)
    assert tuned_alpha(model) == pytest.approx(theirs.alpha_)
    assert model.run_.kept.loss == pytest.approx(-theirs.best_score_)


def test_with_several_outputs_shapes_and_numbers_are_those_of_ridge(diabetes):
    X, y = diabetes
    Y = np.stack([y, -2 * y, np.sin(y)], 1)
    model = lsat.TunedLeastSquaresRegressor().fit(X, Y)
    ridge = make_pipeline(StandardScaler(), Ridge(tuned_alpha(model))).fit(X, Y)
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 10), (3,))
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), rtol=1e-8)
    assert lsat.TunedLeastSquaresRegressor().fit(X, y[:, None]).predict(X[:3]).shape == (3, 1)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6])
def test_the_units_of_the_targets_do_not_matter(scale, diabetes):
    X, y = diabetes
    one, other = lsat.TunedLeastSquaresRegressor().fit(X, y), lsat.TunedLeastSquaresRegressor().fit(X, scale * y)
    assert tuned_alpha(other) == pytest.approx(tuned_alpha(one), rel=1e-4)
    np.testing.assert_allclose(other.predict(X), scale * one.predict(X), rtol=1e-5)


@pytest.mark.parametrize(
    "recipe", [None, lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge(), criterion=lsat.LeaveOneOut())]
)
def test_a_weight_is_a_row_repeated(recipe, diabetes):
    X, y = diabetes[0][:60], diabetes[1][:60]
    counts = np.random.default_rng(0).integers(0, 4, 60)
    weighted = lsat.TunedLeastSquaresRegressor(recipe).fit(X, y, sample_weight=counts)
    repeated = lsat.TunedLeastSquaresRegressor(recipe).fit(X.repeat(counts, 0), y.repeat(counts))
    assert weighted.run_.kept.loss == pytest.approx(repeated.run_.kept.loss)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    assert not np.allclose(weighted.predict(X), lsat.TunedLeastSquaresRegressor(recipe).fit(X, y).predict(X), rtol=1e-3)


def test_weights_multiply_those_of_the_recipe_and_count_where_rows_are_held_out(wine):
    X, y = wine
    counts = np.where(y == 0, 3.0, 1.0)
    ours = lsat.Recipe(data_weights=lsat.GroupWeights(), criterion=lsat.KFold(4))
    run = lsat.TunedLeastSquaresClassifier(ours).fit(X, y, sample_weight=counts).run_
    groups = np.exp(2 * run.omega["data_weights.log_weight"].numpy())[y]
    np.testing.assert_allclose(run.weights(), counts * groups)

    held = lsat.TunedLeastSquaresClassifier(validation=0.3).fit(X, y, sample_weight=counts)
    split = held.run_.data.validation
    proba = held.predict_proba(X.iloc[split.rows])
    losses = -np.log(proba[np.arange(len(split)), split.labels])
    assert held.run_.kept.loss == pytest.approx(np.average(losses, weights=counts[split.rows]))


def test_k_fold_counts_each_scored_row_by_its_own_weight(diabetes):
    X, y = diabetes[0][:80], diabetes[1][:80]
    counts = np.random.default_rng(1).uniform(0.5, 3, 80)
    recipe = lsat.Recipe(criterion=lsat.KFold(4), method=lsat.LBFGS(max_iterations=0))
    with pytest.warns(ConvergenceWarning):
        model = lsat.TunedLeastSquaresRegressor(recipe).fit(X, y, sample_weight=counts)
    scaler, squares = StandardScaler().fit(X), np.empty(80)
    for train, test in KFold(4, shuffle=True, random_state=0).split(X):
        ridge = Ridge(1.0).fit(scaler.transform(X[train]), y[train], sample_weight=counts[train])
        squares[test] = (ridge.predict(scaler.transform(X[test])) - y[test]) ** 2
    assert model.run_.kept.loss == pytest.approx(np.average(squares, weights=counts))


def test_two_classes_have_one_log_odds_and_three_have_three():
    X, y = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])[y]
    two = lsat.TunedLeastSquaresClassifier().fit(X, names)
    odds = two.decision_function(X)
    assert odds.shape == (len(X),)
    assert two.classes_.tolist() == ["benign", "malignant"]
    np.testing.assert_array_equal(two.predict(X), two.classes_[(odds > 0).astype(int)])
    np.testing.assert_allclose(two.predict_proba(X)[:, 1], expit(odds))
    np.testing.assert_allclose(X @ two.coef_[0] + two.intercept_, odds, rtol=1e-6, atol=1e-8)
    assert (two.coef_.shape, two.intercept_.shape) == ((1, 30), (1,))
    np.testing.assert_allclose(two.predict_proba(X), two.model_.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(np.exp(two.predict_log_proba(X)), two.predict_proba(X), atol=1e-12)

    X, y = load_wine(return_X_y=True)
    three = lsat.TunedLeastSquaresClassifier().fit(X, y)
    np.testing.assert_allclose(three.predict_proba(X), softmax(three.decision_function(X), 1))
    np.testing.assert_allclose(X @ three.coef_.T + three.intercept_, three.decision_function(X), rtol=1e-6, atol=1e-7)


def test_a_table_with_names_keeps_them_and_its_rows(wine):
    X, y = wine
    X = X.set_index(np.array([f"bottle {i}" for i in range(len(X))]))
    names = y.map({0: "red", 1: "white", 2: "rosé"}).to_numpy()
    weights = np.ones(len(X))
    weights[0] = 0
    model = lsat.TunedLeastSquaresClassifier().fit(X, names, sample_weight=weights)
    assert model.feature_names_in_.tolist() == list(model.run_.data.feature_names) == list(X.columns)
    assert model.run_.data.train.rows[0] == "bottle 1"
    assert model.run_.data.classes == ("red", "rosé", "white")
    doubt = lsat.explain.label_doubt(lsat.TunedLeastSquaresClassifier(validation=50).fit(X, names).run_.model)
    assert set(doubt.index) <= set(X.index)


def test_many_rows_are_judged_by_some_held_out_that_join_the_last_fit(diabetes, monkeypatch):
    X, y = diabetes
    assert lsat.TunedLeastSquaresRegressor().fit(X, y).recipe_.criterion == lsat.LeaveOneOut()
    monkeypatch.setattr(usual, "MOST_LEFT_OUT", 441)
    model = lsat.TunedLeastSquaresRegressor(random_state=3).fit(X, y)
    data = model.run_.data
    assert model.recipe_.criterion == lsat.HeldOut()
    assert len(data.validation) == 110
    assert sorted([*data.train.rows, *data.validation.rows]) == list(range(442))
    scaler = StandardScaler().fit(data.train.inputs)
    ridge = Ridge(tuned_alpha(model)).fit(scaler.transform(X), y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(scaler.transform(X)), rtol=1e-8)
    other = lsat.TunedLeastSquaresRegressor(random_state=4).fit(X, y)
    assert set(other.run_.data.validation.rows) != set(data.validation.rows)


def test_a_fold_never_sees_its_test_rows(diabetes):
    X, y = diabetes
    folds = list(KFold(3).split(X))
    plain = cross_val_score(lsat.TunedLeastSquaresRegressor(POWER), X, y, cv=folds, error_score="raise")
    for fold, (train, test) in enumerate(folds):
        spoiled_X, spoiled_y = X.copy(), y.copy()
        spoiled_X[test], spoiled_y[test] = 1e6, -1e6
        model = lsat.TunedLeastSquaresRegressor(POWER).fit(spoiled_X[train], spoiled_y[train])
        assert set(model.run_.data.train.rows) == set(range(len(train)))
        assert model.score(X[test], y[test]) == plain[fold]


def test_a_grid_search_goes_over_recipes_and_over_their_choices(diabetes):
    X, y = diabetes
    search = GridSearchCV(
        make_pipeline(StandardScaler(), lsat.TunedLeastSquaresRegressor(lsat.Recipe(criterion=lsat.LeaveOneOut()))),
        {
            "tunedleastsquaresregressor__recipe__featurizer": [LINEAR],
            "tunedleastsquaresregressor__recipe__regularizer": [lsat.Ridge(), lsat.Ridge(block="features")],
        },
        error_score="raise",
        cv=3,
    ).fit(X, y)
    assert search.best_params_["tunedleastsquaresregressor__recipe__regularizer"] == lsat.Ridge(block="features")
    assert search.best_estimator_[-1].recipe.criterion == lsat.LeaveOneOut()
    whole = GridSearchCV(lsat.TunedLeastSquaresRegressor(), {"recipe": [None, DIAGONAL]}, cv=3).fit(X, y)
    assert whole.best_params_["recipe"] in (None, DIAGONAL)


def test_weights_are_routed_through_a_search(diabetes):
    X, y = diabetes[0][:90], diabetes[1][:90]
    weights = np.random.default_rng(0).uniform(0.5, 2, 90)
    with sklearn.config_context(enable_metadata_routing=True):
        ours = lsat.TunedLeastSquaresRegressor().set_fit_request(sample_weight=True)
        ours.set_score_request(sample_weight=False)
        search = GridSearchCV(ours, {"validation": [None, 0.3]}, cv=2, error_score="raise").fit(
            X, y, sample_weight=weights
        )
    same = clone(search.best_estimator_).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.predict(X), same.predict(X))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array])
def test_a_sparse_table_is_fitted_as_a_dense_one(diabetes, form):
    X, y = diabetes
    dense, thin = (lsat.TunedLeastSquaresRegressor().fit(x, y) for x in (X, form(X)))
    np.testing.assert_allclose(thin.predict(form(X)), dense.predict(X), rtol=1e-9)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-6, atol=1e-6)
    again = pickle.loads(pickle.dumps(thin))
    np.testing.assert_array_equal(again.predict(form(X)), thin.predict(form(X)))


def test_a_pickle_holds_the_fit_and_no_rows(diabetes):
    X, y = diabetes
    model = lsat.TunedLeastSquaresRegressor(POWER).fit(X, y)
    text = pickle.dumps(model)
    again = pickle.loads(text)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.recipe == POWER
    assert len(text) < X.nbytes
    with pytest.raises(ValueError, match=r"no rows and no run: call fit\(X, y\) again"):
        again.explore()
    assert model.run_.data is not None


def test_there_are_coefficients_where_features_are_linear(diabetes):
    X, y = diabetes
    power = lsat.TunedLeastSquaresRegressor(POWER).fit(X, y)
    assert not hasattr(power, "coef_")
    with pytest.raises(AttributeError, match=r"PowerTransform.*not linear in the columns of X.*model_\.theta"):
        _ = power.coef_
    with pytest.raises(AttributeError, match=r"not fitted: call fit"):
        _ = lsat.TunedLeastSquaresRegressor().coef_
    chain = lsat.Concat(
        features=lsat.Chain(lsat.Scale(tuned=False), lsat.SelectFeatures(0.5), lsat.LowRank(3)), one=lsat.Constant()
    )
    mask = {"featurizer.features.low_rank.T": lsat.Frozen(), "featurizer.features.select_features.mask": lsat.Frozen()}
    recipe = lsat.Recipe(featurizer=chain, criterion=lsat.LeaveOneOut(), hyper_penalties=mask)
    linear = lsat.TunedLeastSquaresRegressor(recipe).fit(X, y)
    np.testing.assert_allclose(X @ linear.coef_ + linear.intercept_, linear.predict(X), rtol=1e-8)
    alone = lsat.Recipe(featurizer=lsat.Constant(), regularizer=lsat.Ridge(), criterion=lsat.LeaveOneOut())
    np.testing.assert_array_equal(lsat.TunedLeastSquaresRegressor(alone).fit(X, y).coef_, np.zeros(10))


def test_only_log_odds_give_probabilities(wine):
    X, y = wine
    squares = lsat.TunedLeastSquaresClassifier(lsat.Recipe(loss=lsat.SquaredError(), criterion=lsat.GCV())).fit(X, y)
    assert not hasattr(squares, "predict_proba")
    assert squares.score(X, y) > 0.95
    with pytest.raises(AttributeError, match="predict_proba"):
        squares.predict_proba(X)


REFUSED = {
    "no recipe": ({"recipe": "ridge"}, r"recipe is 'ridge', expected None or a Recipe: pass recipe=lsat\.Recipe"),
    "two criteria": ({"recipe": DIAGONAL, "validation": 0.2}, r"validation is 0\.2, but LeaveOneOut\(\) holds no rows"),
    "test rows": ({"recipe": lsat.Recipe(early_stopping=lsat.EarlyStopping())}, r"early_stopping needs test rows"),
    "a share": ({"validation": 1.5}, r"validation is 1\.5, expected a share between 0 and 1"),
    "classes": ({"recipe": lsat.Recipe(loss=lsat.CrossEntropy())}, r"CrossEntropy\(\) needs classes"),
}


@pytest.mark.parametrize(("parameters", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_in_fit(parameters, sentence, diabetes):
    model = lsat.TunedLeastSquaresRegressor(**parameters)
    with pytest.raises(ValueError, match=sentence):
        model.fit(*diabetes)


@pytest.mark.parametrize("kind", [list, np.array, lambda y: np.array(y, object)], ids=["list", "texts", "objects"])
def test_classes_are_no_numbers_to_predict(kind, diabetes):
    y = kind(["ill", "well"] * 30)
    with pytest.raises(ValueError, match=r"y has 'ill' at position 0, .* or fit a TunedLeastSquaresClassifier to cl"):
        lsat.TunedLeastSquaresRegressor().fit(diabetes[0][:60], y)
    assert lsat.TunedLeastSquaresClassifier().fit(diabetes[0][:60], y).classes_.tolist() == ["ill", "well"]


def test_what_is_not_there_is_refused(diabetes, wine):
    X, y = diabetes
    with pytest.raises(ValueError, match=r"recipe__losses names no choice of a recipe, expected one of featurizer"):
        lsat.TunedLeastSquaresRegressor(DIAGONAL).set_params(recipe__losses=lsat.Huber())
    with pytest.raises(ValueError, match=r"recipe is None: pass recipe=lsat\.Recipe\(\)"):
        lsat.TunedLeastSquaresRegressor().set_params(recipe__loss=lsat.Huber())
    with pytest.raises(ValueError, match="sample_weight leaves 1 of 442 samples"):
        lsat.TunedLeastSquaresRegressor().fit(X, y, sample_weight=np.eye(442)[0])
    with pytest.raises(ValueError, match=r"one class 1, expected at least two"):
        lsat.TunedLeastSquaresClassifier().fit(wine[0], np.ones(len(wine[0]), int))
    with pytest.raises(NotFittedError):
        lsat.TunedLeastSquaresClassifier().explore()


def test_a_run_that_ends_too_soon_warns(diabetes):
    recipe = lsat.Recipe(criterion=lsat.LeaveOneOut(), method=lsat.LBFGS(max_iterations=1))
    with pytest.warns(ConvergenceWarning, match="raise max_iterations"):
        model = lsat.TunedLeastSquaresRegressor(recipe).fit(*diabetes)
    assert model.n_iter_ == 1
    assert "raise max_iterations of the recipe&#x27;s method and fit again" in model._repr_html_()


@pytest.mark.parametrize("hidden", ["X", "y", "sample_weight"])
@pytest.mark.parametrize("estimator", [lsat.TunedLeastSquaresRegressor, lsat.TunedLeastSquaresClassifier])
def test_what_a_mask_hides_is_not_fitted(estimator, hidden, wine):
    X, y = (part.to_numpy() for part in wine)
    given = {"X": X, "y": y, "sample_weight": np.ones(len(y))}
    open_ones = {name: np.ma.masked_array(part, mask=np.zeros(part.shape)) for name, part in given.items()}
    first = np.zeros(given[hidden].shape, dtype=bool)
    first[2] = True
    model = estimator(lsat.Recipe(method=lsat.LBFGS(max_iterations=2)))
    with pytest.raises(ValueError, match=rf"^{hidden} .*row 2"):
        model.fit(**{**given, hidden: np.ma.masked_array(given[hidden], mask=first)})
    with pytest.warns(ConvergenceWarning):
        found = model.fit(**open_ones).predict(open_ones["X"])
    with pytest.warns(ConvergenceWarning):
        np.testing.assert_array_equal(found, model.fit(**given).predict(X))
    if hidden == "X":
        with pytest.raises(ValueError, match=r"^X .*row 2"):
            model.predict(np.ma.masked_array(X, mask=first))
