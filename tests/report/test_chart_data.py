"""Every chart has the data that it is drawn from, and says how they were measured."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import re

import pytest

from leakrange.metrics import Estimate, metrics
from leakrange.report import render
from leakrange.report.charts.drawing import Chart
from leakrange.report.charts.picture import Picture
from leakrange.report.findings import Findings, find
from leakrange.report.sections import chart_sections
from leakrange.report.views import views
from leakrange.scenario.results import RunResults
from leakrange.wire.views import Column, Table
from tests.report.build import run, trials
from tests.report.reconstructed import reconstructed


def shown(findings: Findings) -> dict[str, list[Picture]]:
    return {
        section.anchor: [picture for group in section.groups for picture in group.pictures]
        for section in chart_sections(findings)
    }


def read(picture: Picture) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(picture.table.csv())))


@pytest.mark.parametrize("made", [run, reconstructed])
def test_every_chart_has_a_table_of_measures_with_equations(made: object) -> None:
    results: RunResults = made()  # type: ignore[operator]
    found = [picture for pictures in shown(find(results)).values() for picture in pictures]
    assert len(found) > 10
    assert len({picture.name for picture in found}) == len(found)
    for picture in found:
        assert picture.table.rows, picture.label
        assert all(len(row) == len(picture.table.columns) for row in picture.table.rows), picture.label
        headings = {column.heading for column in picture.table.columns}
        assert not headings & {"colour", "dash", "marker", "order", "tip", "x2", "y2"}
        assert picture.definition.terms, picture.label
        assert re.search(r"\d\sseed|one seed|answered requests", picture.definition.counted), picture.label
        assert picture.definition.interval, picture.label
        for term in picture.definition.terms:
            if term.name:
                assert term.equation == metrics[term.name].equation, picture.label


def test_the_plane_has_means_deviations_and_intervals_of_its_seeds() -> None:
    findings = find(run())
    plane = shown(findings)["plane"][0]
    [found] = [
        row for row in read(plane)
        if (row["provider"], row["defence"], row["budget (samples)"])
        == ("digits-parameterized-raw", "noise", "1000")
    ]  # fmt: skip
    own = [
        trial.metrics["auc"].value for trial in trials()
        if (trial.provider, trial.defence, trial.budget) == ("digits-parameterized-raw", "noise", 1000)
    ]  # fmt: skip
    assert found["seeds"] == "2"
    assert float(found["AUC (0 to 1)"]) == pytest.approx(sum(own) / 2)
    spread = abs(own[0] - own[1]) / 2**0.5
    assert float(found["AUC, deviation (0 to 1)"]) == pytest.approx(spread)
    high = float(found["AUC, 95 % to (0 to 1)"])
    assert high == pytest.approx(sum(own) / 2 + 12.7062047 * spread / 2**0.5)  # Student's t, one degree
    assert "2\N{NO-BREAK SPACE}seeds" in plane.definition.counted
    assert "Student’s t" in plane.definition.interval
    [auc] = [term for term in plane.definition.terms if term.name == "auc"]
    assert (auc.direction, auc.unit) == ("higher leaks more", "0 to 1")
    assert "Newcombe" in auc.interval


def test_the_frontier_of_a_provider_is_on_its_plane() -> None:
    """Of no two providers together: nobody can choose another provider by a defence."""
    few = [
        t for t in trials() if t.provider == "digits-honest" and t.budget == 1000 and t.knowledge == "aware"
    ]
    plane = shown(find(run(trials=few, models=[])))["plane"][0]
    assert isinstance(plane, Chart)
    marks = [row for layer in plane.specification["layer"] for row in layer["data"]["values"]]
    said = {row["tip"] for row in marks if "tip" in row}
    on = {tip.removeprefix("frontier: ") for tip in said if tip.startswith("frontier: ")}
    rows = {row["defence"]: row for row in read(plane)}
    use, leak = "honesty (share of 1)", "AUC (0 to 1)"
    for name, row in rows.items():
        beaten = any(
            float(other[use]) >= float(row[use]) and float(other[leak]) < float(row[leak])
            for other in rows.values()
        )
        assert (name in on) == (not beaten), name
    assert 0 < len(on) < len(rows)


def test_reconstructions_have_each_users_figures() -> None:
    results = reconstructed()
    picture = next(iter(shown(find(results))["reconstructions"]))
    rows = read(picture)
    [first] = [row for row in rows if row["user"] == "3" and row["defence"] == "noise"][:1]
    held = [
        trial.views["reconstructions"] for trial in results.trials
        if (trial.defence, trial.attack, trial.knowledge, str(trial.seed)) ==
        ("noise", first["attack"], first["knowledge"], first["seed"]) and trial.provider in picture.title
    ]  # fmt: skip
    assert first["PSNR (dB)"] == f"{held[0]['psnr'][2]:.9g}"


@pytest.mark.parametrize(
    ("figures", "expected"),
    [({"tpr_at_001": 0.31, "tpr_at_0001": 0.07}, {0.01: 0.31, 0.001: 0.07}), ({}, {0.01: None})],
)
def test_low_false_positive_rates_are_marked_by_the_metric_or_by_the_curve(
    figures: dict[str, float], expected: dict[float, float | None]
) -> None:
    [first] = [t for t in trials() if t.id == "digits/honest/none/aware/1000/1"]
    own = first.model_copy(
        update={"metrics": first.metrics | {name: Estimate(value=v) for name, v in figures.items()}}
    )
    findings = find(run(trials=[own], models=[]))
    drawn = views["roc-low"].draw(findings, findings.subjects[0])
    assert isinstance(drawn, Chart)
    *_, marks = drawn.specification["layer"]
    curve = dict(zip(first.views["roc"]["fpr"], first.views["roc"]["tpr"], strict=True))
    found = {row["x"]: row["y"] for row in marks["data"]["values"]}
    assert found == {rate: curve[rate] if value is None else value for rate, value in expected.items()}


def test_where_low_rates_were_not_measurable_nothing_is_marked() -> None:
    [first] = [t for t in trials() if t.id == "digits/honest/none/aware/1000/1"]
    coarse = {"roc": {"fpr": [0.0, 0.25, 1.0], "tpr": [0.0, 0.5, 1.0]}}
    findings = find(run(trials=[first.model_copy(update={"views": coarse})], models=[]))
    assert views["roc-low"].draw(findings, findings.subjects[0]) is None
    assert views["roc"].draw(findings, findings.subjects[0]) is not None


def test_names_stay_when_figures_change() -> None:
    """By them pages keep charts in place while a run goes on."""
    few, all_ = (find(run(trials=trials()[:count])) for count in (60, 120))
    early, late = ({p.name for p in shown(f)["confusion"]} for f in (few, all_))
    assert early
    assert early <= late


def test_a_report_holds_each_table_packed() -> None:
    few = run(trials=[t for t in trials() if t.provider == "digits-honest"], models=[])
    links = re.findall(r'data-packed href="data:application/gzip;base64,([^"]+)"', render(few))
    found = [gzip.decompress(base64.b64decode(link)).decode() for link in links]
    pictures = [picture for each in shown(find(few)).values() for picture in each]
    assert found == [picture.table.csv() for picture in pictures]


def test_a_table_guards_against_formulas_and_keeps_nine_digits() -> None:
    table = Table(
        [Column("=cmd"), Column.of("R", "number")], [["@a", 1 / 3], ["b", None], ["c", 12345678901]]
    )
    assert table.csv() == "'=cmd,R\r\n'@a,0.333333333\r\nb,\r\nc,12345678901\r\n"
    assert Table().csv() == ""
