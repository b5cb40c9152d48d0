"""Which validation rows a training row moves: the other side of attribution."""

from __future__ import annotations

import numpy as np
import pytest

import lsat_explorer as lsat
from explained import CASES, CLASSES, EVERY, K, all_models
from lsat_explorer import explain


@pytest.fixture(scope="module")
def models() -> dict[str, lsat.FittedModel]:
    return all_models()


@EVERY
def test_consequences_are_attributions_seen_from_the_other_side(name, models):
    data, _ = CASES[name]
    model = models[name]
    tables = [explain.attribution(model, row) for row in data.validation.rows]
    tolerance = 1e-4 if name == "float32" else 1e-8
    for place in (0, 5, K - 1):  # row 5 weighs nothing in some
        found = explain.consequences(model, data.train.rows[place])
        assert found.index.tolist() == data.validation.rows.tolist()
        for column in ("kernel", "effect"):
            other = [table[column].iloc[place] for table in tables]
            np.testing.assert_allclose(found[column], other, rtol=tolerance, atol=1e-9)
        effect = explain.effect_on_validation(model).effect.iloc[place]
        assert found.effect.mean() == pytest.approx(effect, rel=tolerance, abs=1e-9)


def test_a_row_that_is_no_training_row_is_refused(models):
    row = CLASSES.validation.rows[0]
    with pytest.raises(ValueError, match=f"training_row names row '{row}', which is not among the 60 training rows"):
        explain.consequences(models["classes"], row)
