"""What the papers say of the order of their rows is what their own figures say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.hbc.paper import HonestButCurious
from leakrange.papers.orderings import Claim, Orderings
from leakrange.papers.paper import Paper

CLAIMED = [(name, claim) for name, paper in papers.items() for claim in paper.sheet.claims]


def printed(paper: Paper) -> dict[Any, list[dict[str, float]]]:
    """The paper's own figures, as if we had measured them under one seed."""
    found = {}
    for row in paper.rows():
        cell = {"seed": 0.0}
        for name, figure in row.figures.items():
            cell[name] = figure.mean / paper.scale(name)
        found[row] = [cell]
    return found


@pytest.mark.parametrize(("name", "claim"), CLAIMED, ids=[f"{name}: {claim.text}" for name, claim in CLAIMED])
def test_a_claim_holds_in_the_figures_of_its_paper(name: str, claim: Claim) -> None:
    paper = papers[name](papers[name].Settings())
    fields = papers[name].rows()[0].fields
    assert {*claim.ahead, *claim.behind, *claim.differing, *paper.sheet.naming} <= set(fields)
    assert any(all(row.has(*each) for each in claim.ahead.items()) for row in paper.rows())
    assert any(all(row.has(*each) for each in claim.behind.items()) for row in paper.rows())
    compared = Orderings(paper.value, paper.sheet.naming).comparisons(claim, printed(paper))
    ahead = [each.ahead - each.behind > -claim.room for each in compared]
    assert any(ahead) or not ahead or "(ours)" in claim.text
    assert {each.outcome(rejected=False) for each in compared} <= {"unclear"}


RAW, HONEST, OTHER_RAW, OTHER_HONEST = (
    HonestButCurious.select([f"4:Y={races},classifier={each},output=logits"])[0]
    for races in (2, 3)
    for each in ("raw", "honest")
)
PAPER = HonestButCurious(HonestButCurious.Settings())
CLAIM = Claim(
    "raw tells more", {"classifier": "raw"}, {"classifier": "honest"}, "curiosity",
    differing=("beta_y", "beta_s", "attack", "output"), why="because",
)  # fmt: skip
Seeds = Sequence[float | tuple[float, float, float]]


def cells(values: Seeds, seeds: Sequence[int] | None = None) -> list[Cell]:
    """Cells with a curiosity, and where there are three numbers with its interval."""
    found = []
    for seed, value in zip(seeds or range(len(values)), values, strict=True):
        figures = value if isinstance(value, tuple) else (value,)
        names = ("curiosity", "curiosity_low", "curiosity_high")
        found.append({"seed": seed, **dict(zip(names, figures, strict=False))})
    return found


def outcome(ours: Seeds, theirs: Seeds, room: float = 0.0, seeds: Sequence[int] | None = None) -> str:
    """Of raw against honest outputs; ``seeds`` are those of the honest ones."""
    measured = {RAW: cells(ours), HONEST: cells(theirs, seeds)}
    _, details = Orderings(PAPER.value, PAPER.sheet.naming).sections([replace(CLAIM, room=room)], measured)
    return str(details.lines[0].notes[-1])


def test_an_order_over_seeds_holds_is_unclear_or_does_not_hold() -> None:
    ours, theirs = (0.5, 0.6, 0.71), (0.4, 0.51, 0.6)
    assert outcome(ours, theirs) == "holds"
    assert outcome(theirs, ours) == "does not hold"  # what is ahead and what is behind, exchanged
    assert outcome((0.5, 0.9, 0.4), theirs) == "unclear"
    assert outcome((0.4, 0.5, 0.62), theirs) == "unclear"
    # Of every seed the same row is ahead. Exchange two seeds of one row, and that is not known any more.
    assert outcome(ours, (theirs[1], theirs[0], theirs[2])) == "unclear"
    assert outcome(ours, theirs, seeds=(1, 0, 2)) == "unclear"
    assert outcome((0.5,), (0.4,)) == "unclear"


