"""The frontier holds the defences that no other one beats, and no others."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from leakrange.report.charts.drawing import Chart
from leakrange.report.charts.frontier import frontier, frontiers
from leakrange.report.findings import find
from leakrange.report.sections import chart_sections
from leakrange.scenario.results import RunResults
from tests.report.reconstructed import DEFENCES, UTILITY, psnr, reconstructed, trials


def beaten(name: str, reached: dict[str, tuple[float, float]]) -> bool:
    """Whether another is as good in both and better in one, by the definition."""
    used, leaked = reached[name]
    return any(
        (u > used and found <= leaked) or (u >= used and found < leaked) for u, found in reached.values()
    )


def test_it_holds_exactly_the_points_that_none_dominates() -> None:
    for seed in range(200):
        dice = random.Random(seed)  # few values, so that many points tie
        reached = {str(n): (dice.randint(0, 4) / 4, float(dice.randint(0, 4))) for n in range(8)}
        held = frontier(reached)
        assert sorted(held) == sorted(name for name in reached if not beaten(name, reached))
        steps = [reached[name] for name in held]
        assert all(a <= b for a, b in itertools.pairwise(steps))


def drawn(results: RunResults, provider: str = "vicious") -> dict[str, Chart]:
    findings = find(results)
    [subject] = [each for each in findings.subjects if each.provider == provider]
    made = {picture.title: picture for picture in frontiers(findings, subject)}
    assert all(isinstance(each, Chart) for each in made.values())
    return made  # type: ignore[return-value]


def layer(chart: Chart, mark: str) -> list[dict[str, Any]]:
    [rows] = [each["data"]["values"] for each in chart.specification["layer"] if each["mark"]["type"] == mark]
    return list(rows)


STRONGEST = {"none": 19.9, "softmax": 15.3, "rounded": 12.2, "noise": 16.4, "argmax": 9.6}


def test_the_line_is_that_of_the_strongest_attackers_by_each_measure() -> None:
    """Plain attackers alone would put noise on it; adapted ones average the noise away."""
    charts = drawn(reconstructed())
    assert list(charts) == ["PSNR", "SSIM", "R, published inverse"]
    assert min(psnr("vicious", each, "inside", "unaware") for each in DEFENCES) == psnr(
        "vicious", "noise", "inside", "unaware"
    )
    expected = {
        "PSNR": ["argmax", "rounded", "softmax"],
        "SSIM": ["rounded", "softmax"],
        "R, published inverse": ["argmax", "rounded", "softmax"],
    }
    for title, names in expected.items():
        assert [row["tip"] for row in layer(charts[title], "line")] == [f"frontier: {name}" for name in names]
        assert charts[title].note.endswith(f"on the frontier: {', '.join(names)}")
    line = [(row["x"], row["y"]) for row in layer(charts["PSNR"], "line")]
    assert line == [pytest.approx((UTILITY[each][0] - 0.003, STRONGEST[each])) for each in expected["PSNR"]]


def test_plain_and_adaptive_attackers_are_told_apart_on_each_defence() -> None:
    marks = layer(drawn(reconstructed())["PSNR"], "point")
    told = {mark["tip"].partition(":")[0]: (mark["marker"], mark["y"], mark["tip"]) for mark in marks}
    plain = {each: psnr("vicious", each, "inside", "unaware") for each in DEFENCES}
    for defence in DEFENCES:
        marker, height, tip = told[f"{defence} against inside (unaware, plain)"]
        assert (marker, height) == (0, pytest.approx(plain[defence]))
    adapted = {"softmax": "aware", "rounded": "aware", "noise": "averaging", "argmax": "aware"}
    for defence, knowledge in adapted.items():
        marker, height, tip = told[f"{defence} against outside ({knowledge}, adaptive)"]
        assert (marker, height) == (3, pytest.approx(STRONGEST[defence]))
        accuracy, top3, calibration = UTILITY[defence]
        said = tip.replace("\N{NO-BREAK SPACE}", " ")
        assert f"honesty {100 * (accuracy - 0.003):.1f} %" in said
        assert f"top-3 accuracy {100 * (top3 - 0.003):.1f} %" in said
        assert f"calibration error {calibration + 0.003:.3f}" in said
        assert f"PSNR {STRONGEST[defence]:.2f} dB" in said
    assert len(marks) == len(told) == 9


def test_the_report_has_one_for_each_provider_and_no_plane_of_decibels() -> None:
    [plane] = [each for each in chart_sections(find(reconstructed())) if each.anchor == "plane"]
    assert [(group.heading, len(group.pictures)) for group in plane.groups] == [
        ("drawn-digits: honest", 3), ("drawn-digits: vicious", 3)
    ]  # fmt: skip
    assert "that no other beats in both" in plane.lead
    unserved = [each.model_copy(update={"metrics": {"psnr": each.metrics["psnr"]}}) for each in trials()]
    [plane] = [each for each in chart_sections(find(reconstructed(*unserved))) if each.anchor == "plane"]
    assert "No finished trial has both" in plane.missing
