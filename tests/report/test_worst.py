"""The worst leak of a run, on results of which the truth is known."""

from __future__ import annotations

import pytest

from leakrange.report.findings import find
from leakrange.report.worst import worst_leak
from tests.report.build import area
from tests.report.test_headline import FEW, Cell, results

CANNOT = area(0.52, FEW, FEW)


@pytest.mark.parametrize(
    ("cells", "grade", "sentence"),
    [
        (
            [("mild", "none", 0.66), ("plain", "none", 0.93), ("plain", "rounded", 0.92)],
            "E",
            "“plain” gives away “beard”: AUC 0.930",
        ),
        (
            [("one", "none", 0.61), ("one", "rounded", 0.97)],
            "E",
            "“one” gives away “beard”, behind “rounded”: AUC 0.970",
        ),
        ([("safe", "none", 0.501)], "A", "No leak found; nearest to one is “beard” of “safe”: AUC 0.501"),
        (
            [("safe", "none", 0.501), ("few", "none", CANNOT)],
            "?",
            "Whether “few” gives away “beard” cannot be told: AUC 0.520",
        ),
    ],
)
def test_the_worst_of_all_providers_and_defences_is_told(
    cells: list[Cell], grade: str, sentence: str
) -> None:
    worst = worst_leak(find(results(cells)))
    assert worst is not None
    assert (worst.grade, worst.sentence.replace("\N{NO-BREAK SPACE}", " ")) == (grade, sentence)


def test_a_run_without_an_ended_attack_has_none() -> None:
    assert worst_leak(find(results([("one", "none", None)]))) is None


def test_runs_are_ranked_by_their_grade_and_then_by_how_far_it_goes() -> None:
    runs: list[list[Cell]] = [
        [("a", "none", 0.501)],
        [("a", "none", CANNOT)],
        [("a", "none", 0.62)],
        [("a", "none", 0.80)],
        [("a", "none", 0.99)],
    ]
    ranks = [worst.rank for cells in runs if (worst := worst_leak(find(results(cells))))]
    assert len(ranks) == len(runs)
    assert ranks == sorted(set(ranks))
