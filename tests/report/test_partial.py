"""What a report says of a provider that tells less than its release has room for."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.report.answer import sentences
from leakrange.report.caveats import caveats
from leakrange.report.effects import effects
from leakrange.report.findings import Findings, find
from leakrange.scenario.results import TrialResult
from tests.report.build import area, estimates, run

LABELS = (
    "“bank” answers with labels alone: its release is 1 for the class that it decided on, and 0 for all"
    " others. What it does not tell is not measured."
)
IN_VAIN = (
    "loss and rmia read how sure a model is, and “bank” does not tell it. Attacks that find members by"
    " labels, with many questions around each record, were not run: no all-clear follows from those."
)


def trial(attack: str, kind: str, defence: str = "none") -> TrialResult:
    """A trial that finds nothing, with certainty."""
    return TrialResult(
        id=f"bank.{attack}.{defence}",
        kind=kind,
        provider="bank",
        data="customers",
        behaviour="remote",
        release="softmax",
        target="late",
        sensitive="membership",
        defence=defence,
        attack=attack,
        knowledge="unaware",
        budget=500,
        seed=0,
        state="done",
        metrics=estimates({"auc": area(0.5, 5000, 5000)}),
    )


def findings_of(answers: str, *trials: TrialResult, **attacks: str) -> Findings:
    endpoint: dict[str, Any] = {"card": {"answers": answers}}
    scenario = {
        "providers": {"bank": {"endpoint": endpoint}, "ours": {}},
        "defences": {
            "none": [],
            "cut": [1],
            "labels": [{"round": {"decimals": 1}}, "argmax"],
            "memguard": [{"prune": {"amount": 0.5}}, {"memguard": {"weights": [1.0], "bias": -0.9}}],
            "hamp": ["hamp"],
            "noisy-vote": [{"noisy-vote": {"voters": 10, "sigma": 2.0}}],
            "top-1": [{"top-k": {"k": 1}}],
            "top-2": [{"top-k": {"k": 2}}],
        },
        "attacks": {label: {"kind": name} for label, name in attacks.items()},
    }
    return find(run(trials=[*trials], models=[], ledger=[], scenario=scenario))


MEMBERSHIP = (trial("loss", "membership"), trial("rmia", "membership"))


def test_labels_alone_are_no_all_clear_of_membership() -> None:
    findings = findings_of("labels", *MEMBERSHIP)
    text = " ".join(sentences(findings))
    assert "No leak was found" not in text
    assert "It hides how sure the model is, and no attack that was run is made for labels alone" in text
    assert {LABELS, IN_VAIN} <= set(caveats(findings))


def test_no_defence_stops_what_nobody_could_have_found() -> None:
    defended = findings_of("labels", *MEMBERSHIP, trial("loss", "membership", "cut"))
    [verdict] = {each.word for (_, defence), each in defended.verdicts.items() if defence == "cut"}
    assert verdict == "unclear"
    assert not any(effect for effect in effects(defended) if "stops" in str(effect))


def test_an_attack_by_labels_makes_an_all_clear_of_them() -> None:
    """Whether the model tells labels alone, or the API before it."""
    for answers, defence in (("labels", "none"), ("all", "labels")):
        trials = [trial("loss", "membership", defence), trial("around", "membership", defence)]
        [before] = findings_of(answers, *trials, loss="loss-threshold", around="rmia").verdicts.values()
        assert (before.word, before.why) == ("unclear", "labels")
        for name in ("boundary", "label-votes", "oslo"):
            findings = findings_of(answers, *trials, loss="loss-threshold", around=name)
            assert {verdict.word for verdict in findings.verdicts.values()} == {"none"}
            assert not any("no all-clear follows" in note for note in caveats(findings))
    [rounded] = findings_of(
        "all", trial("loss", "membership", "cut"), loss="loss-threshold"
    ).verdicts.values()
    assert rounded.word == "none"


@pytest.mark.parametrize("defence", ["memguard", "hamp", "noisy-vote", "top-1"])
def test_attacks_that_read_scores_give_no_all_clear_of_a_defence_that_hides_these(defence: str) -> None:
    trials = [trial("loss", "membership", defence), trial("lira", "membership", defence)]
    findings = findings_of("all", *trials, loss="loss-threshold", lira="lira")
    [verdict] = findings.verdicts.values()
    assert (verdict.word, verdict.why) == ("unclear", "labels")
    by_labels = findings_of(
        "all", *trials, trial("votes", "membership", defence), loss="loss-threshold", votes="label-votes"
    )
    assert {verdict.word for verdict in by_labels.verdicts.values()} == {"none"}


def test_two_classes_still_tell_how_sure_a_model_is() -> None:
    [verdict] = findings_of(
        "all", trial("loss", "membership", "top-2"), loss="loss-threshold"
    ).verdicts.values()
    assert verdict.word == "none"


@pytest.mark.parametrize(
    ("answers", "kind"), [("all", "membership"), ("top", "membership"), ("labels", "attribute")]
)
def test_an_attack_that_reads_all_that_is_told_gives_an_all_clear(answers: str, kind: str) -> None:
    findings = findings_of(answers, trial("outside", kind))
    assert {verdict.word for verdict in findings.verdicts.values()} == {"none"}
    notes = " ".join(caveats(findings))
    assert "all-clear" not in notes
    assert ("“bank”" in notes) is (answers != "all")
