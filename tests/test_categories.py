"""Text in tables: numbers that became text by mistake are refused, and a model predicts from the texts of its file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

import lsat_explorer as lsat
from lsat_explorer.data import datasets
from lsat_explorer.data.by_name import in_order

RANDOM = np.random.default_rng(0)
N = 300
TABLE = pd.DataFrame(
    {
        "id": [f"house {row}" for row in range(N)],
        "price": RANDOM.integers(10, 70, N),
        "city": RANDOM.choice(["Bern", "Oslo", "Rome"], N),
        "sold": RANDOM.choice(["no", "yes"], N),
    }
)
QUICK = lsat.LBFGS(max_iterations=2)


def read(tmp_path, frame=TABLE, target="sold", **options):
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return datasets.from_csv(path, target, progress=False, cache=False, **{"index": "id", **options})


def with_prices(entries):
    return TABLE.assign(price=entries)


# --- what is no category ----------------------------------------------------------------------------------------------


def test_one_entry_that_is_no_number_does_not_make_categories_of_numbers(tmp_path):
    spoilt = with_prices(TABLE.price.astype(str).where(TABLE.index != 49, "?"))
    with pytest.raises(
        ValueError, match=r"has 299 numbers and '\?' at row 'house 49' in column 'price', .*categories=\['price'\]"
    ):
        read(tmp_path, spoilt)
    with pytest.raises(ValueError, match=r"'\?' at row 49 in column 'price'"):
        read(tmp_path, spoilt, index=None, drop="id")
    mended = with_prices(TABLE.price.astype(object).where(TABLE.index != 49, None))
    assert read(tmp_path, mended, missing="mean").feature_names == ("price", "city=Bern", "city=Oslo", "city=Rome")


def test_a_target_of_numbers_does_not_become_labels_by_one_entry_that_is_none(tmp_path):
    spoilt = with_prices(TABLE.price.astype(str).where(TABLE.index != 49, "?"))
    with pytest.raises(ValueError, match=r"has 299 numbers and '\?' at row 'house 49' in column 'price'"):
        read(tmp_path, spoilt, "price")
    halves = with_prices(np.where(TABLE.index % 3 == 0, "none", (TABLE.index % 2).astype(str)))
    assert read(tmp_path, halves, "price", categories="price").classes == ("0", "1", "none")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([f"{1 + row % 60 / 2} kg" for row in range(N)], r"has '1.0 kg' and 59 other texts in column 'price', most of"),
        ([f"$ {row % 30}" for row in range(N)], r"has '\$ 0' and 29 other texts in column 'price', most of"),
        ([f"2020-01-{1 + row % 28:02}" for row in range(N)], r"has '2020-01-01' and 27 other texts in column 'price'"),
        ([f"{row % 101} m" for row in range(N)], r"has 101 different texts in column 'price', expected at most 100"),
    ],
    ids=["units", "money", "dates", "many"],
)
def test_quantities_and_dates_are_no_categories_but_where_the_user_says_so(entries, message, tmp_path):
    with pytest.raises(ValueError, match=f"{message}.*" + r"categories=\['price'\]"):
        read(tmp_path, with_prices(entries))
    data = read(tmp_path, with_prices(entries), categories=["price"])
    assert sum(name.startswith("price=") for name in data.feature_names) == len(set(entries))
    assert "categories=['price']" in data.source


def test_texts_of_hardly_two_rows_each_are_no_categories(tmp_path):
    few = TABLE.head(40).assign(city=[f"street {row % 21}" for row in range(40)])
    with pytest.raises(ValueError, match=r"has 21 different texts in 40 rows of column 'city', .*index='city'"):
        read(tmp_path, few)
    few = TABLE.head(40).assign(city=[f"street {row % 20}" for row in range(40)])
    assert len(read(tmp_path, few).feature_names) == 21


def test_classes_of_age_and_of_size_stay_categories(tmp_path):
    entries = RANDOM.choice(["0-17", "18-64", "65+", "unknown"], N)
    assert read(tmp_path, with_prices(entries)).feature_names[:4] == (
        "price=0-17",
        "price=18-64",
        "price=65+",
        "price=unknown",
    )


def test_numbers_are_categories_where_the_user_says_so(tmp_path):
    codes = with_prices(RANDOM.choice([8001, 3000], N))
    data = read(tmp_path, codes, categories="price")
    assert data.feature_names[:2] == ("price=3000", "price=8001")
    holes = with_prices(codes.price.astype(object).where(codes.index != 7, None))  # floats, as pandas reads them
    assert read(tmp_path, holes, categories="price", missing="mean").feature_names[:2] == ("price=3000", "price=8001")
    with pytest.raises(ValueError, match=r"has no column 'prize' for categories="):
        read(tmp_path, codes, categories=["prize"])


def test_codes_that_are_called_categories_keep_their_zeros(tmp_path):
    codes = with_prices(RANDOM.choice(["00", "01", "1"], N))
    data = read(tmp_path, codes, categories="price")
    assert data.feature_names[:3] == ("price=00", "price=01", "price=1")
    model = lsat.tune(lsat.Recipe(method=QUICK), data, progress=False).model
    rows = codes.set_index("id").loc[list(data.train.rows), ["price", "city"]]
    expected = model.decision_function(data.train.inputs)
    np.testing.assert_array_equal(model.decision_function(rows), expected)
    with pytest.raises(ValueError, match="X has '001' at row 'house 4', column 'price', which no row"):
        model.predict(rows.assign(price="001"))
    assert read(tmp_path, codes, "price", categories="price").classes == ("00", "01", "1")


def test_a_number_or_a_flag_is_found_by_another_text_of_it_where_one_alone_is_meant():
    wanted = ["zone=1", "zone=02", "zone=True", "zone=3.0", "zone=003"]
    for given, place in (("01", 0), (1.0, 0), (2, 1), ("true", 2), (True, 2), ("3.0", 3), ("003", 4)):
        made = in_order(["zone"], np.array([[given]], dtype=object), wanted)
        assert made.astype(float).tolist() == [[float(place == column) for column in range(5)]]
    for given in (3, "2", "3", "4", "nan"):
        with pytest.raises(ValueError, match=f"X has '{given}' at row 0, column 'zone', which no row"):
            in_order(["zone"], np.array([[given]], dtype=object), wanted)


# --- a model predicts from what it was fitted to ----------------------------------------------------------------------

FRAMES = {
    "pandas": lambda frame: frame,
    "categorical": lambda frame: frame.astype({"city": "category"}),
    "pandas on pyarrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": polars.from_pandas,
    "pyarrow": lambda frame: pyarrow.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("made", FRAMES.values(), ids=FRAMES)
def test_a_model_predicts_the_rows_of_its_file_from_their_texts(made, tmp_path):
    frame = TABLE.assign(
        city=TABLE.city.where(TABLE.index % 9 != 0, None), code=[True, None, False] * (N // 3), zone=[1, 2] * (N // 2)
    )
    data = read(tmp_path, frame, missing="median", categories="zone")
    assert data.feature_names[4:] == ("code=False", "code=True", "zone=1", "zone=2")
    run = lsat.tune(lsat.Recipe(method=QUICK), data, progress=False)
    run.model.save(tmp_path / "model.safetensors")
    model = lsat.FittedModel.load(tmp_path / "model.safetensors")
    rows = frame.set_index("id").loc[list(data.train.rows)].drop(columns="sold").reset_index(drop=True)
    expected = run.model.decision_function(data.train.inputs)
    np.testing.assert_array_equal(model.decision_function(made(rows)), expected)
    np.testing.assert_array_equal(model.decision_function(made(rows[["zone", "code", "city", "price"]])), expected)
    # a part that is coded already is taken as it is
    coded = {f"code={value}": (rows.code == value).where(rows.code.notna()).astype(float) for value in (False, True)}
    dummies = rows.drop(columns="code").assign(**coded)
    np.testing.assert_array_equal(model.decision_function(dummies), expected)


def test_a_text_that_the_model_does_not_know_and_a_missing_one_are_refused_by_their_row(tmp_path):
    model = lsat.tune(lsat.Recipe(method=QUICK), read(tmp_path), progress=False).model
    rows = TABLE[["price", "city"]]
    with pytest.raises(ValueError, match=r"X has 'Paris' at row 3, column 'city', .* one of 'Bern', 'Oslo', 'Rome'"):
        model.predict(rows.assign(city=rows.city.where(rows.index != 3, "Paris")))
    with pytest.raises(ValueError, match=r"X has 'Paris' at row 'house 3', column 'city'"):
        model.predict(rows.assign(city=rows.city.where(rows.index != 3, "Paris")).set_axis(TABLE["id"]))
    with pytest.raises(ValueError, match=r"X holds nan in row 3, column 'city=Bern'"):
        model.predict(rows.assign(city=rows.city.where(rows.index != 3, None)))
    own = r": give the columns 'price', 'city' by name\."
    with pytest.raises(ValueError, match=rf"lacks column 'city' of text, or 'city=Bern'{own}"):
        model.predict(rows[["price"]])
    with pytest.raises(ValueError, match=rf"lacks column 'price'{own}"):
        model.predict(rows[["city"]])
    with pytest.raises(ValueError, match=r"has the unknown column 'town'"):
        model.predict(rows.assign(town="Bern"))
    coded = {f"city={name}": (rows.city == name).astype(float) for name in ("Bern", "Oslo")}
    with pytest.raises(ValueError, match=r"lacks column 'city=Rome': give the columns 'price', 'city=Bern', "):
        model.predict(rows[["price"]].assign(**coded))


def test_columns_are_matched_by_name_and_a_name_twice_is_refused():
    entries = np.array([["b=c", 1.0], [None, 2.0]], dtype=object)
    np.testing.assert_array_equal(
        in_order(["a", "w"], entries, ["w", "a=b=c", "a=d"]).astype(float), [[1, 1, 0], [2, np.nan, np.nan]]
    )
    longest = in_order(["a=b", "a"], np.array([["c", "d"]], dtype=object), ["a=b=c", "a=d"])
    assert longest.tolist() == [[1.0, 1.0]]
    numbers = np.arange(6.0).reshape(2, 3)
    assert in_order(["a", "a", "w"], numbers, ["a", "a", "w"]) is numbers
    with pytest.raises(ValueError, match="has the column 'a' twice"):
        in_order(["w", "a", "a"], numbers, ["a", "a", "w"])
