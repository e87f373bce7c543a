"""Clouds of users' features: a panel for the samples and for each defence, a colour for each class."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np

from leakrange.report.charts.panels import Cloud, Panels
from leakrange.report.charts.standalone import standalone
from leakrange.report.findings import find
from leakrange.report.sections import chart_sections
from leakrange.report.views import views
from leakrange.scenario.results import RunResults
from tests.report.build import run


def shown() -> RunResults:
    """A run whose trials under two defences hold planes of five users."""
    made = run(classes={"digits": {"loop": ["open", "closed"]}})
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(5, 2)).round(2).tolist()
    trials = []
    for each in made.trials:
        view = {"classes": [0, 1, 1, 0, 1], "released": rng.normal(size=(5, 2)).tolist(), "samples": samples}
        own = {"embedding": view} if each.defence in ("none", "rounded") else {}
        trials.append(each.model_copy(update={"views": own}))
    return made.model_copy(update={"trials": trials})


def test_samples_and_each_defence_have_a_panel() -> None:
    findings = find(shown())
    drawn = views["embedding"].draw(findings, findings.subjects[0])
    assert isinstance(drawn, Panels)
    assert [cloud.name for cloud in drawn.clouds] == ["samples as they are", "none", "rounded"]
    svg = ET.fromstring(drawn.svg)
    assert [text.text for text in svg.iter("text")] == [cloud.name for cloud in drawn.clouds]
    colours = [circle.get("fill") for circle in svg.iter("circle")]
    assert (colours.count("var(--s1)"), colours.count("var(--s2)")) == (6, 9)
    assert [(key.text, key.colour) for key in drawn.keys] == [("open", 1), ("closed", 2)]
    assert "loop" in drawn.label


def test_points_lie_in_their_own_panel_and_keep_their_places() -> None:
    clouds = tuple(Cloud(f"d{n}", [(0.0, 0.0), (10.0, 5.0), (5.0, 10.0)], [1, 2, 3]) for n in range(4))
    svg = ET.fromstring(Panels("t", "l", clouds=clouds).svg)
    frames = [{name: float(value) for name, value in each.items() if name in ("x", "y", "width", "height")}
              for each in svg.iter("rect")]  # fmt: skip
    spots = [(float(str(each.get("cx"))), float(str(each.get("cy")))) for each in svg.iter("circle")]
    assert len(frames) == 4
    for number, frame in enumerate(frames):
        own = spots[3 * number : 3 * number + 3]
        for x, y in own:
            assert frame["x"] < x < frame["x"] + frame["width"]
            assert frame["y"] < y < frame["y"] + frame["height"]
        assert own[0][0] < own[2][0] < own[1][0]
        assert own[2][1] < own[1][1] < own[0][1]  # up is up
    assert frames[3]["y"] > frames[0]["y"] == frames[2]["y"]
    width, height = map(float, str(svg.get("viewBox")).split()[2:])
    assert all(x < width and y < height for x, y in spots)


def test_a_long_name_is_cut_and_told_in_full() -> None:
    name = "everything that is known of defences"
    svg = Panels("t", "l", clouds=(Cloud(name, [(0.0, 0.0)], [1]),)).svg
    assert f"<title>{name}</title>" in svg
    assert f">{name[:23]}…" in svg


def test_nothing_is_drawn_where_nothing_was_placed() -> None:
    findings = find(run())
    assert views["embedding"].draw(findings, findings.subjects[0]) is None


def test_a_report_has_the_section_where_a_trial_has_a_plane() -> None:
    results = shown()
    few = [each for each in results.trials if each.provider == "digits-honest" and each.budget == 1000]
    for trials, there in ((few, True), ([each.model_copy(update={"views": {}}) for each in few], False)):
        sections = chart_sections(find(results.model_copy(update={"trials": trials, "models": []})))
        assert ("embedding" in [section.anchor for section in sections]) is there


def test_the_chart_stands_alone() -> None:
    svg = standalone(Panels("t", "l", clouds=(Cloud("none", [(0.0, 0.0), (1.0, 2.0)], [1, 2]),)))
    assert ET.fromstring(svg).tag.endswith("svg")
    assert svg.count("<circle") == 2
