"""Probing an obfuscator: what a classifier learns from samples as they leave devices."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks.attack import Inference
from leakrange.attacks.learning import dealt
from leakrange.attacks.panel.learners import LogisticRegression
from leakrange.attacks.panel.panel import ChosenLearner
from leakrange.attacks.panel.views import ReleaseView
from leakrange.attacks.probing import NET, TOGETHER, Probing, ProbingParameters, _held_out
from leakrange.data import load
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import DataSpec
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

VECTOR = SampleSpec(encoding="vector", shape=(6,), dtype="float32")
CHOSEN = np.array([2, 0, 1])
"""Which entry of a vector tells each class."""


def attack(**given: object) -> Probing:
    return Probing(ProbingParameters.model_validate({"epochs": 12, "batch": 32, **given}))


def noisy(labels: np.ndarray, deviation: float, seed: int, draws: int = 1) -> list[np.ndarray]:
    """Vectors with a 1 where their class is told, under noise that is new in each draw."""
    plain = np.zeros((len(labels), 6), dtype=np.float32)
    plain[np.arange(len(labels)), CHOSEN[labels]] = 1.0
    draw = np.random.default_rng(seed)
    return [plain + draw.normal(0.0, deviation, plain.shape).astype(np.float32) for _ in range(draws)]


def labels(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(3, count, p=[0.5, 0.3, 0.2]).astype(np.int64)


def reached(probing: Probing, known: list[np.ndarray], observed: list[np.ndarray]) -> float:
    state = probing.fit(known, labels(len(known[0]), 1), 3, VECTOR, seed=5)
    found = probing.infer(state, observed, 3, VECTOR)
    truth = labels(len(observed[0]), 2)
    np.testing.assert_array_equal(found.predicted, found.scores.argmax(axis=1))
    np.testing.assert_allclose(found.scores.sum(axis=1), 1.0, rtol=1e-5)
    return float((found.predicted == truth).mean())


def test_what_obfuscated_samples_tell_is_learned() -> None:
    known, observed = (noisy(labels(400, seed), 0.3, 10 + seed) for seed in (1, 2))
    assert reached(attack(), known, observed) > 0.9


def test_samples_that_tell_nothing_give_the_commonest_class_at_best() -> None:
    draw = np.random.default_rng(4)
    known, observed = ([draw.normal(size=(400, 6)).astype(np.float32)] for _ in range(2))
    assert reached(attack(), known, observed) < 0.58


def test_of_all_epochs_the_best_on_records_that_were_not_learned_from_is_kept() -> None:
    """Of noise a net learns its lessons by heart: it would be sure of what it cannot know."""
    draw = np.random.default_rng(4)
    known, observed = (draw.normal(size=(200, 6)).astype(np.float32) for _ in range(2))
    probing = attack(net=NetChoice(name="mlp"), epochs=60, batch=20, lr=0.01)
    state = probing.fit([known], labels(200, 1), 3, VECTOR, seed=5)
    scores = probing.infer(state, [observed], 3, VECTOR).scores
    assert -np.log(scores[np.arange(200), labels(200, 2)]).mean() < 1.25  # log 3 is 1.1


def test_near_copies_of_held_out_samples_are_not_learned_from() -> None:
    """Ten copies of each of forty noises: copies on both sides make learning by heart look like knowledge."""
    draw = np.random.default_rng(4)
    group = np.repeat(np.arange(40), 10)
    known = (draw.normal(size=(40, 6))[group] + 0.01 * draw.normal(size=(400, 6))).astype(np.float32)
    observed, told = draw.normal(size=(200, 6)).astype(np.float32), labels(40, 1)[group]
    probing, losses = attack(net=NetChoice(name="mlp"), epochs=60, batch=20, lr=0.002), []
    for each in (group, None):
        state = probing.fit([known], told, 3, VECTOR, seed=5, group=each)
        scores = probing.infer(state, [observed], 3, VECTOR).scores
        losses.append(-np.log(np.maximum(scores[np.arange(200), labels(200, 2)], 1e-9)).mean())
    assert losses[0] < 1.5 < 2.0 < losses[1]


def test_the_epoch_is_chosen_on_the_smallest_part_of_the_records_with_all_classes() -> None:
    """Of a part of one class whoever always says that class would be the best."""
    fold = np.repeat([0, 1, 2], [10, 30, 20])
    labels = np.concatenate([np.zeros(10), np.resize([0, 1], 50)]).astype(np.int64)
    np.testing.assert_array_equal(_held_out(fold, labels), fold == 2)


@pytest.mark.parametrize(("others", "first"), [(0.9, "logistic regression"), (0.3, NET)])
def test_the_net_is_compared_with_the_others_on_records_that_it_has_not_learned_from(
    others: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other learner is as good as .6 on all records, and on these alone it is better or worse than the
    net."""
    truth = np.resize([0, 1], 100).astype(np.int64)
    held = _held_out(dealt(truth, None, 5), truth)
    draw = np.random.default_rng(6)

    def shares(right: float) -> np.ndarray:
        """Of an AUC of about so much."""
        score = np.where(draw.random(100) < right, truth, 1 - truth) + 0.01 * draw.normal(size=100)
        return np.stack([1 - score, score], axis=1).clip(0.01, 0.99)

    class Fixed(Probing):
        def infer(self, _state: object, draws: list[np.ndarray], _classes: int, _spec: object) -> Inference:
            scores = net[held] if len(draws[0]) == held.sum() else net[:5]
            return Inference(scores.argmax(axis=1), scores.astype(np.float32))

    net, other = shares(0.75), np.where(held[:, None], shares(others), shares(0.6))
    rows = draw.normal(size=(100, 6)).astype(np.float32)
    state = {"weights": np.zeros((6, 2), np.float32), "bias": np.zeros(2)}
    view = ReleaseView.of("raw", rows)
    chosen = ChosenLearner(
        LogisticRegression, view, [state], np.log(other), False, 0.6, 1.0, np.zeros(2), 0.5
    )
    monkeypatch.setattr("leakrange.attacks.probing.panel", lambda *_, **__: [chosen])
    ranked = Fixed().panel({}, [rows[:5]], [rows], truth, 2, VECTOR, 5)
    assert ranked["learner"][0] == first
    assert len(ranked["truth"]) == len(ranked["ranks"]) == (held.sum() if first == NET else 100)
    assert ranked["area"].tolist().index(0.6) == (first == NET)


