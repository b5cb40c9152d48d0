"""Small arrays and what is done with them, for the tests of data."""

from __future__ import annotations

import numpy as np

from lsat_explorer.data import Data

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(40, 3)
Y = np.repeat([0, 1], 20)
TARGETS = RANDOM.randn(40)


def of(inputs, outcomes, **options):
    return Data.from_arrays(inputs, outcomes, **options)


def parts(data):
    return [split for split in (data.train, data.validation, data.test, data.final) if split is not None]


def final_of(inputs, outcomes):
    """Sound splits, and these rows as the final one."""
    return Data.from_splits((X, TARGETS), (X, TARGETS), final=(inputs, outcomes))


def sentence(error):
    """The message, which must be one line and one sentence."""
    text = str(error.value)
    assert "\n" not in text
    assert ". " not in text
    assert len(text) < 300
    return text
