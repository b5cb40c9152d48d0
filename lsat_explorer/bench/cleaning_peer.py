"""Cleanlab on the features of a fit, with scikit-learn's logistic regression by five folds.

Its C is the best on the clean validation rows, as the ridge weights of ours are.
"""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from lsat_explorer.data import Data, Split
from lsat_explorer.model.piece import within
from lsat_explorer.tune import FittedModel

__all__ = ["cleanlab_flags"]


_STRENGTHS = (0.001, 0.01, 0.1, 1.0)
_ITERATIONS = 100


@lru_cache(maxsize=1)
def cleanlab_flags(model: FittedModel, data: Data) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the training rows that cleanlab flags (k,), and how suspect each is to it (k,), larger for more."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    features, judged = _features(model, data.train), _features(model, data.validation)
    codes, right = (split.targets.argmax(1).numpy() for split in (data.train, data.validation))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that did not converge in so many iterations
        tried = [LogisticRegression(C=C, max_iter=_ITERATIONS).fit(features, codes) for C in _STRENGTHS]
        best = max(tried, key=lambda classifier: classifier.score(judged, right))
        shares = cross_val_predict(best, features, codes, cv=5, method="predict_proba")
        flagged = find_label_issues(codes, shares, n_jobs=1)
        quality = get_label_quality_scores(codes, shares)
    return np.asarray(flagged, dtype=bool), 1 - np.asarray(quality, dtype=np.float64)


def _features(model: FittedModel, split: Split) -> NDArray[np.float64]:
    with torch.no_grad():
        blocks = model.prepared.blocks(within("featurizer", model.omega), split.inputs.double())
    return torch.cat(list(blocks.values()), 1).numpy()
