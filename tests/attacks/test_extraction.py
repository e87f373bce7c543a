"""Copying models: exact where algebra is, learnt elsewhere, and nothing where answers say nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.attacks.attack import Pairs
from leakrange.attacks.extraction import Extraction, ExtractionParameters, log_odds_by_algebra
from leakrange.metrics import measured, softmax
from leakrange.metrics.extraction import Copied
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
