"""The panel: what it finds of planted leaks, that it guesses where there are none, and what it keeps."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from leakrange.attacks import Evidence, attacks
from leakrange.attacks.attribute_inference import AttributeInference, AttributeInferenceParameters
from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.figures import PANEL, held_out, viewed_panel
from leakrange.attacks.learning import dealt
from leakrange.attacks.panel.learners import Learner, LogisticRegression, NearestMean, Rows, State, telling
from leakrange.attacks.panel.nets import Perceptron
from leakrange.attacks.panel.panel import (
    LEARNERS,
    ChosenLearner,
    apply,
    every_learner,
    panel,
    tell_apart,
)
from leakrange.attacks.panel.trees import BoostedTrees
from leakrange.jobs.steps.fit import FitJob
from leakrange.load.bench.planted import PLANTED, Leak, evidence
from leakrange.metrics import auc, measured
from leakrange.wire.errors import InvalidInput

LEAKS = {leak.name: leak for leak in PLANTED}
GIVEN = AttributeInferenceParameters(sensitive="planted", epochs=20)
LEAST = 0.6
"""Of the oracle's lead over chance the panel finds at least so much."""


def area(scores: np.ndarray, truth: np.ndarray) -> float:
    return auc(scores[:, 1].astype(float) - scores[:, 0], truth == 1)


def found(name: str, leak: Leak, seed: int = 0) -> float:
    """The share of the oracle's lead over an AUC of .5 that the attack has."""
    told, truth, odds = evidence(leak, seed)
    scores = attacks[name](AttributeInferenceParameters(sensitive="planted")).infer(told).scores
    return (area(scores, truth) - 0.5) / (auc(odds, truth == 1) - 0.5)


@pytest.mark.parametrize(
    "name",
    [
        "linear, 100 records",
        "product of two numbers",
        "margin",
        "margin, softmax",
        "one of 512",
        "variance of 64",
        "imbalanced, 95 to 5",
        pytest.param("linear, 15,000 records", marks=pytest.mark.slow),
    ],
)
def test_it_finds_most_of_what_there_is_to_find(name: str) -> None:
    assert found("attribute-inference", LEAKS[name]) > LEAST


def split(seed: int, count: int) -> tuple[np.ndarray, np.random.Generator]:
    """The hidden class of so many records, and what draws their releases."""
    draw = np.random.default_rng(seed)
    return draw.integers(0, 2, count), draw


