"""The commands about answers that were collected elsewhere: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leakrange.clients.cli import console
from tests.data.answered import scored
from tests.data.tables import write_rows
from tests.embedded import leakrange

PARTS = ["--values", "p_*", "--member", "in_training", "--target", "label"]


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    columns = {name: values.tolist() for name, values in scored(200).items()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return write_rows(tmp_path / "scores.csv", rows)


def test_a_file_of_answers_gets_sentences_a_table_and_a_report(
    scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console._out, "_width", 160)
    page = scores.with_name("out") / "report.html"
    done = leakrange("answers", "audit", str(scores), *PARTS, "--report", str(page))
    assert done.returncode == 1, done.stderr  # it leaks
    assert done.stdout.startswith("The recorded provider “scores.csv” leaks: ")
    [heading] = [line for line in done.stdout.splitlines() if line.startswith("attack ")]
    [row] = [line for line in done.stdout.splitlines() if line.startswith("loss-threshold ")]
    assert "TPR at 1 % FPR" in heading
    assert "membership" in row
    assert "not made: base, label-votes, lira, oslo, rmia" in done.stderr
    assert "scores.csv" in page.read_text()


def test_json_and_the_files_hold_the_same_results(scores: Path) -> None:
    kept = scores.with_name("report.json")
    done = leakrange("answers", "audit", str(scores), *PARTS, "--json", "--report", str(kept))
    printed, saved = json.loads(done.stdout), json.loads(kept.read_text())
    assert printed["trials"] == saved["trials"]
    assert printed["trials"][0]["metrics"]["auc"]["value"] > 0.7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--values", "p_*"], "nothing is asked for that an attack could infer"),
        (["--values", "p_*", "--member", "gone"], "there is no column 'gone'"),
        (["--values", "p_low", "--values", "p_mid", "--member", "in_training"], "these are no probabilities"),
        ([*PARTS, "--by", "id"], "--labels are joined --by columns"),
        ([*PARTS, "--report", "report.pdf"], "the ending says no form"),
        ([*PARTS, "--release", "features"], "no attack can be made on scores.csv"),
    ],
)
def test_mistakes_end_with_a_sentence(scores: Path, arguments: list[str], sentence: str) -> None:
    done = leakrange("answers", "audit", str(scores), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
