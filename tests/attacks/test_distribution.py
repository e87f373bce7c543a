"""Tests of a training set's share: right where a share moves the answers, no better than chance elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, entropy

from leakrange.attacks import attacks
from leakrange.attacks.distribution import (
    DistributionAttack,
    KlTest,
    LossTest,
    ShadowedParameters,
    ShareClassifier,
    ShareEvidence,
    ThresholdTest,
)
from leakrange.metrics import auc, measured
from leakrange.metrics.distribution import ServedModel, SharesEstimated, SharesTold, records_that_tell
from leakrange.wire.errors import InvalidInput

RECORDS, CLASSES = 120, 3
NAMES = ("loss-test", "threshold-test", "kl-test", "share-classifier")
SHARES = (0.2, 0.5, 0.9)


def evidence(seed: int = 0, leak: float = 3.0, models: int = 24, release: str = "softmax") -> ShareEvidence:
    """Models whose confidence in the true class rises by ``leak`` times their share on records with the
    attribute, and falls by as much on the others. The first half of the observed models has the lowest
    share, the rest the highest."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(CLASSES, size=RECORDS)
    having = draw.random(RECORDS) < 0.4

    def answers(places: NDArray[np.integer]) -> NDArray[np.float64]:
        logits = draw.normal(size=(len(places), RECORDS, CLASSES))
        shares = np.asarray(SHARES)[places]
        moved = leak * np.where(having, shares[:, np.newaxis] - 0.5, 0.5 - shares[:, np.newaxis])
        logits[:, np.arange(RECORDS), labels] += 0.5 + moved
        powers = np.exp(logits)
        return powers / powers.sum(axis=2, keepdims=True)

    place = np.arange(models) % len(SHARES)
    observed = answers(np.repeat([0, 2], models // 2))
    shadows = answers(place)
    if release == "logits":
        observed, shadows = np.log(observed) + 7.0, np.log(shadows) - 2.0
    return ShareEvidence(observed, labels, having, shadows, place, SHARES, release)


def area(attack: DistributionAttack, given: ShareEvidence) -> float:
    return auc(attack.score(given), np.arange(len(given.observed)) >= len(given.observed) // 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("release", ["softmax", "logits"])
def test_a_share_that_moves_the_answers_is_told(name: str, release: str) -> None:
    attack = attacks[name]()
    given = evidence(release=release)
    assert area(attack, given) > 0.95
    assert ((attack.score(given) > 0) == (np.arange(24) >= 12)).mean() > 0.85


@pytest.mark.parametrize("name", NAMES)
def test_answers_that_no_share_moves_tell_nothing(name: str) -> None:
    areas = [area(attacks[name](), evidence(seed, leak=0.0)) for seed in range(12)]
    assert 0.35 < np.mean(areas) < 0.65


@pytest.mark.parametrize("name", ["threshold-test", "kl-test", "share-classifier"])
def test_what_is_learnt_from_shadows_knows_which_way_accuracies_go(name: str) -> None:
    """Models that do worse on what they saw more of, as where that side is the harder one."""
    given = evidence(leak=-3.0)
    assert area(attacks[name](), given) > 0.95
    assert area(LossTest(), given) < 0.05


def test_the_loss_test_is_the_difference_of_two_accuracies() -> None:
    answers = np.zeros((1, 5, 2))
    answers[0, [0, 1, 2, 3, 4], [1, 1, 0, 0, 1]] = 1.0
    labels, having = np.array([1, 1, 1, 0, 0]), np.array([True, True, True, False, False])
    given = ShareEvidence(answers, labels, having, answers[:0], np.zeros(0, int), (0.3, 0.7), "softmax")
    assert LossTest().score(given) == pytest.approx([2 / 3 - 1 / 2])
    assert given.accuracy(answers, 0.3) == pytest.approx([0.3 * 2 / 3 + 0.7 / 2])


def test_votes_of_the_kl_test_are_those_of_pairs_counted_one_by_one() -> None:
    given = evidence(3, leak=0.4, models=9)
    low, high = (given.shadows[given.place == end] for end in (0, 2))
    weights = [given.weights(share) for share in (0.2, 0.9)]
    for model, score in zip(given.observed, KlTest().score(given), strict=True):
        votes = [
            float((entropy(one, model, axis=1) @ each) > (entropy(other, model, axis=1) @ each))
            for each in weights
            for one in low
            for other in high
        ]
        assert score == pytest.approx(np.mean(votes) - 0.5, abs=1e-12)


def test_a_threshold_lies_between_the_accuracies_of_shadows() -> None:
    given = evidence(models=12)
    attack = ThresholdTest()
    shadows = replace(given, observed=given.shadows)
    right = (attack.score(shadows) > 0) == (given.place == 2)
    assert right[given.place != 1].mean() > 0.85
    still = replace(given, observed=np.repeat(given.shadows[:1], 2, axis=0))
    assert np.ptp(attack.score(still)) == 0.0


def test_the_classifier_estimates_shares_that_it_never_chose_between() -> None:
    given = evidence(models=48)
    between = evidence(0, models=48)  # the same records
    middle = replace(given, observed=between.shadows[between.place == 1])
    ends, halves = (ShareClassifier().estimate(each) for each in (given, middle))
    assert abs(halves.mean() - 0.5) < 0.08
    assert np.abs(ends[:24].mean() - 0.2) < 0.12
    assert np.abs(ends[24:].mean() - 0.9) < 0.12
    assert ((ends >= 0) & (ends <= 1)).all()
    assert LossTest().estimate(given) is None


def test_labels_alone_suffice_for_two_of_the_tests() -> None:
    given = evidence()
    labels = np.eye(CLASSES)[given.observed.argmax(axis=2)]
    for name in ("loss-test", "threshold-test"):
        assert attacks[name].labels_suffice
        np.testing.assert_allclose(
            attacks[name]().score(replace(given, observed=labels)), attacks[name]().score(given)
        )
    assert area(KlTest(), replace(given, observed=labels)) > 0.9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observed": np.full((2, RECORDS, CLASSES), np.nan)}, "some that are no number"),
        ({"shadows": np.zeros((2, RECORDS - 1, CLASSES))}, r"answers \(2, 119, 3\) about 120 records"),
        ({"having": np.ones(RECORDS, bool)}, "all have the attribute"),
    ],
)
def test_evidence_that_cannot_be_used_is_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(evidence(), **changes)


def test_shares_ascend() -> None:
    assert ShadowedParameters(shares=[0.5, 0.5]).shares == [0.5, 0.5]
    with pytest.raises(ValueError, match="should ascend"):
        ShadowedParameters(shares=[0.7, 0.3])


def test_leaked_records_by_hand_and_never_fewer_than_the_best_test_needs() -> None:
    assert records_that_tell(0.75, 0.5, 0.8) == pytest.approx(np.log(0.75) / np.log(0.625))
    assert records_that_tell(0.5, 0.3, 0.7) == records_that_tell(0.2, 0.3, 0.7) == 0.0
    for count in (1, 5, 20):  # the best test of so many records counts those with the attribute
        counts = np.arange(count + 1)
        best = np.maximum(binom.pmf(counts, count, 0.3), binom.pmf(counts, count, 0.6)).sum() / 2
        assert records_that_tell(best, 0.3, 0.6) <= count + 1e-9


def test_figures_of_models_told_apart() -> None:
    right = np.array([True] * 9 + [False])
    figures = measured(SharesTold(right, 0.3, 0.7))
    assert figures["leaked_records"].value == pytest.approx(records_that_tell(9.5 / 11, 0.3, 0.7))
    assert (
        0 <= figures["leaked_records"].low < figures["leaked_records"].value < figures["leaked_records"].high
    )
    assert np.isfinite(measured(SharesTold(right[:9], 0.3, 0.7))["leaked_records"].high)
    assert "leaked_records" not in measured(SharesTold(right, 0.5, 0.5))
    estimated = SharesEstimated(np.array([0.3, 0.4]), np.array([0.2, 0.6]))
    assert measured(estimated)["share_error"].value == pytest.approx(np.sqrt(0.025))
    assert measured(estimated)["sampled_records"].value == pytest.approx(0.2 / 0.025)
    served = measured(ServedModel(right=True, estimated=0.4, rank=None))
    assert {name: each.value for name, each in served.items()} == {"served_right": 1.0, "served_share": 0.4}
