"""The report of a run: one page that stands alone, holds everything, and takes every name for text."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import lsat_explorer as lsat
from lsat_explorer.plots.words import weight_places, weight_text
from lsat_explorer.report import Report, report_of
from lsat_explorer.report.words import listed

QUICK = lsat.ProximalGradient(max_iterations=12)
EVIL = "<script>alert(1)</script>"
WEIGHTED = {
    "data_weights": lsat.LogWeights(),
    "hyper_penalties": {"data_weights.log_weight": lsat.SumSquares(1e-3) + lsat.ZeroSum()},
}


class Page(HTMLParser):
    """What a browser makes of a page: its tags with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data.replace("\xa0", " ")

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def pictures(self) -> list[Image.Image]:
        start = "data:image/png;base64,"
        sources = [str(image["src"]) for image in self.all("img")]
        assert all(source.startswith(start) for source in sources)
        return [Image.open(io.BytesIO(base64.b64decode(source.removeprefix(start)))) for source in sources]


@pytest.fixture(scope="module")
def run(digits):
    return lsat.tune(lsat.Recipe(loss=lsat.CrossEntropy(), seed=3, method=QUICK, **WEIGHTED), digits, progress=False)


@pytest.fixture(scope="module")
def report(run):
    return run.report(name="the ridge")


