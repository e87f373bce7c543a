from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from leakrange.attacks import Evidence
from leakrange.attacks.attribute_nets import AttributeInferenceParameters, AttributeNets
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput

VICTIMS = 2000


def attack() -> AttributeNets:
    return AttributeNets(AttributeInferenceParameters(sensitive="s"))


def evidence(
    releases: np.ndarray, labels: np.ndarray, auxiliary: int = 500, classes: int = 2, seed: int = 0
) -> Evidence:
    return Evidence(
        auxiliary=releases[:auxiliary].astype(np.float32),
        auxiliary_labels=labels[:auxiliary].astype(np.int64),
        observed=releases[-VICTIMS:].astype(np.float32),
        classes=classes,
        release="logits",
        seed=seed,
    )


def curiosity(given: Evidence, labels: np.ndarray) -> float:
    return float(np.mean(attack().infer(given).predicted == labels[-VICTIMS:]))


def majority(labels: np.ndarray) -> float:
    return float(np.bincount(labels[-VICTIMS:]).max() / VICTIMS)


def population(rng: np.random.Generator, share: float = 0.5, count: int = 3000) -> np.ndarray:
    return (rng.random(count) < share).astype(np.int64)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def test_it_reads_what_is_written_in_a_release(rng: np.random.Generator) -> None:
    s = population(rng)
    releases = rng.normal(size=(3000, 2)) * 0.3
    releases[:, 1] += s
    # the best that anybody can do: the sign of a normal with mean half and deviation .3
    assert curiosity(evidence(releases, s), s) > 0.952 - 0.02


def test_releases_of_any_rank_are_read_as_their_numbers_in_a_row(rng: np.random.Generator) -> None:
    s = population(rng)
    rows = evidence(rng.normal(size=(3000, 6)), s, auxiliary=100)
    shaped = {name: getattr(rows, name).reshape(-1, 3, 2, 1) for name in ("auxiliary", "observed")}
    inferred = attack().infer(replace(rows, **shaped))
    np.testing.assert_array_equal(inferred.scores, attack().infer(rows).scores)


def test_it_reads_what_no_line_separates(rng: np.random.Generator) -> None:
    releases = rng.uniform(-1, 1, size=(3000, 2))
    s = (releases[:, 0] * releases[:, 1] > 0).astype(np.int64)
    assert curiosity(evidence(releases, s), s) > 0.85


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("auxiliary", [20, 100, 500])
def test_on_noise_it_does_as_the_majority_class_does(
    share: float, auxiliary: int, rng: np.random.Generator
) -> None:
    reached = []
    for seed in range(3):
        s = population(rng, share)
        releases = rng.normal(size=(3000, 4))
        reached.append(curiosity(evidence(releases, s, auxiliary, seed=seed), s) - majority(s))
    assert np.mean(reached) > (-0.06 if auxiliary < 100 else -0.03)
    assert np.mean(reached) < 0.02


def test_it_starts_out_as_the_classes_shares(rng: np.random.Generator) -> None:
    s = population(rng, 0.7)
    given = evidence(rng.normal(size=(3000, 4)), s)
    still = AttributeNets(AttributeInferenceParameters(sensitive="s", epochs=1, lr=1e-12))
    share = float(given.auxiliary_labels.mean())
    np.testing.assert_allclose(still.infer(given).scores, [[1 - share, share]] * VICTIMS, atol=2e-3)


def test_of_all_epochs_the_best_is_kept_not_the_last(rng: np.random.Generator) -> None:
    """Of releases that tell nothing every lesson is one by heart: on records that they have not seen the nets
    were best before the first."""
    s = population(rng, 0.7)
    given = evidence(rng.normal(size=(3000, 40)), s, auxiliary=60)
    eager = AttributeNets(AttributeInferenceParameters(sensitive="s", epochs=8, lr=0.05))
    share = float((given.auxiliary_labels.sum() + 0.5) / (len(given.auxiliary_labels) + 1))
    np.testing.assert_allclose(eager.infer(given).scores, [[1 - share, share]] * VICTIMS, atol=1e-6)


def test_epochs_behind_the_best_change_nothing(rng: np.random.Generator) -> None:
    s = population(rng)
    releases = rng.normal(size=(3000, 40))
    releases[:, 0] += 2.0 * s
    given = evidence(releases, s, auxiliary=100)
    few, more = (
        AttributeNets(AttributeInferenceParameters(sensitive="s", epochs=epochs, lr=0.02)).infer(given)
        for epochs in (8, 12)
    )
    np.testing.assert_array_equal(few.scores, more.scores)
    assert np.mean(few.predicted == s[-VICTIMS:]) > 0.7  # and it did learn


def test_of_one_hot_releases_it_learns_what_the_decision_tells(rng: np.random.Generator) -> None:
    s = population(rng)
    decision = np.where(rng.random(3000) < 0.8, s, 1 - s)
    assert curiosity(evidence(np.eye(2)[decision], s), s) == pytest.approx(0.8, abs=0.03)
    independent = population(rng)
    assert curiosity(evidence(np.eye(2)[independent], s), s) == pytest.approx(0.5, abs=0.04)


