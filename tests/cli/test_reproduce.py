"""`leakrange reproduce`: what it prints and writes, that it does nothing twice, what it says of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.controller.conftest import NOWHERE, OPERATOR
from tests.embedded import EmbeddedRange, leakrange


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--table", "12"], "no table '12'"),
        (["--table", "3:Z=1"], "'Z=1' selects no rows"),
        (["--rows", "attack=magic"], "has attack=magic"),
        (["--set", "epochs"], "write NAME=VALUE"),
        (["--set", "epochs=3"], "the settings are celeba, utkface, celeba_epochs"),
        (["--set", "size=8"], "--set size=8: Input should be greater than or equal to 16"),
        (["--set", "utkface_epochs=1001"], "Input should be less"),
        (["--set", "utkface=nothing", "--table", "4"], "unknown data set 'nothing'"),
        (["--set", "utkface=digits", "--table", "4"], "the data has no attribute 'race"),
        (["--quick", "--table", "3"], "--quick has rows of its own"),
    ],
)
def test_mistakes_are_told_before_anything_is_trained(options: list[str], said: str, tmp_path: Path) -> None:
    # The range is not there; with one of its own it would be a process of its own, which takes a second.
    asked = ["--url", NOWHERE, "--store", str(tmp_path / "store")]
    done = leakrange("reproduce", "hbc", *options, *asked, LEAKRANGE_OPERATOR_KEY=OPERATOR)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.rglob("training.json"))


def test_a_paper_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    done = leakrange("reproduce", "magic", "--store", str(tmp_path / "store"))
    assert done.returncode == 2
    assert "unknown paper 'magic'" in done.stderr
    assert "faceleaks, hbc" in done.stderr


@pytest.mark.parametrize("option", ["--store", "--out", "--page"])
def test_where_nothing_can_be_written_is_told_before_anything_is_done(option: str, tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.write_text("mine")
    options = {"--store": str(tmp_path / "store"), option: str(file / "below")}
    done = leakrange(
        "reproduce", "faceleaks", "--quick", *(each for pair in options.items() for each in pair)
    )
    assert done.returncode == 2
    assert f"{file} cannot be written" in done.stderr or f"{file}/below cannot be written" in done.stderr
    assert option in done.stderr
    assert file.read_text() == "mine"
    assert not list((tmp_path / "store").glob("*"))


def test_a_row_is_measured_by_a_range_once_and_stands_beside_the_papers(
    embedded_range: EmbeddedRange, tmp_path: Path
) -> None:
    options = ["--table", "fig4:classifier=hard", "--seeds", "1", "--store", str(tmp_path / "store")]
    page, table = tmp_path / "hbc.html", tmp_path / "hbc.md"
    never = ["--table", "8:Y=5,S=5,classifier=raw", "--set", "utkface_epochs=999"]
    open_cells = leakrange("reproduce", "hbc", *options, *never, "--show")
    assert "| 0.7, 0.3, 0 | 80.87 ± 0.70 | not measured with this version | – |" in open_cells.stdout
    # of the other row a checkout has the cells that docs/results are made of
    assert "| 100.00 | 100.00 | +0.00 |" in open_cells.stdout
    options += ["--state", str(embedded_range.root)]
    first = leakrange("reproduce", "hbc", *options, "--out", str(table), "--page", str(page))
    assert first.returncode == 0, first.stderr
    assert "1 trials in 1 runs" in first.stderr
    measured = "| 100.00 | 100.00 | +0.00 | 100.00 | 100.00 | +0.00 |"
    assert f"| hard mixture | 0.8, 0.2, 0 {measured}" in first.stdout
    assert table.read_text(encoding="utf-8").strip() == first.stdout.strip()
    assert "<td>+0.00</td>" in page.read_text(encoding="utf-8")
    again = leakrange("reproduce", "hbc", *options)
    assert "trials" not in again.stderr
    assert again.stdout.splitlines()[4:] == first.stdout.splitlines()[4:]
