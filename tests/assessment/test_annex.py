"""The annex says what was executed, what was left out and what is out of scope, each with its reason."""

from __future__ import annotations

import pytest

from leakrange.assessment.annex import CLAIM, AnnexRow, annex, identifiers_of
from leakrange.assessment.document import Assessment
from tests.assessment.examples import LIRA, cannot_tell, leaks, passes, unmade


def _row(assessment: Assessment, identifier: str) -> AnnexRow:
    [row] = [each for each in annex(assessment) if each.identifier == identifier]
    return row


@pytest.mark.parametrize(
    ("identifier", "title"),
    [
        ("AML.T0024", "Exfiltration via AI Inference API"),
        ("AML.T0024.000", "Infer Training Data Membership"),
        ("AML.T0024.001", "Invert AI Model"),
        ("AML.T0024.002", "Extract AI Model"),
        ("AML.M0002", "Passive AI Output Obfuscation"),
        ("AML.M0004", "Restrict Number of AI Model Queries"),
        ("ML03:2023", "Model Inversion Attack"),
        ("ML04:2023", "Membership Inference Attack"),
        ("ML05:2023", "Model Theft"),
    ],
)
def test_titles_are_those_of_the_data_that_the_bodies_publish(identifier: str, title: str) -> None:
    assert _row(leaks(), identifier).title == title


def test_each_framework_has_each_of_its_identifiers_once_and_says_how_it_was_checked() -> None:
    rows = annex(leaks())
    assert len({row.identifier for row in rows}) == len(rows) == 21
    assert {row.identifier for row in rows} >= {f"NISTAML.{number:03}" for number in (31, 32, 33, 34)}
    assert all(row.because and row.checked for row in rows)
    assert [row.framework for row in rows if "not at hand" in row.checked] == [
        *["NIST AI 100-2e2025"] * 4,
        *["EDPB Opinion 28/2024"] * 3,
    ]


def test_what_was_executed_names_attacks_and_conclusions() -> None:
    membership = _row(leaks(), "AML.T0024.000")
    assert (membership.state, membership.because) == ("executed", "by loss-threshold; membership: leaks")
    attribute = _row(leaks(), "AML.T0024")
    assert (attribute.state, attribute.because) == ("executed", "by attribute-inference; smoker: leaks")
    assert "no technique of its own" in attribute.note


def test_an_attack_in_scope_that_was_not_made_is_named_with_its_reason() -> None:
    assert _row(unmade(), "NISTAML.033").because.endswith(f"not run: lira: {LIRA.why}")
    plan = passes().plan.model_copy(update={"attacks": (LIRA,)})
    alone = passes().model_copy(update={"plan": plan, "attacks": ()})
    row = _row(alone, "ML04:2023")
    assert (row.state, row.because) == ("in scope, not run", f"lira: {LIRA.why}")


def test_a_planned_attack_without_a_figure_was_not_executed() -> None:
    row = _row(passes().model_copy(update={"attacks": passes().attacks[:1]}), "AML.T0024.000")
    assert row.state == "in scope, not run"
    assert row.because == "loss-threshold: it was planned, and its run gave no figure"


def test_what_is_out_of_scope_says_why() -> None:
    extraction = _row(leaks(), "AML.T0024.002")
    assert extraction.state == "not in scope"
    assert extraction.because.startswith("extraction: it copies the model")
    assert _row(cannot_tell(), "AML.T0024").because == "no attack on it is known to this version"
    assert _row(leaks(), "NISTAML.034").state == "not in scope"


def test_measures_are_executed_where_prices_and_advice_are_there() -> None:
    assert _row(leaks(), "AISVS 11.2.2").because == leaks().prices[0].sentence
    assert _row(leaks(), "AML.M0002").because == leaks().advice[0].sentence
    assert _row(passes(), "AISVS 11.2.2").state == "not in scope"
    bare = leaks().model_copy(update={"prices": (), "advice": ()})
    assert _row(bare, "AML.M0004").state == "in scope, not run"
    assert _row(bare, "AISVS 11.3.2").because == "no policy was tried on the answers"


def test_tests_are_evidence_of_resistance_to_the_attacks_that_were_made_alone() -> None:
    because = _row(leaks(), "paragraph 55").because
    assert "evidence about attribute-inference, loss-threshold alone" in because
    for part in ("Scope: membership, smoker", "once, 2026-11-28", "1,573 samples", "leads from 0.066"):
        assert part in because
    assert "auxiliary records with the hidden attribute" in _row(leaks(), "paragraph 58").because
    assert "shadow models" not in _row(unmade(), "paragraph 58").because
    nothing = leaks().model_copy(update={"attacks": ()})
    assert _row(nothing, "paragraph 55").state == "in scope, not run"


def test_the_identifiers_of_a_question_are_those_of_its_attacks() -> None:
    expected = ["AML.T0024.000", "NISTAML.033", "ML04:2023", "AISVS 11.1.3", "AISVS 11.2.5"]
    assert identifiers_of("membership") == expected
    assert identifiers_of("other") == []
    assert "compliance with none" in CLAIM