def test_a_sure_models_smallest_probabilities_tell_what_its_logits_do() -> None:
    """A model that is never wrong: the margin, from 20 to 32, is in a probability from 1e-9 to 1e-14."""

    def released(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        hidden, draw = split(seed, count)
        logits = np.zeros((count, 2))
        logits[np.arange(count), draw.integers(0, 2, count)] = 22 + 8 * hidden + draw.normal(size=count)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return hidden, (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)

    (known, auxiliary), (truth, observed) = released(0, 300), released(1, 500)
    inferred = AttributeInference(GIVEN).infer(Evidence(auxiliary, known, observed, 2, "softmax"))
    assert area(inferred.scores, truth) > 0.95
    np.testing.assert_allclose(
        AttributeInference.again(inferred.learnt, observed).scores, inferred.scores, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("scale", [1.0, 1e-8])
def test_numbers_are_read_however_small_they_are(scale: float) -> None:
    """Beside a number of deviation 1 that tells nothing, which keeps the scores from being constant."""

    def released(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        hidden, draw = split(seed, count)
        telling = scale * (draw.normal(size=count) + 2 * hidden)
        return hidden, np.stack([draw.normal(size=count), telling], axis=1).astype(np.float32)

    (known, auxiliary), (truth, observed) = released(0, 300), released(1, 500)
    inferred = AttributeInference(GIVEN).infer(Evidence(auxiliary, known, observed, 2, "features"))
    assert area(inferred.scores, truth) > 0.85


@pytest.mark.parametrize("name", ["one of 512", "variance of 64"])
def test_the_papers_nets_alone_do_not(name: str) -> None:
    assert found("attribute-nets", LEAKS[name]) < LEAST


@pytest.mark.parametrize("name", ["nothing, of 2", "nothing, 95 to 5"])
def test_where_there_is_nothing_it_guesses(name: str) -> None:
    told, truth, _ = evidence(LEAKS[name], 1)
    inferred = AttributeInference(GIVEN).infer(told)
    assert area(inferred.scores, truth) == pytest.approx(0.5, abs=0.08)
    majority = max(truth.mean(), 1 - truth.mean())
    assert np.mean(inferred.predicted == truth) > majority - 0.06


@pytest.fixture(scope="module")
def three() -> tuple[Evidence, list[ChosenLearner], np.ndarray]:
    """Softmax releases of three classes, of which one is rare and one has a product alone."""
    rng = np.random.default_rng(4)
    numbers = rng.normal(size=(500, 3))
    labels = np.where(numbers[:, 0] * numbers[:, 1] > 0.4, 2, (numbers[:, 2] > -1).astype(int))
    releases = np.exp(2 * numbers) / np.exp(2 * numbers).sum(axis=1, keepdims=True)
    told = Evidence(
        releases[:300].astype(np.float32), labels[:300], releases[300:].astype(np.float32), 3, "softmax", 9
    )
    best = panel(
        told.auxiliary, told.auxiliary_labels, 3, every_learner(GIVEN), soft=True, group=None, seed=9
    )
    return told, best, labels[300:]


def test_every_learner_says_the_same_again_from_its_arrays(
    three: tuple[Evidence, list[ChosenLearner], np.ndarray],
) -> None:
    told, best, truth = three
    assert {one.learner for one in best} == set(LEARNERS)
    for one in best:
        scores = one.scores(told.observed)
        again = apply({name: np.array(array) for name, array in one.arrays().items()}, told.observed[::-1])
        np.testing.assert_allclose(again[::-1], scores, atol=1e-5)
        np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-4)
        assert np.mean(scores.argmax(axis=1) == truth) > 0.5, one.learner.name
        assert not any(array.dtype == object for array in one.arrays().values())


@pytest.mark.parametrize("power", [1, 2])
def test_of_long_releases_the_numbers_are_read_that_tell_most_by_the_records_learned_from(power: int) -> None:
    """One of 300 numbers differs between classes, or its spread does; ten are read."""
    rng = np.random.default_rng(6)
    labels = np.resize([0, 1], 400)
    rows = rng.normal(size=(400, 300)).astype(np.float32)
    rows[:, 123] = rows[:, 123] + 2 * labels if power == 1 else rows[:, 123] * (1 + 3 * labels)
    fold = dealt(labels, None, 0)
    [chosen] = panel(rows, labels, 2, [BoostedTrees(10)], soft=False, group=None, seed=0)
    assert chosen.area > 0.75
    for number, state in enumerate(chosen.states):
        assert 123 in state["columns"]
        learnt = chosen.view(rows[fold != number])
        np.testing.assert_array_equal(state["columns"], telling(learnt, labels[fold != number], 10))
    assert len({tuple(state["columns"]) for state in chosen.states}) > 1
    again = apply(chosen.arrays(), rows)
    np.testing.assert_allclose(again, chosen.scores(rows), atol=1e-6)


class Scaled(Learner):
    """Says by the first number of a row how likely the second class is; its settings are how likely."""

    name = "scaled"

    def __init__(self, *scales: float) -> None:
        self.scales = scales

    def crossfit(
        self, _rows: Rows, _labels: Rows, _classes: int, fold: Rows, _seed: int
    ) -> list[list[State]]:
        return [[{"scale": np.array(each)}] * (int(fold.max()) + 1) for each in self.scales]

    @staticmethod
    def logits(state: State, rows: Rows) -> Rows:
        return np.stack([0 * rows[:, 0], state["scale"] * rows[:, 0]], axis=1)


@pytest.mark.parametrize("scales", [(1.0, 0.01), (0.01, 1.0)])
def test_of_settings_that_rank_alike_the_surest_is_kept(scales: tuple[float, float]) -> None:
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, 200)
    rows = (rng.normal(size=(200, 1)) + 2 * labels[:, None]).astype(np.float32)
    [chosen] = panel(rows, labels, 2, [Scaled(*scales)], soft=False, group=None, seed=0)
    assert chosen.states[0]["scale"] == 1.0


def test_whoever_is_less_often_right_than_the_commonest_class_says_that_class() -> None:
    """Whoever is sure of noise is right about half of the time, however the classes' shares differ."""
    rng = np.random.default_rng(8)
    labels = (np.arange(300) < 135).astype(np.int64)
    rows = rng.normal(size=(300, 1)).astype(np.float32)
    [chosen] = panel(rows, labels, 2, [Scaled(100.0)], soft=False, group=None, seed=0)
    assert np.mean(chosen.scores(rows).argmax(axis=1) == labels) >= 0.55


def test_a_net_is_of_the_epoch_that_is_best_on_records_that_it_has_not_learned_from() -> None:
    """Of noise an early one is: later ones know their lessons by heart."""
    rng = np.random.default_rng(9)
    rows, labels = rng.normal(size=(100, 40)).astype(np.float32), np.resize([0, 1], 100)
    fold = dealt(labels, None, 0)
    for states in Perceptron().crossfit(rows, labels, 2, fold, 0):
        losses = []
        for number, state in enumerate(states):
            scores = Perceptron.logits(state, rows[fold == number])
            right = scores[np.arange(len(scores)), labels[fold == number]]
            losses.append(np.log(np.exp(scores).sum(axis=1)) - right)
        assert np.concatenate(losses).mean() < 0.9  # a guess has .69; by heart it is 1 and more


def test_of_a_nets_settings_the_best_is_learned_from_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are tried on 333 of the 1,500 records. A decay of 90 leaves a tenth of all weights at each
    step."""
    monkeypatch.setattr(Perceptron, "most", 999)
    monkeypatch.setattr(Perceptron, "settings", ((5, 90.0), (12, 0.01)))
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 1500)
    rows = (rng.normal(size=(1500, 3)) + 2 * labels[:, None]).astype(np.float32)
    [states] = Perceptron().crossfit(rows, labels, 2, dealt(labels, None, 0), 0)
    assert [len(state["inner.bias"]) for state in states] == [12] * 5


def test_trees_say_what_the_library_says_that_grew_them() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from leakrange.attacks.panel import trees

    rng = np.random.default_rng(2)
    rows = rng.normal(size=(300, 4)).astype(np.float32)
    for classes in (2, 3):
        labels = np.digitize(rows[:, 1] * rows[:, 2], [0.0, 0.5][: classes - 1]).astype(np.int64)
        state = trees.BoostedTrees().fit(rows, labels, classes, 3)[-1]
        library = HistGradientBoostingClassifier(
            learning_rate=trees.RATE,
            max_iter=trees.BoostedTrees.rounds[-1],
            max_leaf_nodes=trees.LEAVES,
            min_samples_leaf=trees.FEWEST,
            early_stopping=False,
            random_state=3,
        ).fit(rows, labels)
        logits = trees.BoostedTrees.logits(state, rows)
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shares, library.predict_proba(rows), atol=1e-6)


def test_the_best_by_held_out_records_speaks_for_the_panel(
    three: tuple[Evidence, list[ChosenLearner], np.ndarray],
) -> None:
    told, best, truth = three
    assert [one.area for one in best] == sorted((one.area for one in best), reverse=True)
    assert best[0].area > best[-1].area + 0.05
    found = AttributeInference(GIVEN).infer(told)
    np.testing.assert_allclose(found.scores, best[0].scores(told.observed), atol=1e-6)
    again = AttributeInference.again(found.learnt, told.observed[3:4])
    np.testing.assert_allclose(again.scores, found.scores[3:4], atol=1e-5)
    arrays = {PANEL + name: array for name, array in found.panel.items()}
    rows = viewed_panel(arrays, truth)["panel"]
    assert [row["learner"] for row in rows] == [one.learner.name for one in best]
    assert [row["chosen"] for row in rows] == [True] + 5 * [False]
    assert rows[-1]["accuracy"] == np.mean(best[-1].scores(told.observed).argmax(axis=1) == truth)
    unknown = np.where(np.arange(len(truth)) < 50, -1, truth)
    assert viewed_panel(arrays, unknown)["panel"][0]["auc"] != rows[0]["auc"]
    figure = measured(*held_out(arrays))["held_out_auc"]
    assert figure.value == pytest.approx(rows[0]["held_out_auc"], abs=0.01)


def test_records_that_resemble_each_other_are_held_out_together() -> None:
    """Ten copies of noise each: whoever holds them out singly takes knowing copies for knowing the class."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 10)
    labels = np.resize([0, 1], 40)[group]
    rows = (rng.normal(size=(40, 8))[group] + 0.01 * rng.normal(size=(400, 8))).astype(np.float32)
    told = Evidence(rows, labels, rows, 2, "features", 1)
    single, together = (
        AttributeInference(GIVEN).infer(replace(told, auxiliary_group=each)).panel["area"][0]
        for each in (None, group)
    )
    assert single > 0.95
    assert together < 0.8


def test_folds_hold_whole_groups_and_spread_classes() -> None:
    labels = (np.arange(103) < 9).astype(np.int64)
    for seed in range(5):
        fold = dealt(labels, None, seed)
        assert np.ptp(np.bincount(fold)) <= 1
        assert np.ptp(np.bincount(fold[labels == 1], minlength=5)) <= 1
    group = np.array([3, 3, 3, 7, 7, 1])
    three = dealt(np.zeros(6, dtype=np.int64), group, 5)
    assert len({*zip(group, three, strict=True)}) == len(set(three.tolist())) == 3
    assert len(set(dealt(labels, np.zeros(103, dtype=np.int64), 5).tolist())) == 5


def test_areas_are_taken_fold_by_fold() -> None:
    scores = np.array([[0.1, 0.9], [0.2, 0.8], [0.8, 0.2], [0.9, 0.1]])
    labels, fold = np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1])
    assert tell_apart(scores, labels, fold) == 1.0
    assert tell_apart(scores, labels, np.zeros(4, dtype=np.int64)) == 0.75


