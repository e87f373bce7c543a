"""`leakrange reproduce`: what it prints and writes, that it does nothing twice, what it says of mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.embedded import leakrange

BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--table", "12"], "no table '12'"),
        (["--table", "3:Z=1"], "'Z=1' selects no rows"),
        (["--epochs", "celeba=3"], "says nothing about utkface"),
        (["--epochs", "none"], "write N, celeba=N or utkface=N"),
        (["--data", "mnist=digits"], "write celeba=SET or utkface=SET"),
        (["--data", "utkface=nothing", "--jobs", "1"], "unknown data set 'nothing'"),
        (["--data", "utkface=nothing", "--table", "4", "--show"], "unknown data set 'nothing'"),
        (["--data", "utkface=digits", "--table", "4"], "data set 'digits' has no attribute"),
        (["--table", "4", "--size", "8"], "--size 8: Input should be greater than or equal to 16"),
        (["--table", "4", "--limit", "0"], "--limit 0: Input should be greater"),
        (["--table", "4", "--epochs", "1001"], "--epochs 1001: Input should be less"),
        (["--table", "fig4", "--device", "abacus"], "--device abacus cannot be used here"),
        (["--table", "detection:s=1"], "detection has no rows to choose from"),
        (["--rows", "attack=magic"], "has attack=magic"),
        (["--quick", "--table", "3"], "--quick has rows of its own"),
    ],
)
def test_mistakes_are_told_before_anything_is_trained(options: list[str], said: str, tmp_path: Path) -> None:
    done = leakrange("reproduce", "hbc", *options, "--store", str(tmp_path / "store"))
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.rglob("training.json"))


@pytest.mark.parametrize("paper", ["hbc", "faceleaks"])
@pytest.mark.parametrize("option", ["--store", "--out", "--page"])
def test_where_nothing_can_be_written_is_told_before_anything_is_done(
    paper: str, option: str, tmp_path: Path
) -> None:
    file = tmp_path / "a file"
    file.write_text("mine")
    options = {"--store": str(tmp_path / "store"), option: str(file / "below")}
    done = leakrange("reproduce", paper, "--quick", *(each for pair in options.items() for each in pair))
    assert done.returncode == 2
    assert f"{file} cannot be written" in done.stderr or f"{file}/below cannot be written" in done.stderr
    assert option in done.stderr
    assert file.read_text() == "mine"
    assert not list((tmp_path / "store").glob("*"))


def test_a_row_is_measured_once_and_stands_beside_the_papers(tmp_path: Path) -> None:
    root = Path(os.environ.get("LEAKRANGE_DATA") or BESIDE)
    if not (root / "utkface" / "utkface.npz").is_file():
        pytest.skip("real data set utkface is not here: set LEAKRANGE_DATA to the folder that has utkface/")
    options = ["--table", "4:Y=2,classifier=raw", "--limit", "120", "--size", "32", "--epochs", "1"]
    options += ["--seeds", "1", "--jobs", "1", "--store", str(tmp_path / "store")]
    data = {"LEAKRANGE_DATA": str(root)}
    page, table = tmp_path / "hbc.html", tmp_path / "hbc.md"
    open_cells = leakrange("reproduce", "hbc", *options, "--show", **data)
    assert "| 88.10 ± 0.22 | – | – |" in open_cells.stdout
    assert not list(tmp_path.rglob("training.json"))
    first = leakrange("reproduce", "hbc", *options, "--out", str(table), "--page", str(page), **data)
    assert first.returncode == 0, first.stderr
    assert "1 models, 0 of them there already" in first.stderr
    assert "| race-2 | gender | raw parameterized | 0.7, 0.3, 0 | 88.10 ± 0.22 |" in first.stdout
    assert table.read_text(encoding="utf-8").strip() == first.stdout.strip()
    assert "<td>88.10 ± 0.22</td>" in page.read_text(encoding="utf-8")
    again = leakrange("reproduce", "hbc", *options, **data)
    assert "1 models, 1 of them there already" in again.stderr
    assert again.stdout.splitlines()[4:] == first.stdout.splitlines()[4:]