def test_values_that_never_change_are_ignored_even_where_the_victims_differ(rng: np.random.Generator) -> None:
    s = population(rng)
    releases = np.stack([np.full(3000, 0.1), s + rng.normal(size=3000) * 0.1], axis=1)
    given = evidence(releases, s)
    given.observed[:, 0] = 1e6
    assert curiosity(given, s) > 0.98
    nothing = evidence(np.ones((3000, 3)), s)
    assert curiosity(nothing, s) > majority(s) - 0.1
    assert len(np.unique(attack().infer(nothing).predicted)) == 1


def test_a_class_that_the_auxiliary_records_lack_is_no_obstacle(rng: np.random.Generator) -> None:
    s = population(rng)
    releases = rng.normal(size=(3000, 3)) * 0.3 + np.eye(3)[s]
    found = attack().infer(evidence(releases, s, classes=3))
    assert found.scores.shape == (VICTIMS, 3)
    assert set(found.predicted.tolist()) == {0, 1}
    assert np.mean(found.predicted == s[-VICTIMS:]) > 0.9


def test_in_a_long_feature_vector_it_keeps_up_with_logistic_regression(rng: np.random.Generator) -> None:
    s = rng.integers(0, 3, 3000)
    releases = rng.normal(size=(3000, 128)) + 2 * np.eye(128)[s * 7]
    given = evidence(releases, s, classes=3)
    plain = LogisticRegression().fit(given.auxiliary, given.auxiliary_labels)
    assert curiosity(given, s) > plain.score(given.observed, s[-VICTIMS:]) - 0.03


def test_the_seed_decides_and_scores_are_shares(rng: np.random.Generator) -> None:
    s = population(rng)
    releases = rng.normal(size=(3000, 2)) + s[:, None]
    first, again, other = (attack().infer(evidence(releases, s, seed=seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.scores, again.scores)
    assert (first.scores != other.scores).any()
    assert (first.predicted.dtype, first.scores.dtype) == (np.int64, np.float32)
    np.testing.assert_allclose(first.scores.sum(axis=1), 1, rtol=1e-5)
    assert (first.predicted == first.scores.argmax(axis=1)).all()


def test_evidence_that_cannot_be_used_is_refused(rng: np.random.Generator) -> None:
    s = population(rng)
    releases = rng.normal(size=(3000, 2))
    with pytest.raises(InvalidInput, match="at least 20"):
        attack().infer(evidence(releases, s, auxiliary=19))
    with pytest.raises(InvalidInput, match="not finite"):
        attack().infer(evidence(np.where(releases > 3, np.nan, releases), s))
    with pytest.raises(InvalidInput, match=r"0\.\.1"):
        attack().infer(evidence(releases, s - 1))
    good = evidence(releases, s)
    with pytest.raises(InvalidInput, match="do not match"):
        attack().infer(Evidence(good.auxiliary, good.auxiliary_labels, releases[:, :1], 2, "logits"))
    with pytest.raises(InvalidInput, match="500 of 'auxiliary', 499 of 'auxiliary_labels'"):
        attack().infer(Evidence(good.auxiliary, good.auxiliary_labels[1:], good.observed, 2, "logits"))


def test_what_was_learnt_infers_the_same_from_further_releases(rng: np.random.Generator) -> None:
    s = population(rng)
    releases = rng.normal(size=(3000, 3)).astype(np.float32)
    releases[:, 1] += 2 * s
    given = evidence(releases, s)
    found = attack().infer(given)
    again = AttributeNets.again(found.learnt, given.observed)
    np.testing.assert_array_equal(again.predicted, found.predicted)
    np.testing.assert_allclose(again.scores, found.scores, atol=1e-5)
    one = AttributeNets.again(found.learnt, given.observed[7:8])
    np.testing.assert_allclose(one.scores, found.scores[7:8], atol=1e-5)
    for learnt, observed in (({}, given.observed), (found.learnt, given.observed[:, :2])):
        with pytest.raises(InvalidInput):
            AttributeNets.again(learnt, observed)


@pytest.mark.parametrize("seed", [0, 2])
def test_every_net_learns_from_a_class_of_two_records(seed: int) -> None:
    """Both in one fold, four nets would be judged by a class of which the fifth has seen none."""
    draw = np.random.default_rng(seed)
    known = np.zeros(60, dtype=np.int64)
    known[draw.choice(60, 2, replace=False)] = 1
    truth = np.concatenate([known, (draw.random(VICTIMS) < 0.2).astype(np.int64)])
    releases = draw.normal(size=(len(truth), 3))
    releases[:, 1] += 4 * truth
    scores = attack().infer(evidence(releases, truth, auxiliary=60, seed=seed)).scores
    assert auc(scores[:, 1].astype(float), truth[-VICTIMS:] == 1) > 0.9
