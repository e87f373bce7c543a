"""Copying models: exact where algebra is, learnt elsewhere, and nothing where answers say nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.attacks.attack import Pairs, Walk
from leakrange.attacks.extraction import CHOICES, Extraction, ExtractionParameters, log_odds_by_algebra
from leakrange.metrics import measured, softmax
from leakrange.metrics.extraction import Copied, LastLayer
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

COLUMNS, CLASSES = 9, 3


def linear(seed: int = 1) -> Any:
    """Logits of a logistic regression."""
    draw = np.random.default_rng(seed)
    weights, offsets = draw.normal(size=(COLUMNS, CLASSES)), draw.normal(size=CLASSES)
    return lambda samples: np.asarray(samples, np.float64) @ weights + offsets


def bent(samples: NDArray[Any]) -> NDArray[np.float64]:
    """Logits of a model that no linear one agrees with."""
    ring = np.linalg.norm(samples[:, :2], axis=1) - 1.2
    return np.stack([4 * ring, -4 * ring, np.full(len(ring), -9.0)], axis=1)


def lessons(model: Any, count: int, seed: int = 3) -> tuple[Pairs, NDArray[np.int64]]:
    draw = np.random.default_rng(seed)
    samples = draw.normal(size=(count, COLUMNS)).astype(np.float32)
    users = draw.normal(size=(400, COLUMNS)).astype(np.float32)
    spec = SampleSpec(encoding="vector", shape=(COLUMNS,), dtype="float32")
    answers = softmax(model(samples)).astype(np.float32)
    return Pairs(answers, samples, users, spec, seed), model(users).argmax(axis=1)


def copied(model: Any, count: int, release: str = "softmax", **changes: Any) -> tuple[float, float]:
    evidence, decided = lessons(model, count)
    if changes:
        evidence = Pairs(
            changes["answers"](evidence.auxiliary), evidence.samples, evidence.observed, evidence.spec
        )
    scores = Extraction(ExtractionParameters(net={"name": "mlp", "width": 0.3})).copy(evidence, release)
    figures = measured(Copied(scores.argmax(axis=1), decided, decided))
    return figures["fidelity"].value, figures["fidelity_majority"].value


@pytest.mark.parametrize("release", ["softmax", "logits"])
def test_a_logistic_model_is_recovered_by_one_query_more_than_it_has_columns(release: str) -> None:
    draw, model = np.random.default_rng(2), linear()
    samples, users = draw.normal(size=(COLUMNS + 1, COLUMNS)), draw.normal(size=(50, COLUMNS))
    answers = softmax(model(samples)) if release == "softmax" else model(samples)
    odds = model(users) - model(users)[:, -1:]
    np.testing.assert_allclose(log_odds_by_algebra(samples, answers, users, release), odds, atol=1e-6)
    rounded = log_odds_by_algebra(samples, np.round(answers, 2), users, release)
    assert np.abs(rounded - odds).max() > 0.01
    few = log_odds_by_algebra(samples[:-2], answers[:-2], users, release)
    assert np.abs(few - odds).max() > 0.1


def test_answers_as_they_travel_give_a_logistic_model_to_what_float32_holds() -> None:
    draw, model = np.random.default_rng(2), linear()
    samples, users = draw.normal(size=(40, COLUMNS)).astype(np.float32), draw.normal(size=(50, COLUMNS))
    answers = softmax(model(samples)).astype(np.float32)
    odds = model(users) - model(users)[:, -1:]
    np.testing.assert_allclose(log_odds_by_algebra(samples, answers, users, "softmax"), odds, atol=1e-5)


def test_more_answers_than_columns_make_up_for_digits_that_are_rounded_away() -> None:
    draw, model = np.random.default_rng(6), linear()
    samples, users = draw.normal(size=(200, COLUMNS)), draw.normal(size=(50, COLUMNS))
    answers = np.round(softmax(3 * model(samples)), 3)
    assert (answers == 0.0).mean() > 0.2
    odds = 3 * (model(users) - model(users)[:, -1:])
    copied = log_odds_by_algebra(samples, answers, users, "softmax")
    assert np.median(np.abs(copied - odds)) < 0.01
    assert (copied.argmax(axis=1) == odds.argmax(axis=1)).all()


def test_the_copy_of_a_linear_model_is_the_algebras() -> None:
    assert copied(linear(), 60)[0] == 1.0


def test_a_bent_model_is_copied_by_a_net_the_better_the_more_is_asked() -> None:
    few, many = (copied(bent, count)[0] for count in (100, 1500))
    assert many > 0.93
    assert few < many - 0.03


def test_answers_without_information_give_the_commonest_class_at_best() -> None:
    draw = np.random.default_rng(4)
    fidelity, commonest = copied(bent, 400, answers=lambda answers: answers[draw.permutation(len(answers))])
    assert fidelity < commonest + 0.05
    with pytest.raises(InvalidInput, match="at least 50"):
        copied(bent, 49)


def test_a_copy_is_compared_with_what_users_got_and_with_the_truth() -> None:
    copy, decided, truth = (np.array(each) for each in ([0, 1, 1, 2], [0, 1, 0, 2], [0, -1, 1, 0]))
    figures = measured(Copied(copy, decided, truth, np.array([0, 0, 1, 2])))
    assert figures["fidelity"].value == 0.75
    assert figures["fidelity_majority"].value == 0.5
    assert figures["copy_accuracy"].value == pytest.approx(2 / 3)
    assert figures["fidelity"].low < 0.75 < figures["fidelity"].high
    assert "copy_accuracy" not in measured(Copied(copy, decided, np.full(4, -1)))


SPEC = SampleSpec(encoding="vector", shape=(COLUMNS,), dtype="float32")


@pytest.mark.parametrize("queries", CHOICES)
def test_a_learner_asks_in_rounds_as_often_as_it_may_and_about_nothing_twice(queries: str) -> None:
    pool = np.random.default_rng(5).normal(size=(300, COLUMNS)).astype(np.float32)
    batches: list[NDArray[Any]] = []

    def ask(samples: NDArray[Any]) -> NDArray[np.float32]:
        batches.append(samples)
        return softmax(bent(samples)).astype(np.float32)

    attack = Extraction(ExtractionParameters(queries=queries, rounds=3, epochs=10, net={"name": "mlp"}))
    walked = attack.walk(Walk(pool, None, SPEC, "softmax", 100, 7), ask)
    assert [len(each) for each in batches] == [34, 33, 33]
    np.testing.assert_array_equal(pool[walked["chosen"]], np.concatenate(batches))
    np.testing.assert_array_equal(walked["answers"], softmax(bent(pool[walked["chosen"]])).astype("f4"))
    assert walked["asked"].tolist() == np.isin(np.arange(300), walked["chosen"]).tolist()
    assert walked["asked"].sum() == 100


def test_uncertainty_asks_where_classes_meet_and_k_centre_where_nobody_asked() -> None:
    sure, torn, unsure = [0.98, 0.01, 0.01], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4]
    guessed = np.array([unsure, sure, torn, [0.01, 0.98, 0.01], unsure, sure])
    assert CHOICES["uncertainty"](guessed, np.array([0]), 2).tolist() == [4, 2]
    # From the first of class 0, the other class is farthest; then the unsure one, about which 4 is as unsure.
    assert CHOICES["k-centre"](guessed, np.array([1]), 2).tolist() == [3, 0]
    assert CHOICES["k-centre"](guessed, np.array([1, 3]), 4).tolist()[1] == 2
    assert sorted(CHOICES["k-centre"](guessed, np.array([1, 3]), 4).tolist()) == [0, 2, 4, 5]


def test_public_queries_name_their_data_set_and_others_none() -> None:
    for wrong in ({"queries": "public"}, {"public": "mnist"}, {"queries": "drawn", "public": "mnist"}):
        with pytest.raises(ValidationError, match="give both or neither"):
            ExtractionParameters(**wrong)
    assert ExtractionParameters().model_dump().keys().isdisjoint({"queries", "public", "rounds"})


def deep(hidden: int, classes: int, count: int = 200) -> NDArray[np.float64]:
    """Logits of a net of ReLUs."""
    draw = np.random.default_rng(hidden)
    body = np.maximum(draw.normal(size=(count, 12)) @ draw.normal(size=(12, hidden)), 0.0)
    return body @ draw.normal(size=(hidden, classes)) + draw.normal(size=classes)


def last_width(answers: NDArray[Any], release: str) -> float | None:
    found = measured(LastLayer(answers.astype(np.float32), release)).get("last_width")
    return None if found is None else found.value


@pytest.mark.parametrize("release", ["logits", "softmax"])
def test_a_last_layer_narrower_than_the_classes_is_measured_and_a_wider_one_is_not(release: str) -> None:
    def answered(logits: NDArray[np.float64]) -> NDArray[np.float64]:
        return softmax(logits) if release == "softmax" else logits

    assert last_width(answered(deep(5, 9) / 8), release) == 5
    assert last_width(answered(deep(5, 9)[:17] / 8), release) is None  # too few to say
    assert last_width(answered(deep(8, 9) / 8), release) is None
    assert last_width(answered(deep(30, 9) / 8), release) is None


def test_what_defences_leave_of_answers_shows_no_last_layer() -> None:
    answers = softmax(deep(5, 9) / 8)
    assert last_width(np.round(answers, 2), "softmax") is None
    for seen in (9, 4):  # classes that are decided for
        labels = np.eye(9)[np.arange(200) % seen]
        assert last_width(labels, "softmax") is None
        assert last_width(labels, "logits") is None