def test_draws_are_learned_from_by_themselves_where_the_class_is_rare() -> None:
    """One sample in ten is of the class, so that a net that tells nothing is as accurate as one that tells
    most of it; the mean of four draws, of two opposite substitutes each, tells little."""

    def drawn(seed: int, count: int) -> tuple[np.ndarray, list[np.ndarray]]:
        draw = np.random.default_rng(seed)
        rare = (draw.random(count) < 0.1).astype(np.int64)
        draws = []
        for _ in range(4):
            sign = draw.choice([-1.0, 1.0], count)
            telling = np.where((draw.random(count) < 0.8) == (rare == 1), sign, -sign)
            sample = draw.normal(0.0, 0.1, (count, 6))
            sample[:, 0] += sign
            sample[:, 1] += telling
            draws.append(sample.astype(np.float32))
        return rare, draws

    (known, lessons), (truth, observed) = drawn(0, 400), drawn(100, 2000)
    probing = attack(epochs=20)
    state = probing.fit(lessons, known, 2, VECTOR, seed=0)
    assert state[TOGETHER] == 1
    assert auc(probing.infer(state, observed, 2, VECTOR).scores[:, 1].astype(float), truth == 1) > 0.9


def test_several_draws_tell_more_than_one() -> None:
    known, observed = (noisy(labels(400, seed), 1.0, 10 + seed, draws=9) for seed in (1, 2))
    alone = reached(attack(), known[:1], observed[:1])
    assert alone < 0.75
    assert reached(attack(), known, observed) > alone + 0.15


def test_draws_whose_mean_tells_nothing_are_judged_one_by_one() -> None:
    """Of substitutes the mean is a sample of nobody: where the class is told by a sign that is drawn with
    each, it is lost in the mean."""
    spec = SampleSpec(encoding="vector", shape=(2,), dtype="float32")

    def drawn(truth: np.ndarray, seed: int) -> list[np.ndarray]:
        draw = np.random.default_rng(seed)
        signs = [draw.choice([-1.0, 1.0], len(truth)) for _ in range(6)]
        # both entries agree in sign in class 1, mostly
        agree = [np.where(draw.random(len(truth)) < 0.75, truth, 1 - truth) for _ in range(6)]
        return [
            np.stack([sign, np.where(same == 1, sign, -sign)], axis=1).astype(np.float32)
            for sign, same in zip(signs, agree, strict=True)
        ]

    truth = np.random.default_rng(7).integers(0, 2, 600)
    probing = attack(epochs=30)
    state = probing.fit(drawn(truth, 1), truth, 2, spec, seed=0)
    assert state[TOGETHER] == 1
    other = np.random.default_rng(8).integers(0, 2, 400)
    found = probing.infer(state, drawn(other, 2), 2, spec)
    assert (found.predicted == other).mean() > 0.82  # nobody does better than .896


def test_the_same_seed_gives_the_same_classifier_and_another_one_another() -> None:
    known = noisy(labels(200, 1), 0.5, 3)
    first, again, other = (attack().fit(known, labels(200, 1), 3, VECTOR, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


def test_series_have_a_net_of_their_own_and_the_named_one_comes_first() -> None:
    data = load(DataSpec(name="synthmotion", count=40))
    assert attack().net(data.spec).name == "conv-1d"
    assert attack(net=NetChoice(name="mlp")).net(data.spec).name == "mlp"


@pytest.mark.parametrize(
    ("draws", "told", "said"),
    [
        ([np.zeros((60, 5), np.float32)], np.zeros(60, np.int64), "of shape"),
        ([np.zeros((60, 6), np.float32)], np.zeros(59, np.int64), "of shape"),
        ([np.zeros((40, 6), np.float32)], np.zeros(40, np.int64), "at least 50"),
        ([np.zeros((60, 6), np.float32)], np.full(60, 3), r"0\.\.2"),
        ([np.full((60, 6), np.nan, np.float32)], np.zeros(60, np.int64), "not finite"),
    ],
)
def test_records_that_it_cannot_learn_from_are_refused(
    draws: list[np.ndarray], told: np.ndarray, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        attack().fit(draws, told, 3, VECTOR, seed=0)


def test_observed_samples_of_another_shape_are_refused() -> None:
    state = attack(epochs=1).fit(noisy(labels(60, 1), 0.5, 3), labels(60, 1), 3, VECTOR, seed=0)
    with pytest.raises(InvalidInput, match="observed"):
        attack().infer(state, [np.zeros((4, 7), np.float32)], 3, VECTOR)
