"""A cell has the name of all that decides it: settings, data, seed, and the versions of what trains and
measures. The cells of ``docs/results`` make its pages."""

import re
import shlex
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson
import pytest
from typer.testing import CliRunner

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kinds
from leakrange.clients.cli.main import app
from leakrange.data import datasets
from leakrange.jobs.recipe import Crowd
from leakrange.jobs.versions import AttackVersion
from leakrange.metrics import metrics
from leakrange.papers import papers, trials
from leakrange.papers.cells import Cell, Cells
from leakrange.papers.hbc.paper import HonestButCurious, HonestButCuriousSettings
from leakrange.papers.trials import PaperTrial
from leakrange.registry import Registry
from leakrange.report.document import markdown
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


NAMED = {
    "hbc: the provider's decoder": ("hbc", "4:classifier=raw"),
    "hbc: honest outputs": ("hbc", "4:classifier=honest"),
    "vicious: the provider's decoder": ("vicious", "1:data=mnist,output=logits,beta_r=3"),
    "vicious: an audit": ("vicious", "fig6:data=mnist,beta_r=0"),
    "faceleaks: members": ("faceleaks", "5:service=features,attack=class-based"),
    "faceleaks: single answers": ("faceleaks", "5:service=features,attack=first-cut"),
    "faceleaks: an attribute": ("faceleaks", "6:service=features"),
    "pass": ("pass", "2:method=PASS"),
}
"""By what it is about, the paper and the first of the rows that are meant."""


def named() -> dict[str, str]:
    """The name of each cell, as text."""
    cells = {}
    for about, (name, rows) in NAMED.items():
        paper = papers[name](papers[name].Settings())
        cells[about] = str(paper.cell(paper.trial(paper.select([rows])[0], 0)))
    return cells