@pytest.fixture(scope="module")
def saved(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "a run"
    run.save(folder)
    return folder


def test_the_page_holds_everything_that_there_is_to_see(run, report, saved):
    page = Page(report.html)
    last, about = run.iterates[-1], json.loads((saved / "run.json").read_text())
    weights = run.weights()
    order = weights.argsort(kind="stable")
    expected = [
        "the ridge",
        run.data.describe(),
        run.message,
        f"to {last.loss:.4f}",
        f"to {100 * last.error:.1f} %",
        "12 iterations",
        "not been looked at",
        f"{run.omega['regularizer.log_weight']:.4g}",
        f"898 values, {run.omega['data_weights.log_weight'].min():.4g} to",
        f"From {weights.min():.4g} to {weights.max():.4g} over 898 rows.",
        f"{weight_text(weights[order[-1]], weight_places(weights))} {run.data.train.rows[order[-1]]}",
        f"{last.step:.3g}",
        run.recipe.to_source(),
        run.recipe.to_json(),
        about["data"]["sha256"],
        *about["versions"].values(),
    ]
    assert [words for words in expected if words not in page.text] == []
    assert {"seed3", "devicecpu"} <= set(page.text.replace("\n", " ").split())
    sizes = [picture.size for picture in page.pictures()]
    assert sizes[2:] == [(8, 8)] * 20  # after the curves and the histogram
    assert all(width > 1000 for width, _ in sizes[:2])
    assert len(page.all("tr")) == 1 + 2 + 1 + 13  # each table has a line of headings
    assert all(image["alt"] for image in page.all("img"))


def test_the_page_loads_nothing_and_runs_nothing(report):
    page = Page(report.html)
    assert {tag for tag, _ in page.tags} & {"script", "iframe", "link", "object", "embed", "base", "form"} == set()
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert "url(" not in report.html
    assert "prefers-color-scheme: dark" in report.html
    assert "@media print" in report.html


def hostile() -> lsat.Run:
    """A run whose every name tries to be a tag."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 3))
    labels = np.where(X[:, 0] > 0, EVIL, "<img src=x onerror=alert(2)>")
    rows = [f'"><script>row {i}</script>' for i in range(60)]
    names = [EVIL, "<b>bold</b>", "</td></table>"]
    data = lsat.Data.from_arrays(X, labels, rows=rows, feature_names=names, name=f"</title>{EVIL}", seed=1)
    groups = [f"</pre>{EVIL}" if i % 2 else "'\"&amp;" for i in range(len(data.train))]
    return lsat.tune(lsat.Recipe(data_weights=lsat.GroupWeights(groups), method=QUICK), data, progress=False)


def test_every_name_is_text():
    plain = lsat.Data.from_arrays(np.eye(4), [0, 1, 0, 1], validation=0.5, test=None)
    calm = Page(lsat.tune(lsat.Recipe(method=QUICK), plain, progress=False).report().html)
    run = hostile()
    page = Page(run.report(name=f'"{EVIL}').html)
    known = {tag for tag, _ in calm.tags} | {"img"}
    assert {tag for tag, _ in page.tags} <= known
    assert [a for _, attributes in page.tags for a in attributes if a.startswith("on")] == []
    assert all(str(image["src"]).startswith("data:image/png;base64,") for image in page.all("img"))
    labels = {str(label) for label in run.data.train.labels}
    shown = [f'"{EVIL}', f"</title>{EVIL}", run.recipe.to_source(), run.recipe.to_json(), *labels]
    assert [name for name in shown if name not in page.text] == []
    assert '"><script>row ' in page.text
    assert len(page.all("title")) == 1


def test_names_that_are_not_even_characters_are_written(run, tmp_path):
    run.report(tmp_path / "page.html", name="half \ud800 a pair")
    assert "half &#55296; a pair" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_run_without_its_rows_shows_what_its_files_hold(run, report, saved, digits):
    page = Page(lsat.Run.load(saved).report().html)
    assert len(page.pictures()) == 2
    assert run.message in page.text
    assert f"From {run.weights().min():.4g} to" in page.text
    assert json.loads((saved / "run.json").read_text())["data"]["sha256"] in page.text
    again = Page(lsat.Run.load(saved, digits).report().html)
    assert again.pictures()[5].tobytes() == Page(report.html).pictures()[5].tobytes()
    assert run.message in again.text  # with what the end of the run warned of


def test_a_run_saved_before_versions_were_kept_can_still_be_shown(saved, tmp_path):
    about = json.loads((saved / "run.json").read_text())
    for path in saved.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "run.json").write_text(json.dumps({k: v for k, v in about.items() if k not in ("versions", "notes")}))
    assert "not recorded" in lsat.Run.load(tmp_path).report().html


def test_rows_that_are_no_images_are_a_table_and_regression_has_its_own_error():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 2))
    data = lsat.Data.from_arrays(X, X[:, 0] + generator.normal(size=80), task="regression")
    run = lsat.tune(lsat.Recipe(method=QUICK, **WEIGHTED), data, progress=False)
    page = Page(run.report().html)
    assert len(page.pictures()) == 2
    assert f"root mean square on the validation rows went from {run.iterates[0].error:.4g} to" in page.text
    assert len(page.all("table")) == 4
    lightest = run.weights().argsort(kind="stable")[0]
    assert "targetweightrow" in page.text
    assert f"{data.train.labels[lightest]:.4g}{run.weights()[lightest]:.2f}{data.train.rows[lightest]}" in page.text


def test_weights_that_only_rows_can_tell_are_not_made_up(tmp_path, digits):
    recipe = lsat.Recipe(data_weights=lsat.GroupWeights(), loss=lsat.CrossEntropy(), method=QUICK)
    run = lsat.tune(recipe, digits, progress=False)
    run.save(tmp_path)
    assert "They follow from the rows" in lsat.Run.load(tmp_path).report().html
    plain = lsat.tune(lsat.Recipe(method=QUICK), digits, progress=False)
    assert "Every training row counts once." in plain.report().html


def test_a_number_and_its_unit_stay_on_one_line(run, report):
    assert f"in {run.iterates[-1].seconds:.1f}\xa0s." in report.html
    assert f"to {100 * run.iterates[-1].error:.1f}\xa0%." in report.html


def test_columns_are_called_by_their_names():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 3)) * [1.0, 10.0, 100.0]
    names = ["height", "width", EVIL]
    data = lsat.Data.from_arrays(X, X[:, 0] + generator.normal(size=80), task="regression", feature_names=names)
    curved = lsat.Chain(lsat.Scale(), lsat.PowerTransform())
    recipe = lsat.Recipe(
        featurizer=lsat.Concat(features=curved, one=lsat.Constant()),
        regularizer=lsat.Stack(each=lsat.Diagonal(block="features"), every=lsat.Diagonal()),
        method=QUICK,
    )
    run = lsat.tune(recipe, data, progress=False)
    page = Page(run.report().html)
    shift = run.omega["featurizer.features.scale.shift"]
    least, greatest = (names[int(place)] for place in (shift.argmin(), shift.argmax()))
    assert f"3 values, {shift.min():.4g} ({least}) to {shift.max():.4g} ({greatest})" in page.text
    weights = run.omega["regularizer.each.log_weight"]
    rows = [line.split("|") for line in cells(run.report().html)]
    heading = next(row for row in rows if row[0] == "column")
    assert heading[1:3] == ["features scale log scale", "features scale shift"]
    by_name = {row[0]: dict(zip(heading, row, strict=True)) for row in rows if len(row) == len(heading)}
    for name, number in zip(names, weights.tolist(), strict=True):
        assert by_name[name]["each log weight"] == f"{number:.4g}"
        assert by_name[name]["each log weight, e^(2ω)"] == f"{np.exp(2 * number):.4g}"
    assert by_name["1"]["every log weight"] == f"{run.omega['regularizer.every.log_weight'][3]:.4g}"
    assert by_name["1"]["each log weight"] == ""


def test_columns_keep_their_names_in_a_run_that_is_read_back(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["height", "width"])
    data = lsat.Data.from_arrays(X, X.height.to_numpy(), task="regression")
    recipe = lsat.Recipe(regularizer=lsat.Diagonal(block="features"), method=QUICK)
    run = lsat.tune(recipe, data, progress=False)
    run.save(tmp_path / "run")
    tables = [
        [line for line in cells(one.report().html) if line.startswith(("height|", "width|"))]
        for one in (run, lsat.Run.load(tmp_path / "run"), lsat.Run.load(tmp_path / "run", data))
    ]
    assert len(tables[0]) == 2
    assert tables[0] == tables[1] == tables[2]


def cells(html: str) -> list[str]:
    """The lines of all tables of a page, cells with a bar between."""
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", html, re.DOTALL)
    return ["|".join(unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)) for line in lines]


@pytest.mark.parametrize("count", [1, 2, 40, 60, 61, 1000, 12345])
def test_a_table_of_iterates_has_a_sensible_length(count):
    numbers = listed(count)
    assert len(numbers) <= 60
    assert numbers == sorted(set(numbers))
    assert {0, count - 1} <= set(numbers)
    assert count > 60 or numbers == list(range(count))
    assert count <= 60 or {9, count - 10} <= set(numbers)


def test_a_long_run_says_how_many_iterates_it_leaves_out(digits):
    run = lsat.Run(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=80, tolerance=0.0)), digits)
    for _ in run.steps():
        pass
    page = Page(run.report().html)
    assert f"Shown are 40 of {len(run.iterates)}; a saved run has all of them in iterates.csv." in page.text
    assert len(page.all("tr")) == 1 + 1 + 1 + 40


def test_a_run_that_goes_on_can_be_reported_and_one_that_has_not_begun_not(digits):
    run = lsat.Run(lsat.Recipe(method=QUICK), digits)
    with pytest.raises(ValueError, match=r"no iterates to report: pull run\.steps\(\)"):
        run.report()
    steps = run.steps()
    next(steps)
    assert "the run goes on" in report_of(run).html
    steps.close()


def test_a_notebook_shows_a_picture_and_a_constant_text(report):
    data, metadata = report._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}
    assert data["text/plain"] == repr(Report("another", b""))
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.size[0] == 1534
    assert metadata["image/png"]["width"] < 1534


def test_a_file_is_whole_or_the_old_one(run, tmp_path, monkeypatch):
    target = tmp_path / "new" / "folder" / "page.html"
    report = run.report(target)
    assert target.read_text(encoding="utf-8") == report.html
    other = Report("other", b"")
    other.save(target)
    assert target.read_text(encoding="utf-8") == "other"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        report.save(target)
    assert target.read_text(encoding="utf-8") == "other"
    assert [path.name for path in target.parent.iterdir()] == ["page.html"]


def test_a_page_is_written_where_a_link_leads_and_takes_the_place_of_no_pipe(run, tmp_path):
    report = run.report(tmp_path / "first.html")
    (tmp_path / "latest.html").symlink_to("first.html")
    Report("other", b"").save(tmp_path / "latest.html")
    assert (tmp_path / "latest.html").is_symlink()
    assert (tmp_path / "first.html").read_text(encoding="utf-8") == "other"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is a pipe, expected a regular file"):
        report.save(tmp_path / "pipe")


def test_the_command_writes_the_page_and_prints_the_summary(saved, tmp_path, command):
    path = tmp_path / "page.html"
    code, printed, _ = command("show", str(saved))
    assert code == 0
    code, out, error = command("show", str(saved), "--html", str(path))
    assert (code, error) == (0, "")
    assert [line.split() for line in out.splitlines()[:-1]] == [line.split() for line in printed.splitlines()]
    assert out.splitlines()[-1].split() == ["page", str(path)]
    page = Page(path.read_text(encoding="utf-8"))
    assert "a run" in page.text
    assert len(page.pictures()) == 2
    assert command("show", str(saved), "--html", str(path), "--data", "digits")[0] == 0
    assert len(Page(path.read_text(encoding="utf-8")).pictures()) == 22


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--html", "."], ". is a folder: give a file, such as report.html."),
        (["--html", "r.PDF"], "r.PDF is no name of a page of HTML: give r.html, which a browser prints as PDF"),
        (["--html", "file/page.html"], "file"),
        (["--html", "page.html", "--data", "digits", "--seed", "1"], "was run on other data"),
    ],
)
def test_a_page_that_cannot_be_made_is_one_sentence(words, sentence, saved, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    code, out, error = command("show", str(saved), *words)
    assert (code, out) == (2, "")
    assert sentence in error
    assert error.count("\n") == 1
    assert os.listdir() == ["file"]


def test_the_command_line_reports_in_a_process_of_its_own(saved, tmp_path):
    words = [sys.executable, "-m", "lsat_explorer", "show", str(saved), "--html", "page.html"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "page.html").stat().st_size > 50_000