def test_equal_figures_and_equal_differences_are_unclear() -> None:
    assert outcome((0.545, 0.545, 0.545), (0.545, 0.545, 0.545)) == "unclear"
    assert outcome((0.6, 0.7), (0.5, 0.6)) == "unclear"  # that two seeds differ alike is chance
    assert outcome((0.5449999,), (0.545,)) == "unclear"


def test_of_one_seed_the_victims_decide() -> None:
    ours, theirs = (0.8, 0.7, 0.85), (0.6, 0.55, 0.62)
    assert outcome([ours], [theirs]) == "holds"
    assert outcome([theirs], [ours]) == "does not hold"
    # .2 apart, .1 below the one and .02 above the other; of the far ends it would be .05 and .05.
    assert outcome([ours], [(0.6, 0.59, 0.71)]) == "unclear"
    assert outcome([(0.8, 0.69, 0.81)], [theirs]) == "holds"
    assert outcome([ours], [0.6]) == "unclear"
    # Where there are two seeds and more, victims say nothing.
    assert outcome([ours, (0.7, 0.69, 0.71)], [theirs, (0.68, 0.67, 0.69)]) == "unclear"
    # They count again where all seeds differ alike.
    assert outcome([ours, ours], [theirs, theirs]) == "holds"


def test_victims_of_few_groups_are_marked() -> None:
    measured = {
        RAW: cells([(0.8, 0.7, 0.9)]),
        HONEST: [cells([(0.6, 0.5, 0.7)])[0] | {"effective_groups": 3.24}],
    }
    _, details = Orderings(PAPER.value, PAPER.sheet.naming).sections([CLAIM], measured)
    assert details.lines[0].notes[3] == "victims, 3.2 groups of them"


def test_room_is_the_margin_by_which_a_row_may_be_below() -> None:
    """Two points below, by two seeds and more: within five it holds, within one it does not."""
    ours, theirs = (0.5, 0.6, 0.701), (0.52, 0.621, 0.72)
    assert outcome(ours, theirs, room=5.0) == "holds"
    assert outcome(ours, theirs, room=2.0) == "unclear"
    assert outcome(ours, theirs, room=1.0) == "does not hold"


def test_a_page_is_corrected_for_all_its_comparisons() -> None:
    """By itself a comparison holds; among two of which nothing is known it does not any more."""
    ours, theirs = (0.5, 0.6, 0.72), (0.46, 0.57, 0.66)
    table = Orderings(PAPER.value, PAPER.sheet.naming)
    alone = {RAW: cells(ours), HONEST: cells(theirs)}
    summary, details = table.sections([CLAIM], alone)
    assert list(summary.lines[0].notes) == ["1", "1", "0", "0", ""]
    assert list(details.lines[0].notes) == ["60.67", "56.33", "+4.33 (+0.54 to +8.13)", "3 seeds", "holds"]
    assert summary.remark.endswith("Of all 1: holds: 1; unclear: 0; does not hold: 0.")
    summary, details = table.sections(
        [CLAIM], alone | {OTHER_RAW: cells((0.5, 0.7)), OTHER_HONEST: cells((0.6, 0.5))}
    )
    assert list(summary.lines[0].notes) == ["2", "0", "2", "0", ""]
    assert details.lines[0].notes[2] == "+4.33 (+0.54 to +8.13)"
    # One seed is no test: it makes the others' no harder.
    summary, _ = table.sections([CLAIM], alone | {OTHER_RAW: cells((0.5,)), OTHER_HONEST: cells((0.6,))})
    assert list(summary.lines[0].notes) == ["2", "1", "1", "0", ""]
    against = {RAW: cells(theirs), HONEST: cells([0.9 + each / 100 for each in theirs])}
    assert table.sections([CLAIM], against)[0].lines[0].notes[3:] == ["1", "because"]


def test_rows_that_share_no_seed_are_not_compared() -> None:
    measured = {RAW: cells((0.6,)), HONEST: cells((0.5,), seeds=(1,))}
    assert Orderings(PAPER.value, PAPER.sheet.naming).sections([CLAIM], measured) == []
    assert Orderings(PAPER.value, PAPER.sheet.naming).sections([CLAIM], measured | {RAW: []}) == []