def test_where_all_records_are_of_one_class_everybody_is() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2)).astype(np.float32)
    found = AttributeInference(GIVEN).infer(Evidence(rows, np.full(60, 1), rows, 3, "logits"))
    assert set(found.predicted.tolist()) == {1}
    assert np.ptp(found.scores, axis=0).max() < 1e-6


def test_a_class_of_one_record_and_values_that_never_change_are_no_obstacle() -> None:
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.resize([0, 1], 59), [2]])
    rows = np.stack([np.full(60, 0.1), labels + 0.1 * rng.normal(size=60)], axis=1).astype(np.float32)
    observed = rows.copy()
    observed[:, 0] = 1e6
    found = AttributeInference(GIVEN).infer(Evidence(rows, labels, observed, 3, "logits"))
    assert np.mean(found.predicted == labels) > 0.9


def test_releases_of_any_rank_are_read_as_their_numbers_in_a_row_and_the_seed_decides(
    three: tuple[Evidence, list[ChosenLearner], np.ndarray],
) -> None:
    told, _, _ = three
    rows = Evidence(told.auxiliary[:80], told.auxiliary_labels[:80], told.observed, 3, "features", 2)
    first = AttributeInference(GIVEN).infer(rows)
    shaped = replace(
        rows, auxiliary=rows.auxiliary.reshape(-1, 3, 1), observed=rows.observed.reshape(-1, 3, 1)
    )
    np.testing.assert_array_equal(first.scores, AttributeInference(GIVEN).infer(shaped).scores)
    assert (first.panel["area"] != AttributeInference(GIVEN).infer(replace(rows, seed=3)).panel["area"]).any()


