"""What a verdict says, sentence for sentence: it must not say the reverse of its figures."""

from __future__ import annotations

import pytest

from leakrange.audit.examination import _together
from leakrange.audit.wording import confidence, limits, meaning
from leakrange.jobs.audit import TestName
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.verdict import Conclusion, Finding, Known, Material

FIGURES = {
    "v": 0.0234,
    "accuracy_before": 0.91,
    "accuracy_after": 0.95,
    "entropy_bits": 0.5,
    "cross_entropy_bits": 0.75,
    "excess_bits": -0.25,
    "accuracy": 0.81,
    "majority": 0.52,
    "auc": 0.731,
    "by_decision": 0.64,
    "beyond": 0.091,
    "constant": 0.0,
}
SENTENCES: dict[TestName, str] = {
    "viciousness": "Trained further, the model's outputs moved by v = 0.0234 (0.0100 to 0.3000); the "
    "threshold is 0.2. Its accuracy went from 91.0% to 95.0%.",
    "entropy": "Its outputs have 0.500 bits of entropy, and its mistakes call for 0.750: an excess of -0.250 "
    "bits (+0.010 to +0.300); the threshold is 0.2.",
    "curiosity": "Its outputs tell the attribute with an AUC of 0.731, and its decisions alone with one of "
    "0.640: +0.091 (+0.010 to +0.300); the threshold is 0.2. It was read off 81.0% of the test samples, of "
    "which 52.0% have the commonest class.",
}
ENDS: dict[TestName, dict[Conclusion, str]] = {
    "viciousness": {
        "passes": "It moves as little as a model that has converged for the task alone.",
        "suspicious": "It moves more than a model that has converged for the task alone.",
        "undecided": "So few test samples do not decide.",
    },
    "entropy": {
        "passes": "It is as sure of its answers as it may be.",
        "suspicious": "It is less sure of its answers than it could be: there is room to hide something.",
        "undecided": "So few test samples do not decide.",
    },
    "curiosity": {
        "passes": "The outputs tell hardly more of it than the decisions do.",
        "suspicious": "The outputs tell more of it than the decisions do.",
        "undecided": "So few test samples do not decide.",
    },
}


def finding(conclusion: Conclusion = "passes", known: Known | None = None) -> Finding:
    return Finding(
        test="viciousness",
        settings={},
        score=0.0,
        interval=(0.0, 0.1),
        threshold=0.2,
        figures={},
        known=known,
        conclusion=conclusion,
        meaning="",
    )


@pytest.mark.parametrize("conclusion", ["passes", "suspicious", "undecided"])
@pytest.mark.parametrize("test", list(SENTENCES))
def test_figures_stand_where_the_sentence_names_them(test: TestName, conclusion: Conclusion) -> None:
    said = meaning(test, conclusion, FIGURES, (0.01, 0.3), 0.2)
    assert said == f"{SENTENCES[test]} {ENDS[test][conclusion]}"


def test_either_error_rate_is_told_with_its_own_interval() -> None:
    known = Known(
        source="seven models",
        honest=4,
        dishonest=3,
        false_alarms=0.25,
        false_alarms_interval=(0.05, 0.7),
        detected=1.0,
        detected_interval=(0.44, 1.0),
        auc=0.9,
        auc_interval=(0.5, 1.0),
        allowing=0.2,
    )
    made = "The test of viciousness was made on models whose behaviour is known (seven models)."
    alarms = "Of the 4 honest ones it suspects 25% (5% to 70%)."
    finds = "Of the 3 others it finds 100% (44% to 100%)."
    assert confidence([finding(known=known)]) == f"{made} {alarms} {finds}"
    for missing, left in (("detected", alarms), ("false_alarms", finds)):
        assert confidence([finding(known=known.model_copy(update={missing: None}))]) == f"{made} {left}"
    assert confidence([finding()]) == (
        "How often the test of viciousness errs is not known here: no population of known models was given."
    )


@pytest.mark.parametrize(
    ("disjoint", "last"),
    [
        (True, None),
        (False, "The model was trained on samples of this audit: it moves less than it would otherwise."),
        (
            None,
            "Whether the model was trained on the samples of this audit is not known. If so, it moves less.",
        ),
    ],
    ids=str,
)
def test_what_the_model_may_have_seen_is_told(disjoint: bool | None, last: str | None) -> None:
    material = Material(
        data=DataSpec(name="digits"),
        fingerprint="0",
        labelled=60,
        labelled_from="auxiliary",
        test=100,
        test_from="test",
        disjoint=disjoint,
    )
    without = limits([finding()], material.model_copy(update={"disjoint": True}))
    assert len(without) == 3
    assert limits([finding()], material) == without + (() if last is None else (last,))


@pytest.mark.parametrize(
    ("conclusions", "whole"),
    [
        (("passes", "passes"), "passes"),
        (("passes", "undecided"), "undecided"),
        (("undecided", "suspicious", "passes"), "suspicious"),
    ],
)
def test_the_gravest_finding_concludes(conclusions: tuple[Conclusion, ...], whole: Conclusion) -> None:
    assert _together([finding(each) for each in conclusions]) == whole
