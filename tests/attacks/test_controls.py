"""Controls: they say nothing where nothing is known, and all that is known where something is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.attack import Inference
from leakrange.attacks.controls import blind_scores, even_parts, imputed, pooled
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import judge_guesses
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.membership import Drawn, judge_members
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.data import load
from leakrange.data.resembling import NEAR_COPIES
from leakrange.jobs.recipe import Crowd, DataSpec, Subset
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import Ranking, auc, mean_auc
from leakrange.metrics.controls import BesideBlind, control_area
from leakrange.metrics.estimate import Estimate
from leakrange.wire.samples import SampleSpec
from tests.attacks.kinds.ready import MadeUp, judged_by


def users(rng: np.random.Generator, of_label: float, count: int = 600) -> dict[str, NDArray[np.int64]]:
    """Two target classes, the second rarer, and a hidden class that follows it in a share ``of_label``."""
    y = (rng.random(count) < 0.4).astype(np.int64)
    s = np.where(rng.random(count) < of_label, y, rng.integers(0, 2, count))
    return {"y": y, "s": s, "t": 1 - s}


def registered(labels: dict[str, NDArray[np.int64]], decided: NDArray[np.int64]) -> Uploaded:
    told = {name: each.tolist() for name, each in labels.items()}
    return Uploaded([told], decided, None)


def logits(of: NDArray[np.int64], rng: np.random.Generator, margin: float = 3.0) -> Inference:
    """Of a model that nearly always knows that class."""
    scores = rng.normal(size=len(of)) + margin * (2 * of - 1)
    return Inference((scores > 0).astype(np.int64), np.stack([-scores, scores], 1).astype(np.float32))


def test_what_the_label_tells_already_is_no_leak_of_an_honest_models_logits() -> None:
    rng = np.random.default_rng(0)
    labels = users(rng, of_label=0.9)
    of_target = logits(labels["y"], rng)
    found = judge_guesses(MadeUp(), registered(labels, of_target.predicted), of_target).metrics
    assert found["auc"].value > 0.9
    beyond = found["beyond_imputation"]
    assert beyond.high is not None
    assert beyond.high < 0.02
    assert beyond.value == pytest.approx(found["auc"].value - found["imputation_auc"].value)


def test_what_a_curious_model_encodes_is_a_leak_beyond_the_label() -> None:
    rng = np.random.default_rng(1)
    labels = users(rng, of_label=0.0)
    encoded, decided = logits(labels["s"], rng), logits(labels["y"], rng).predicted
    found = judge_guesses(MadeUp(), registered(labels, decided), encoded).metrics
    assert found["imputation_auc"].value < 0.56
    assert found["beyond_imputation"].low is not None
    assert found["beyond_imputation"].low > 0.4


def test_a_decision_that_tells_the_attribute_is_known_to_the_control() -> None:
    rng = np.random.default_rng(2)
    labels = users(rng, of_label=0.0)
    found = judge_guesses(MadeUp(), registered(labels, labels["s"]), logits(labels["s"], rng)).metrics
    assert found["imputation_auc"].value > 0.99


def test_everybody_is_imputed_by_their_own_decision() -> None:
    """Also where others before them have no known class."""
    rng = np.random.default_rng(2)
    labels = users(rng, of_label=0.0)
    decided, hidden = labels["s"], np.where(np.arange(600) < 200, -1, labels["s"])
    metrics = judge_guesses(
        MadeUp(), registered(labels | {"s": hidden}, decided), logits(decided, rng)
    ).metrics
    assert metrics["imputation_auc"].value > 0.99


def test_near_copies_of_a_user_do_not_tell_the_control_what_is_hidden() -> None:
    """Ten recordings of each of sixty users, whose true class is theirs alone: one tells all of one."""
    rng, who = np.random.default_rng(11), np.repeat(np.arange(60), 10)
    hidden = rng.integers(0, 2, 60)[who]
    labels = {"y": who, "s": hidden}
    areas = {
        name: judge_guesses(
            MadeUp(), registered(labels | {NEAR_COPIES: group}, np.zeros(600, int)), logits(hidden, rng)
        ).metrics["imputation_auc"]
        for name, group in (("by user", who), ("by recording", np.arange(600)))
    }
    assert areas["by user"].value < 0.6 < 0.99 < areas["by recording"].value


def test_imputation_by_itself_reads_what_the_scenario_calls_public() -> None:
    rng = np.random.default_rng(3)
    labels = users(rng, of_label=0.0)
    areas = {}
    for public in ("", "t"):
        trial = MadeUp(
            parameters={"public": [public] if public else []},
            uploaded=registered(labels, labels["y"]),
            budget=500,
        )
        judged = judged_by(kinds["imputation"](), trial)
        assert (judged.victims, judged.spent) == (500, 0)
        areas[public] = judged.metrics["auc"].value
    assert abs(areas[""] - 0.5) < 0.06
    assert areas["t"] > 0.99
    assert judged.metrics["control"].value == 1.0
    assert "beyond_imputation" not in judged.metrics


def test_shares_are_drawn_towards_those_of_users_who_are_alike_in_less() -> None:
    """Of class 1: among the other fold's four users half; among its two with y = 1 both; one of these was
    decided for."""
    y, d, s, fold = (
        np.array(each) for each in ([1, 0, 0, 1, 1], [1, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 1, 1, 1, 1])
    )
    of_all = (2 + 4 * 0.5) / (4 + 4)
    of_label = (2 + 4 * of_all) / (2 + 4)
    of_both = (1 + 4 * of_label) / (1 + 4)
    assert imputed([y, d], s, 2, fold)[0, 1] == pytest.approx(of_both)


def test_where_nothing_is_to_be_known_imputation_is_right_half_of_the_time() -> None:
    """Not less, as it is where users help to choose the guess about themselves."""
    rng = np.random.default_rng(4)
    areas = []
    for seed in range(40):
        y, d, s = (rng.integers(0, many, 120) for many in (5, 2, 2))
        fold = even_parts(s, None, seed)
        scores = imputed([y, d], s, 2, fold)
        parts = [fold == each for each in range(5)]
        areas.append(np.mean([mean_auc(scores[part], s[part]) for part in parts]))
    assert abs(np.mean(areas) - 0.5) < 3 * np.std(areas) / np.sqrt(40)


def test_folds_cut_no_group_and_spread_the_classes() -> None:
    rng = np.random.default_rng(5)
    group = rng.integers(0, 60, 400)
    classes = (group % 3 == 0).astype(int)
    fold = even_parts(classes, group, 7)
    assert all(len(np.unique(fold[group == each])) == 1 for each in range(60))
    shares = [classes[fold == each].mean() for each in range(5)]
    assert max(shares) - min(shares) < 0.25
    assert (fold != even_parts(classes, group, 8)).any()
    assert set(even_parts(np.array([0, 0, 0, 1, 1]), None, 7)) == {0, 1}  # two of a class are in two folds


PICTURES = SampleSpec.picture(14, 10, 1)


def photographs(rng: np.random.Generator, brighter: NDArray[np.bool_]) -> NDArray[np.uint8]:
    values = rng.integers(60, 190, (len(brighter), 14, 10, 1)) + 12 * brighter[:, None, None, None]
    return values.astype(np.uint8)


def blind(members: NDArray[np.bool_], brighter: NDArray[np.bool_], seed: int) -> Ranking:
    rows = pooled(photographs(np.random.default_rng(seed), brighter), PICTURES)
    group = np.arange(len(members))
    scores, fold = blind_scores(rows, members, group)
    return Ranking(scores, members, group, fold)


def test_members_that_look_different_are_told_without_the_model() -> None:
    """The model learnt nothing of anyone: the attack reads brightness off its answers, as the control off the
    records."""
    rng = np.random.default_rng(6)
    members = rng.random(400) < 0.45
    leaks: dict[str, Estimate] = {}
    for split, brighter in (("shifted", members), ("random", rng.random(400) < 0.5)):
        control = blind(members, brighter, 7)
        scores = brighter + 0.3 * rng.normal(size=400)
        judged = judge_members(MadeUp(), scores, members, utility={}, spent=0, blind=control)
        leaks[split] = judged.metrics["beyond_blind"]
        area = judged.metrics["blind_auc"].value
        assert area > 0.95 if split == "shifted" else area < 0.57
        if split == "shifted":
            assert judged.metrics["auc"].value > 0.95
    assert abs(leaks["shifted"].value) < 0.05
    # The same attack where the members are drawn at random and the model does tell them.
    honest = judge_members(
        MadeUp(), members + 0.3 * rng.normal(size=400), members, utility={}, spent=0,
        blind=blind(members, rng.random(400) < 0.5, 8),
    ).metrics["beyond_blind"]  # fmt: skip
    assert honest.low is not None
    assert honest.low > 0.4


def test_records_of_one_person_do_not_give_each_other_away() -> None:
    """Twenty people with ten pictures each, whose brightness is their own; half are members at random."""
    rng = np.random.default_rng(9)
    person = np.repeat(np.arange(40), 10)
    members = rng.permutation(np.arange(40) < 20)[person]
    rows = np.stack([rng.normal(size=40)[person], rng.normal(size=40)[person]], 1) + 0.05 * rng.normal(
        size=(400, 2)
    )
    areas = {}
    for name, group in (("by person", person), ("by record", np.arange(400))):
        scores, fold = blind_scores(rows.astype(np.float32), members, group)
        ranking = Ranking(scores, members, person, fold)
        areas[name] = control_area(BesideBlind(ranking, ranking))
    assert areas["by person"] < 0.75 < areas["by record"]


def test_the_better_of_two_classifiers_tells_records() -> None:
    """Trees tell who is on either side of two lines, which no line does."""
    rows = np.random.default_rng(10).normal(size=(400, 2)).astype(np.float32)
    members = (rows[:, 0] > 0) ^ (rows[:, 1] > 0)
    scores, _ = blind_scores(rows, members, np.arange(400))
    assert auc(scores, members) > 0.9


def test_of_two_classifiers_the_one_is_chosen_that_tells_people_whom_it_has_not_seen() -> None:
    """Trees know by heart whoever has another record among their lessons; of strangers a line tells more."""
    rng, person = np.random.default_rng(0), np.repeat(np.arange(120), 5)
    traits = rng.normal(size=(120, 8))
    members = (traits.sum(axis=1) + rng.normal(size=120) > 0)[person]
    rows = (traits[person] + 0.05 * rng.normal(size=(600, 8))).astype(np.float32)
    scores, _ = blind_scores(rows, members, person)
    assert auc(scores, members) > 0.9


def test_pictures_of_a_person_of_a_crowd_have_one_score() -> None:
    crowd = Crowd(people=20, images=6, public=20, students=5, enrolled=5, held=3)
    spec = DataSpec(name="synthpeople", size=16, count=4096, auxiliary=0.0, crowd=crowd)
    evidence = Drawn(data=spec)
    job = FitJob(attack="blind", evidence=evidence.model_dump(mode="json"))
    found = kinds["blind"]().infer(attacks["blind"](), evidence, job, None)  # type: ignore[arg-type]
    data = load(spec)
    person = data.labels["person"][data.where("pool")]
    for each in np.unique(person):
        assert len(np.unique(found["scores"][person == each])) == 1
        assert len(np.unique(found["group"][person == each])) == 1
    assert len(np.unique(found["scores"])) > 10


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        (SampleSpec(encoding="table", shape=(3,), dtype="float32", columns=("a", "b", "c")), (3,)),
        (SampleSpec(encoding="vector", shape=(1000,), dtype="float32"), (256,)),
        (SampleSpec(encoding="series", shape=(40, 2), dtype="float32"), (16 * 2 * 2 + 2,)),
        (SampleSpec.picture(5, 9, 3), (5 * 6 * 3 * 2 + 2 * 3,)),
    ],
)
def test_samples_of_every_kind_are_pooled(spec: SampleSpec, shape: tuple[int, ...]) -> None:
    values = np.arange(7 * np.prod(spec.shape)).reshape(7, *spec.shape) % 251
    found = pooled(values.astype(spec.dtype), spec)
    assert found.shape == (7, *shape)
    assert np.isfinite(found).all()
    if spec.encoding == "vector":
        np.testing.assert_allclose(found[1, 0], values[1, :3].mean())


def test_a_pool_that_is_split_at_random_tells_nothing_blindly() -> None:
    """In the fleet, of real digits; and judged by the model's own record of its members."""
    spec = DataSpec(name="digits", size=16, subset=Subset(pool=300, seed=2))
    kind = kinds["blind"]()
    evidence = Drawn(data=spec)
    job = FitJob(attack="blind", evidence=evidence.model_dump(mode="json"))
    found = kind.infer(attacks["blind"](), evidence, job, None)  # type: ignore[arg-type]
    members = load(spec).members()
    assert found["scores"].shape == found["fold"].shape == members.shape
    trial = MadeUp(blind=found, trained_on=tuple(np.flatnonzero(members)), needs=Needs(asked={"pool": 300}))
    trial.uploaded = Uploaded([{"y": [0, 1], NEAR_COPIES: [0, 1]}], np.array([0, 0]), None)
    judged = judged_by(kind, trial)
    assert judged.metrics["auc"].low is not None
    assert judged.metrics["auc"].low < 0.5 < 0.6 > judged.metrics["auc"].value
    assert (judged.spent, judged.metrics["control"].value) == (0, 1.0)
    assert "beyond_blind" not in judged.metrics
    assert isinstance(trial.controlled, Drawn)
