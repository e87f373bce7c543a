"""The bounds of what a release carries stand at the right defence, the lower from the strongest attacker."""

from __future__ import annotations

import pytest

from leakrange.report.charts.bits import bits
from leakrange.report.charts.drawing import Chart
from leakrange.report.findings import find
from leakrange.report.sections import chart_sections
from tests.report.build import measured, run
from tests.report.build import trials as guesses
from tests.report.reconstructed import CAPACITY, DEFENCES, psnr, reconstructed, trials

KNOWLEDGES = ("unaware", "aware")  # who averages has several releases of a sample


def test_both_bounds_stand_at_their_defence() -> None:
    _, vicious = bits(find(reconstructed()), "drawn-digits")
    assert isinstance(vicious, Chart)
    spans, marks = (layer["data"]["values"] for layer in vicious.specification["layer"])
    found = {(mark["y"], mark["marker"]): mark["x"] for mark in marks}
    for defence in DEFENCES:
        attackers = [("inside", "unaware"), *(("outside", each) for each in KNOWLEDGES)]
        best = max(psnr("vicious", defence, *each) for each in attackers)
        assert found[defence, 0] == pytest.approx(0.3 * best)
        assert found.get((defence, 4)) == CAPACITY.get(defence)
    assert {(span["y"], span["x2"]) for span in spans} == set(CAPACITY.items())
    assert "argmax: 2.88\N{NO-BREAK SPACE}bits recovered at least, 3.32" in vicious.label


def test_nothing_recovered_stands_at_the_end_of_the_axis_and_says_so() -> None:
    none = [measured(each, bits_recovered=0.0) for each in trials()]
    first, _ = bits(find(reconstructed(*none)), "drawn-digits")
    assert isinstance(first, Chart)
    marks = first.specification["layer"][1]["data"]["values"]
    assert {mark["x"] for mark in marks if mark["marker"] == 0} == {0.1}
    assert "rounded: 0.00\N{NO-BREAK SPACE}bits recovered at least" in first.svg


def test_a_run_whose_attacks_count_no_bits_has_no_such_section() -> None:
    other = run(trials=guesses()[:1], models=[])
    anchors = [[each.anchor for each in chart_sections(find(found))] for found in (reconstructed(), other)]
    assert ["bits" in each for each in anchors] == [True, False]