class LaterCrowd(Crowd):
    version: Literal[99] = 99  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("registry", "raised", "used_by"),
    [
        (attacks, "curious-decoder", {"hbc: the provider's decoder"}),
        (attacks, "class-based", {"faceleaks: members"}),
        (attacks, "audit", {"vicious: an audit"}),
        (attacks, "lira", set[str]()),
        (kinds, "people", {"faceleaks: members", "faceleaks: single answers"}),
        (kinds, "people-attribute", {"faceleaks: an attribute"}),
        (kinds, "probing", {"pass"}),
        (kinds, "substitutes", set[str]()),
    ],
)
def test_a_raised_version_renames_the_cells_that_use_it_and_no_others(
    registry: Registry[Any], raised: str, used_by: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = named()
    monkeypatch.setattr(registry[raised], "version", registry[raised].version + 1)
    after = named()
    assert {about for about in NAMED if before[about] != after[about]} == used_by


def test_who_draws_crowds_anew_renames_the_cells_of_crowds(monkeypatch: pytest.MonkeyPatch) -> None:
    before = named()
    monkeypatch.setattr(trials, "Crowd", LaterCrowd)
    after = named()
    assert {about for about in NAMED if before[about] != after[about]} == {
        about for about, (paper, _) in NAMED.items() if paper == "faceleaks"
    }


def test_a_raised_metric_hides_the_cells_that_hold_it_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = Cells(tmp_path)
    cells.put(["paper", "sure"], {"honesty": 0.5, "entropy": 0.25, "entropy_low": 0.125})
    cells.put(["paper", "unsure"], {"honesty": 0.75, "curiosity": 0.25})
    raise_metric(monkeypatch, "entropy")
    assert Cells(tmp_path).get(["paper", "sure"]) is None
    assert Cells(tmp_path).get(["paper", "unsure"]) == {"honesty": 0.75, "curiosity": 0.25}
    cells.put(["paper", "sure"], {"honesty": 0.5, "entropy": 0.375})
    assert cells.get(["paper", "sure"]) == {"honesty": 0.5, "entropy": 0.375}
    raise_metric(monkeypatch, "entropy")
    assert cells.get(["paper", "sure"]) is None
    # and a range that was never brought up to date does not take it for its own
    monkeypatch.undo()
    assert cells.get(["paper", "sure"]) is None


def raise_metric(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(metrics._entries, name, replace(metrics[name], version=metrics[name].version + 1))


def test_a_page_never_shows_a_cell_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = HonestButCurious(HonestButCuriousSettings())
    rows, cells = paper.select(["4:Y=2,classifier=raw|honest"]), Cells(tmp_path)
    for row in rows:
        cells.put(
            paper.cell(paper.trial(row, 0)), {"honesty": 0.8125, "majority_target": 0.5, "majority": 0.5}
        )

    def shown() -> dict[str, str]:
        page = markdown(paper.document(rows, 1, cells, "")).splitlines()
        lines = [line for line in page if line.startswith("| race-2 |")]
        return {line.split(" | ")[2].partition(",")[0].partition(" ")[0]: line for line in lines}

    assert all("81.25" in line and "not measured" not in line for line in shown().values())
    monkeypatch.setattr(attacks["curious-decoder"], "version", attacks["curious-decoder"].version + 1)
    assert "81.25" in shown()["honest"]
    assert "81.25" not in shown()["raw"]
    assert "| not measured with this version |" in shown()["raw"]


def stale(file: Path) -> list[str]:
    """The cells of a file that neither today's code would make, nor an earlier version of an attack that
    pages mark; and those that have another name."""
    cells, others = Cells(file.parent), []
    for entry in orjson.loads(file.read_bytes()):
        name, told, _ = entry["identity"]
        fields = {field: told[field] for field in PaperTrial.model_fields if field in told}
        trial = PaperTrial.model_validate(fields)
        shown = [
            [name, trial.identity(version.number), papers[name].version]
            for version in trial.attack_versions()
        ]
        if entry["identity"] not in shown or cells.get(entry["identity"]) is None:
            others.append(str(entry["identity"]))
    return others


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_docs_hold_no_cell_of_another_version_but_those_that_are_marked(file: Path, tmp_path: Path) -> None:
    """That these are marked is tested of each page."""
    assert stale(file) == []
    # shown one: such a cell would not pass
    first_of = orjson.loads(file.read_bytes())[:1]
    first_of[0]["identity"][1]["versions"]["trainer"] += 1
    spoilt = tmp_path / file.name
    spoilt.write_bytes(orjson.dumps(first_of))
    assert len(stale(spoilt)) == 1


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


def recorded(monkeypatch: pytest.MonkeyPatch) -> dict[str, AttackVersion]:
    """By its name, the version that measured each cell that is read from now on."""
    read: dict[str, AttackVersion] = {}
    usual = Cells.get

    def get(cells: Cells, identity: list[Any]) -> Cell | None:
        cell = usual(cells, identity)
        if cell is not None:
            told = identity[1]
            trial = PaperTrial.model_validate(
                {name: told[name] for name in PaperTrial.model_fields if name in told}
            )
            number = told["versions"].get("attack", 1)
            [read[str(identity)]] = [each for each in trial.attack_versions() if each.number == number]
        return cell

    monkeypatch.setattr(Cells, "get", get)
    return read


@pytest.mark.parametrize(
    "page",
    [
        *(
            "hbc",
            "hbc-small",
            "hbc-short",
            "hbc-one-seed",
            "hbc-utkface",
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
    """With their own command, in a checkout with an empty store: every line but that of the command. A page
    counts all cells of earlier versions that it is made of."""
    monkeypatch.chdir(RESULTS.parents[1])
    read = recorded(monkeypatch)
    stands = (RESULTS / f"{page}.md").read_text(encoding="utf-8").splitlines()
    made = re.fullmatch(r"Made by `leakrange (.*)`\.", stands[2])
    assert made is not None
    command = shlex.split(made[1])
    command[command.index("--out") + 1] = str(tmp_path / f"{page}.md")
    done = CliRunner().invoke(app, [*command, "--store", str(tmp_path / "store")])
    assert done.exit_code == 0, done.output
    found = (tmp_path / f"{page}.md").read_text(encoding="utf-8").splitlines()
    assert [*found[:2], *found[3:]] == [*stands[:2], *stands[3:]]
    earlier = Counter(version for version in read.values() if version.since)
    for version, count in earlier.items():
        trials_were = "trial was" if count == 1 else "trials were"
        counted = f"- {count} {trials_were} measured with version {version.number} of {version.attack}"
        assert sum(line.startswith(counted) for line in found) == 1
    lines = [line for line in found if line.startswith("- ") and " measured with version " in line]
    assert len(lines) == len(earlier)
    # how they are drawn depends on the drawing library's version: the figures are in the tables
    drawn, stand = (
        {file.name for file in folder.glob("*.svg")} for folder in (tmp_path / page, RESULTS / page)
    )
    assert drawn == stand
