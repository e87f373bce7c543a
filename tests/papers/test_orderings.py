"""What the papers say of the order of their rows is what their own figures say."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.metrics import described
from leakrange.papers import papers
from leakrange.papers.hbc.paper import HonestButCurious
from leakrange.papers.orderings import Claim, Orderings
from leakrange.papers.paper import Paper

CLAIMED = [(name, claim) for name, paper in papers.items() for claim in paper.claims]


def printed(paper: Paper) -> dict[Any, list[dict[str, float]]]:
    """The paper's own figures, as if we had measured them under one seed."""
    found = {}
    for row in paper.rows():
        cell = {}
        for name, figure in row.figures.items():
            share = paper.percent and described(name).unit == "share"
            cell[name] = figure.mean / (100.0 if share else 1.0)
        found[row] = [cell]
    return found


@pytest.mark.parametrize(("name", "claim"), CLAIMED, ids=[f"{name}: {claim.text}" for name, claim in CLAIMED])
def test_a_claim_holds_in_the_figures_of_its_paper(name: str, claim: Claim) -> None:
    paper = papers[name](papers[name].Settings())
    fields = papers[name].rows()[0].fields
    assert {*claim.ahead, *claim.behind, *claim.apart, *paper.naming} <= set(fields)
    assert any(all(row.has(*each) for each in claim.ahead.items()) for row in paper.rows())
    assert any(all(row.has(*each) for each in claim.behind.items()) for row in paper.rows())
    for section in Orderings(paper.value, paper.naming).sections([claim], printed(paper)):
        [line] = section.lines
        assert line.notes[1] != "does not hold" or "(ours)" in claim.text, line.notes


def test_means_over_seeds_are_compared_and_ties_are_not_ahead() -> None:
    paper = HonestButCurious(HonestButCurious.Settings())
    raw, honest = (
        HonestButCurious.select([f"4:Y=2,classifier={each},output=logits"])[0] for each in ("raw", "honest")
    )
    claim = Claim(
        "raw tells more",
        {"classifier": "raw"},
        {"classifier": "honest"},
        "curiosity",
        apart=("beta_y", "beta_s", "attack"),
    )

    def verdict(*values: float) -> list[str]:
        measured = {
            raw: [{"curiosity": value} for value in values],
            honest: [{"curiosity": 0.6}, {"curiosity": 0.7}],
        }
        [section] = Orderings(paper.value, paper.naming).sections([claim], measured)
        return list(section.lines[0].notes)

    assert verdict(0.5, 0.9) == ["1 of 1", "holds", "", ""]
    assert verdict(0.8, 0.4)[:3] == ["0 of 1", "does not hold", "race-2, gender: 60.00 < 65.00"]
    assert verdict(0.65, 0.65)[1] == "does not hold"
    assert (
        Orderings(paper.value, paper.naming).sections([claim], {raw: [], honest: [{"curiosity": 0.6}]}) == []
    )
