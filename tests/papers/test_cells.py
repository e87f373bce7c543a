"""A cell has the name of all that decides it: settings, data, seed, and the versions of what trains and
measures. The cells of ``docs/results`` make its pages."""

import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clients.cli.main import app
from leakrange.data import datasets
from leakrange.papers.cells import Cells
from leakrange.papers.hbc.paper import HonestButCurious, HonestButCuriousSettings
from leakrange.wire.errors import InvalidArtifact

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def first(table: str, **settings: object) -> list[object]:
    """The name of the cell of the table's first row."""
    paper = HonestButCurious(HonestButCuriousSettings.model_validate(settings))
    return paper.cell(paper.trial(paper.select([table])[0], 0))


def test_a_cell_is_measured_anew_where_a_version_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cells(tmp_path).put(first("4:classifier=raw"), {"honesty": 0.5})
    assert Cells(tmp_path).get(first("4:classifier=raw")) == {"honesty": 0.5}
    with monkeypatch.context() as patch:
        patch.setattr(HonestButCurious, "version", 2)
        assert Cells(tmp_path).get(first("4:classifier=raw")) is None
    monkeypatch.setattr(datasets["utkface"], "version", 2)
    assert Cells(tmp_path).get(first("4:classifier=raw")) is None


def test_cells_of_several_processes_are_all_kept_and_damage_is_told(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: cells.put(["paper", i], {"figure": i}), range(20)))
    assert [cells.get(["paper", i]) for i in range(20)] == [{"figure": i} for i in range(20)]
    assert cells.get(["another", 0]) is None
    cells.put(["paper", 0], {"figure": -1})
    assert cells.get(["paper", 0]) == {"figure": -1}
    (tmp_path / "paper.json").write_bytes(b"[{}]")
    with pytest.raises(InvalidArtifact, match="holds no cells"):
        cells.get(["paper", 0])


def test_what_is_chosen_gives_a_cell_another_name() -> None:
    plain = first("4:classifier=raw")
    assert first("4:classifier=raw", passes="two") == plain
    assert first("4:classifier=raw", celeba_epochs=3) == plain
    assert first("4:classifier=raw", utkface_epochs=3) != plain
    assert first("4:classifier=raw", size=32) != plain


@pytest.mark.parametrize(
    "page",
    [
        *(
            "hbc",
            "hbc-small",
            "hbc-short",
            "faceleaks",
            "vicious",
            "vicious-long",
            "pass",
            "pass-drawn",
            "tappfl",
        ),
        "membership",
    ],
)
def test_the_pages_of_docs_are_made_of_the_cells_beside_them(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their own command, in a checkout with an empty store: every line but that of the command."""
    monkeypatch.chdir(RESULTS.parents[1])
    stands = (RESULTS / f"{page}.md").read_text(encoding="utf-8").splitlines()
    made = re.fullmatch(r"Made by `leakrange (.*)`\.", stands[2])
    assert made is not None
    command = shlex.split(made[1])
    command[command.index("--out") + 1] = str(tmp_path / f"{page}.md")
    done = CliRunner().invoke(app, [*command, "--store", str(tmp_path / "store")])
    assert done.exit_code == 0, done.output
    found = (tmp_path / f"{page}.md").read_text(encoding="utf-8").splitlines()
    assert [*found[:2], *found[3:]] == [*stands[:2], *stands[3:]]
    # how they are drawn depends on the drawing library's version: the figures are in the tables
    drawn, stand = (
        {file.name for file in folder.glob("*.svg")} for folder in (tmp_path / page, RESULTS / page)
    )
    assert drawn == stand
