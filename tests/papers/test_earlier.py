"""Pages mark figures that an earlier version of an attack has measured, and compare none of two versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakrange.attacks import attacks
from leakrange.jobs.versions import AttackVersion, VersionChange
from leakrange.papers.cells import Cell, Cells
from leakrange.papers.earlier import COLUMN, VERSION, marks, sentences, versions_differ
from leakrange.papers.hbc.paper import HonestButCurious
from leakrange.papers.hbc.rows import PANEL
from leakrange.papers.orderings import Claim, Orderings
from leakrange.papers.targets import PaperRow
from leakrange.report.document import Document, PaperSection

PAPER = HonestButCurious(HonestButCurious.Settings())
RAW, HONEST = (
    HonestButCurious.select([f"4:Y=2,classifier={each},output=logits"])[0] for each in ("raw", "honest")
)
FIGURES = {"honesty": 0.8125, "curiosity": 0.75, "majority_target": 0.5, "majority": 0.5}
DECODER = "curious-decoder"
"""The attack of `RAW`; that of `HONEST` is another."""
TODAY, BEFORE, FIRST = (
    AttackVersion(DECODER, 3),
    AttackVersion(DECODER, 2, ("it reads twice",)),
    AttackVersion(DECODER, 1, ("it asks", "it reads twice")),
)
OTHER = AttackVersion("attribute-nets", 1)


@pytest.fixture
def cells(tmp_path: Path) -> Cells:
    """A store with a cell of either row, under seed 0."""
    store = Cells(tmp_path)
    for row in (RAW, HONEST):
        store.put(PAPER.cell(PAPER.trial(row, 0)), FIGURES)
    return store


def raise_attack(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    """Another version of an attack, which tells what it changed."""
    number = attacks[name].version + 1
    monkeypatch.setattr(attacks[name], "version", number)
    monkeypatch.setattr(attacks[name], "changes", {**attacks[name].changes, number: VersionChange(text)})


def page(cells: Cells, seeds: int = 1) -> Document:
    return PAPER.document([RAW, HONEST], seeds, cells, "")


def table(document: Document) -> PaperSection:
    return document.sections[0]


def test_figures_of_an_earlier_version_are_marked_and_the_others_are_not(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = page(cells)
    assert COLUMN not in table(before).notes
    raise_attack(monkeypatch, DECODER, "it reads twice")
    after = page(cells)
    assert table(after).notes == (*table(before).notes, COLUMN)
    assert [line.notes[-1] for line in table(after).lines] == [f"{DECODER} 1", ""]
    assert [line.cells()[:-1] for line in table(after).lines] == [
        line.cells() for line in table(before).lines
    ]
    counted, how = after.differences[:2]
    assert counted == (
        f"1 trial was measured with version 1 of {DECODER}, which is not today’s: since then it reads twice"
    )
    assert f"“{COLUMN}”" in how
    assert "without --show measures them anew" in how
    assert after.differences[2:] == before.differences
    # and so they are, since they do not count as measured
    assert cells.get(PAPER.cell(PAPER.trial(RAW, 0))) is None


def test_no_row_is_of_two_versions(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    cells.put(PAPER.cell(PAPER.trial(RAW, 1)), FIGURES | {"honesty": 0.25})
    raise_attack(monkeypatch, DECODER, "it reads twice")
    assert table(page(cells, seeds=2)).lines[0].columns[0].ours == [81.25, 25.0]
    cells.put(PAPER.cell(PAPER.trial(RAW, 1)), FIGURES | {"honesty": 0.75})
    document = page(cells, seeds=2)
    assert table(document).lines[0].columns[0].ours == [75.0]
    assert COLUMN not in table(document).notes
    assert not any("measured with version" in each for each in document.differences)


def test_a_line_is_marked_where_what_stands_beside_it_is_of_an_earlier_version(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    [panel] = [each for each in PAPER.beside(RAW) if each["role"] == PANEL]
    cells.put(PAPER.cell(PAPER.trial(panel, 0)), FIGURES | {"auc": 0.8125})
    raise_attack(monkeypatch, "attribute-inference", "it guesses")
    version = attacks["attribute-inference"].version - 1
    raw, honest = table(page(cells)).lines
    assert "81.25" in raw.notes
    assert (raw.notes[-1], honest.notes[-1]) == (f"attribute-inference {version}", "")


def test_sentences_count_the_trials_of_each_version() -> None:
    stored = [{VERSION: each} for each in (TODAY, FIRST, OTHER, BEFORE, FIRST)]
    first, second, _ = sentences(stored)
    assert first.startswith(f"2 trials were measured with version 1 of {DECODER}, ")
    assert first.endswith(": since then it asks; it reads twice")
    assert second.startswith(f"1 trial was measured with version 2 of {DECODER}, ")
    assert sentences([{VERSION: TODAY}, {VERSION: OTHER}]) == []
    assert marks(stored) == f"{DECODER} 1, {DECODER} 2"


@pytest.mark.parametrize(
    ("ahead", "behind", "differ"),
    [
        (TODAY, TODAY, False),
        (TODAY, BEFORE, True),
        (FIRST, BEFORE, True),
        (BEFORE, BEFORE, False),
        (BEFORE, OTHER, False),
        # a version that a change does not concern gives the figures of today's as well
        (TODAY, AttackVersion(DECODER, 2), False),
    ],
)
def test_rows_differ_in_versions_of_one_attack(
    ahead: AttackVersion, behind: AttackVersion, differ: bool
) -> None:
    assert versions_differ([{VERSION: ahead}], [{VERSION: behind}]) == differ


def compared(ahead: AttackVersion, behind: AttackVersion) -> list[PaperSection]:
    """Of `RAW` and `HONEST`, whose order is clear."""
    claim = Claim(
        "raw tells more", {"classifier": "raw"}, {"classifier": "honest"}, "curiosity",
        differing=("beta_y", "beta_s", "attack", "output"),
    )  # fmt: skip

    def three(version: AttackVersion, least: float) -> list[Cell]:
        spread = (0.0, 0.1, 0.21)
        return [
            {"seed": seed, "curiosity": least + more, VERSION: version} for seed, more in enumerate(spread)
        ]

    measured: dict[PaperRow, Any] = {RAW: three(ahead, 0.5), HONEST: three(behind, 0.4)}
    measured[HONEST][1]["curiosity"] += 0.01
    return Orderings(PAPER.value, PAPER.sheet.naming).sections([claim], measured)


def test_comparisons_of_earlier_figures_are_marked() -> None:
    summary, details = compared(TODAY, OTHER)
    assert (details.lines[0].notes[-1], details.notes[-1]) == ("holds", "outcome")
    assert "earlier" not in summary.remark
    summary, details = compared(BEFORE, OTHER)
    assert details.notes[-1] == COLUMN
    assert details.lines[0].notes[-3:] == ["3 seeds", "holds", f"{DECODER} 2"]
    assert "1 of them are of figures that earlier versions of attacks have measured" in summary.remark


def test_two_versions_of_one_attack_are_not_compared() -> None:
    summary, details = compared(TODAY, BEFORE)
    assert details.lines[0].notes == [
        "60.33", "50.67", "+9.67", "two versions of an attack", "unclear", f"{DECODER} 2",
    ]  # fmt: skip
    assert list(summary.lines[0].notes[:4]) == ["1", "0", "1", "0"]