def test_what_cannot_be_used_is_refused(three: tuple[Evidence, list[ChosenLearner], np.ndarray]) -> None:
    told, _, _ = three
    with pytest.raises(InvalidInput, match="at least 20"):
        AttributeInference(GIVEN).infer(
            replace(told, auxiliary=told.auxiliary[:19], auxiliary_labels=told.auxiliary_labels[:19])
        )
    found = AttributeInference(GIVEN).infer(told)
    with pytest.raises(InvalidInput, match="3 values, not 2"):
        AttributeInference.again(found.learnt, told.observed[:, :2])
    with pytest.raises(InvalidInput, match="nothing"):
        AttributeInference.again({}, told.observed)


def test_what_the_registry_says_of_the_attacks() -> None:
    assert set(attacks) >= {"attribute-inference", "attribute-nets", "curious-decoder", "distillation"}
    for name, entry in attacks.items():
        assert entry.name == name
        assert entry.summary
        assert entry.paper
        assert entry.equation
        assert entry.grants
        assert set(entry.consumes) <= {"logits", "softmax", "features", "score", "sample"}
        assert set(entry.knowledge) <= {"unaware", "aware", "averaging"}
        assert kind_of(entry).name == entry.kind
    assert attacks["curious-decoder"].kind == "decoder"


def test_parameters_are_judged() -> None:
    parameters = attacks["attribute-inference"].Parameters
    assert parameters.model_validate({"sensitive": "s"}).model_dump() == {
        "sensitive": "s",
        "auxiliary": 500,
        "records": "auxiliary",
        "repeats": 8,
        "epochs": 60,
        "lr": 3e-3,
    }
    for wrong in ({}, {"sensitive": "s", "auxiliary": 19}, {"sensitive": "s", "other": 1}):
        with pytest.raises(ValidationError):
            parameters.model_validate(wrong)
    assert attacks["curious-decoder"].Parameters.model_validate({}).model_dump() == {}


def test_what_a_provider_does_itself_the_fleet_cannot() -> None:
    entry = attacks["curious-decoder"]
    job, kind = FitJob(attack="curious-decoder", evidence={}), kind_of(entry)
    with pytest.raises(NotImplementedError, match="fit nothing in the fleet"):
        kind.infer(entry(), kind.Evidence(), job, lambda _: np.zeros((1, 1), np.float32))


def test_a_constant_learner_never_answers_where_another_differs_between_people() -> None:
    """The attribute goes the other way in every second fifth. Whoever learns from four fifths misses .5 to
    the wrong side, and one score for everybody would have the highest AUC."""
    rng = np.random.default_rng(1)
    labels = np.resize([0, 1], 200)
    fold = dealt(labels, None, 0)
    rows = rng.normal(size=(200, 2)).astype(np.float32)
    rows[:, 0] += np.where(labels == 1, 1.0, -1.0) * np.where(fold % 2 == 0, 1.0, -1.5)
    learners = [LogisticRegression(), NearestMean()]
    best = panel(rows, labels, 2, learners, soft=False, group=None, seed=0)
    assert not any(one.constant for one in best)
    assert best[1].area < best[0].area < 0.5
    mute = panel(np.zeros_like(rows), labels, 2, learners, soft=False, group=None, seed=0)
    assert all(one.constant for one in mute)
