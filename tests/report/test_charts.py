"""A chart is a specification that any Vega-Lite can draw, and an SVG that needs nothing but the page."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import altair as alt
import pytest
from jsonschema import Draft7Validator

from leakrange.report.charts.drawing import (
    Axis,
    Chart,
    Picture,
    area,
    bars,
    cells,
    lines,
    picture,
    points,
    rules,
)
from leakrange.report.findings import Findings, Subject, find
from leakrange.report.sections import chart_sections
from leakrange.report.views import View, views
from tests.report.build import run, trials

X, Y = Axis("epoch", "count", ends=(0, 10)), Axis("right", "share", ends=(0.5, 1.0))


def pictures() -> list[Picture]:
    few = run(trials=[trial for trial in trials() if trial.provider.startswith("digits")])
    return [
        shown for section in chart_sections(find(few)) for group in section.groups for shown in group.pictures
    ]


def vega_lite() -> Draft7Validator:
    """The schema as Altair ships it. Altair itself tries every alternative of it on every part."""
    [schema] = Path(alt.__file__).parent.rglob("vega-lite-schema.json")
    return Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))


def test_every_specification_is_valid_and_can_be_sent_as_json() -> None:
    """They are not checked while they are made: that takes longer than to draw them."""
    found = [shown for shown in pictures() if isinstance(shown, Chart)]
    assert len(found) > 20
    schema = vega_lite()
    for shown in found:
        sent = json.loads(json.dumps(shown.specification))
        schema.validate(sent)
        assert sent["layer"]
    assert not schema.is_valid(sent | {"layer": [{"mark": "no such mark"}]})


def row(**more: object) -> dict[str, object]:
    return {"x": 5, "y": 0.75, "line": "a", "colour": 1, "marker": 2, "tip": "a tip <here>"} | more


def drawn(*layers: object) -> ET.Element:
    return ET.fromstring(picture("t", "in words", list(layers), size=(400, 300)).svg)  # type: ignore[arg-type]


def place(element: ET.Element) -> tuple[float, float]:
    found = re.match(r"translate\(([\d.-]+),([\d.-]+)\)", element.attrib["transform"])
    assert found is not None
    return float(found[1]), float(found[2])


def test_a_mark_lies_where_its_figures_say_and_tells_them() -> None:
    """Inside margins of 30, 12, 44 and 46 the axes take 342 × 226 pixels; 5 of 10 is the middle."""
    chart = drawn(points([row(), row(x=10, y=1.0)], X, Y))
    middle, corner = chart.findall(".//path[@class='tip']")
    assert place(middle) == (171, 113)
    assert place(corner) == (342, 0)
    assert middle.attrib["fill"] == "var(--s1)"
    assert [title.text for title in chart.iter("title")] == ["a tip <here>"] * 2
    assert chart.attrib == {
        "viewBox": "0 0 400 300", "role": "img", "aria-label": "in words", "class": "chart"
    }  # fmt: skip


def test_no_mark_is_cut_where_vega_finds_the_ends_of_an_axis() -> None:
    chart = drawn(points([row(y=9.5), row(y=22.0)], X, Axis("PSNR", "dB"), size=42))
    (_, lowest), (_, highest) = map(place, chart.findall(".//path[@class='tip']"))
    reach = math.sqrt(42 / math.pi)  # the radius of a disc of that size
    assert reach <= highest < lowest <= 226 - reach


@pytest.mark.parametrize(
    ("layer", "kind", "count"),
    [
        (
            lines([row(x=1), row(x=2), row(line="b"), row(line="b", x=9)], X, Y),
            "path[@stroke='var(--s1)']",
            2,
        ),
        (rules([{"y": 0.6}], None, Y, guide=True), "line[@stroke-dasharray='3,3']", 1),
        (rules([row(x2=7), row(x2=8)], X, Y), "line[@stroke='var(--s1)']", 2),
        (bars([row(x2=7), row(x=7, x2=8)], X, Axis("n", ends=(0, 1))), "path[@fill='var(--s1)']", 2),
        (area([row(y2=0.6), row(x=7, y2=0.6)], X, Y), "path[@fill='var(--s1)']", 1),
    ],
    ids=["lines", "guide", "spans", "bars", "area"],
)
def test_each_kind_of_mark_is_drawn_once_for_what_it_stands_for(layer: object, kind: str, count: int) -> None:
    assert len(drawn(layer).findall(f".//{kind}")) == count


def test_ticks_are_in_the_axis_unit() -> None:
    texts = {text.text for text in drawn(points([row()], X, Y)).iter("text")}
    assert {"epoch", "right", "100\N{NO-BREAK SPACE}%", "10"} <= texts


def test_two_charts_share_no_identifier_and_the_same_chart_is_the_same_text() -> None:
    first, again, other = (picture("t", said, [points([row()], X, Y)]).svg for said in ("a", "a", "b"))
    assert first == again
    names = [set(re.findall(r'id="([^"]+)"', svg)) for svg in (first, other)]
    assert names[0]
    assert not names[0] & names[1]


def test_a_cell_stands_at_its_names_and_is_as_full_as_its_share() -> None:
    names = Axis("guessed", names=["0", "1"])
    rows = [
        {"x": x, "y": y, "share": share, "text": f"{share:.0%}", "tip": ""}
        for x, y, share in (("0", "0", 1.0), ("1", "0", 0.0), ("0", "1", 0.5), ("1", "1", 0.5))
    ]
    chart = drawn(*cells(rows, names, names))
    full = [float(cell.attrib["opacity"]) for cell in chart.findall(".//path[@class='tip']")]
    assert full[0] > full[2] == full[3] > full[1]
    assert [text.text for text in chart.iter("text")].count("50%") == 2


def test_a_view_from_elsewhere_has_a_section_and_draws_what_trials_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever adds a kind of attack adds its picture by name; the report knows neither."""

    def draw(findings: Findings, subject: Subject) -> Picture | None:
        row = findings.open(subject)
        found = (
            [each.views["spectrum"] for each in findings.trials(row) if "spectrum" in each.views]
            if row
            else []
        )
        rows = [
            {"x": place, "y": value, "line": "", "colour": 0, "tip": ""} for place, value in enumerate(found)
        ]
        return picture(subject.provider, "a spectrum", [lines(rows, X, Y)]) if rows else None

    list(views)
    monkeypatch.setitem(views._entries, "spectrum", View("Spectra", "What came back.", draw))
    first, *others = [trial for trial in trials() if trial.provider == "digits-honest"]
    assert first.defence == "none"
    seen = [
        {section.anchor: section.groups for section in chart_sections(find(run(trials=found, models=[])))}
        for found in ([first.model_copy(update={"views": {"spectrum": 0.7}})], others)
    ]
    assert len(seen[0]["spectrum"]) == 1
    assert "spectrum" not in seen[1]


def test_a_distribution_has_every_member_and_every_other() -> None:
    findings = find(run())
    drawn = views["distribution"].draw(findings, findings.subjects[0])
    assert drawn is not None
    told = re.findall(r"(\d) of 4 (members|others)", drawn.svg)
    for who in ("members", "others"):
        assert sum(int(count) for count, whose in told if whose == who) == 4
    assert "mean" in {text.text for text in ET.fromstring(drawn.svg).iter("text")}


def test_a_confusion_matrix_names_the_classes() -> None:
    findings = find(run(classes={"digits": {"loop": ["open", "closed"]}}))
    named, numbered = (views["confusion"].draw(findings, subject) for subject in findings.subjects[::4])
    assert named is not None
    assert numbered is not None
    assert {text.text for text in ET.fromstring(named.svg).iter("text")} >= {"open", "closed"}
    assert "open taken for closed" in named.svg
    assert {text.text for text in ET.fromstring(numbered.svg).iter("text")} >= {"0", "1"}
