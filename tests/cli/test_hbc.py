import re
from pathlib import Path

import pytest

from clients.cli import hbc
from leakrange.wire.recipe import DataSpec, Schedule


def test_a_second_run_trains_nothing_and_prints_the_same_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "--data",
        "digits",
        "--size",
        "16",
        "--limit",
        "120",
        "--pairs",
        "parity:large",
        "--epochs",
        "1",
    ]
    arguments += ["--store", str(tmp_path / "models"), "--out", str(tmp_path / "table.md")]
    assert hbc.main(arguments) == 0
    first = capsys.readouterr()
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").rglob("*.*")}
    assert len(list((tmp_path / "models").iterdir())) == 7

    assert hbc.main(arguments) == 0
    again = capsys.readouterr()
    assert "epoch" in first.err
    assert "epoch" not in again.err
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "models").rglob("*.*")} == written
    assert first.out == again.out == (tmp_path / "table.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| (\w.*?) \|", first.out, flags=re.MULTILINE)[1:]
    assert names == [
        "honest",
        "raw (.7, .3)",
        "raw (.5, .5)",
        "soft (.7, .3)",
        "soft (.5, .5)",
        "regularized (.7, .3)",
        "regularized (.5, .5)",
    ]


def test_a_cell_stands_beside_the_papers_and_their_difference() -> None:
    cells = {"honest": [hbc.Cell(0.82, 0.60, 0.54, 60.0), hbc.Cell(0.84, 0.62, 0.54, 60.0)]}
    line = hbc.table("gender", "race-2", cells).splitlines()[-1]
    assert line == (
        "| honest | 90.23 | 83.00 ± 1.41 | -7.23 | 58.62 | 61.00 ± 1.41 | +2.38 | 54.00 | 2 | 1.0 |"
    )


def test_every_row_of_the_paper_has_a_recipe() -> None:
    for (target, sensitive), paper in hbc.PAPER.items():
        classes = int(sensitive[-1])
        made = hbc.rows(target, sensitive, classes, DataSpec(name="utkface"), Schedule(), seed=0)
        assert set(paper) <= {row.name for row in made}


def test_a_pair_or_a_data_set_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--data", "digits", "--pairs", "parity:race"], "no pair 'parity:race'; attributes are: digit"),
        (["--data", "digit", "--pairs", "parity:large"], "did you mean 'digits'"),
    ):
        with pytest.raises(SystemExit):
            hbc.main([*arguments, "--store", "nowhere"])
        assert message in capsys.readouterr().err
    assert not Path("nowhere").exists()
