"""Probing an obfuscator, as a kind of attack: what is planned, what is learned once, and how it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.figures import PANEL, held_out
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.probing import Classified, ProbingKind
from leakrange.attacks.kinds.trial import Fit, Fitted, Uploaded
from leakrange.attacks.probing import NET, Probing, ProbingParameters
from leakrange.data import load
from leakrange.jobs.net_choice import NetChoice
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import mean_auc, wilson_interval
from leakrange.scenario.attacks import targets_of
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.provider import resolve
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput, LeakrangeError
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by
from tests.scenario.planned import trial

TEXT = """\
name: probed
seeds: [4]
data: {name: synthmotion, count: 800}
net: {name: mlp}
providers:
  honest: {target: activity, sensitive: hand, release: sample}
clients:
  phones: {kind: edge, samples: 100}
defences:
  hides: [pass: {private: hand, useful: activity, net: conv-1d}]
attacks:
  probe: {kind: probing, useful: activity, general: gait, auxiliary: 60, repeats: 3}
budgets: [90, 180]
"""
SIZES = {"train": 500, "validation": 50, "auxiliary": 60, "test": 100}


def test_the_same_samples_are_asked_about_as_they_are_and_obfuscated() -> None:
    plan = expand(parse(TEXT), lambda _spec: SIZES)
    needs = trial(plan, "honest-s4.hides.probe.aware.b90").needs
    assert needs.probes == {
        "auxiliary": ["honest-s4.hides.device0"],
        "plain": ["honest-s4.none.q0"],
    }
    assert (needs.streams, needs.undefended) == (["honest-s4.hides.u0"], ["honest-s4.none.u0"])
    assert needs.asked["attributes"] == {
        "hand": ["private", 2],
        "activity": ["useful", 4],
        "gait": ["general", 2],
    }
    streams = {each.id: each for each in plan.streams}
    assert streams["honest-s4.none.u0"].local.spec() == []
    assert streams["honest-s4.none.u0"].spans == streams["honest-s4.hides.u0"].spans
    [model] = plan.models
    assert model.recipe.data.name == "synthmotion"


def test_who_averages_repeats_what_is_obfuscated_and_pays_for_it() -> None:
    plan = expand(parse(TEXT), lambda _spec: SIZES)
    found = {each.result.id for each in plan.trials}
    assert "honest-s4.hides.probe.averaging.b90" not in found  # 90 answers about 30 records are too few
    needs = trial(plan, "honest-s4.hides.probe.averaging.b180").needs
    assert [name.rpartition(".")[2] for name in needs.probes["auxiliary"]] == [
        "device1",
        "device2",
        "device3",
    ]
    assert len(needs.probes["plain"]) == len(needs.undefended) == 1
    assert len(needs.streams) == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"useful": "colour"}, "no attribute 'colour'"),
        ({"useful": ["activity", "hand"]}, "'hand' has two roles"),
        ({"private": ["gait", "hand"], "general": "hand"}, "'hand' has two roles"),
    ],
)
def test_attributes_are_there_and_have_one_role(given: dict[str, Any], said: str) -> None:
    scenario = parse(TEXT)
    provider = resolve("honest", scenario.providers["honest"], scenario.data["synthmotion"])
    kind = ProbingKind()
    outcome = kind.target(Probing, given, next(iter(provider.by_attribute())))
    assert isinstance(outcome, str)
    assert said in outcome
    [target] = targets_of(Probing, scenario.attacks["probe"], provider)
    assert (target.hidden, target.classes) == ("hand", ("left", "right"))


class Counting(Probing):
    fits = 0

    def fit(self, *given: Any, **named: Any) -> Any:
        Counting.fits += 1
        return super().fit(*given, **named)


DATA = DataSpec(name="synthmotion", count=400, auxiliary=0.4)


def test_the_same_lessons_are_learned_once(store: FolderStore, releases: ReleaseStore) -> None:
    data = load(DATA)
    own, users = (data.where(part) for part in ("auxiliary", "test"))

    def stored(name: str, places: np.ndarray) -> str:
        identity = digest([name])
        put_array(store, f"{identity}.npy", data.values[places])
        return identity

    lessons = [[stored("own", own)]]
    parameters = ProbingParameters(net=NetChoice(name="conv-1d", width=0.5), epochs=8, batch=16)
    attack = Counting(parameters)
    Counting.fits = 0
    for name, chosen in (("all", users), ("few", users[:7])):
        evidence = Classified(
            attribute="hand",
            span=Span(data=DATA, split="auxiliary", start=0, stop=len(own)),
            lessons=lessons,
            observed=[[stored(name, chosen)]],
        )
        job = FitJob(
            attack="probing",
            parameters=parameters.model_dump(mode="json"),
            release="sample",
            evidence=evidence.model_dump(mode="json"),
            seed=2,
        )
        found = ProbingKind().infer(attack, evidence, job, releases)
        truth = data.labels["hand"][chosen]
        assert (found["predicted"] == truth).mean() > 0.85
    assert Counting.fits == 1


class Noting(Probing):
    """Keeps what it is to learn from, and learns nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.lessons: list[tuple[Any, ...]] = []

    def fit(self, *lessons: Any) -> Any:
        self.lessons.append(lessons)
        return {"nothing": np.zeros(1)}

    def infer(self, _state: Any, draws: Any, classes: int, _spec: Any) -> Inference:
        scores = np.full((len(draws[0]), classes), 1 / classes, dtype=np.float32)
        return Inference(scores.argmax(axis=1), scores)


STRANGERS = DataSpec(name="synthpeople", size=16, count=4096, auxiliary=0.05)
"""Whose users are people of whom the attacker has no picture."""


def test_every_draw_of_whole_people_is_a_lesson_and_others_are_learned_anew(
    store: FolderStore, releases: ReleaseStore
) -> None:
    data = load(STRANGERS)
    own = data.where("auxiliary")
    drawn = np.random.default_rng(1).normal(size=(3, len(own), *data.spec.shape)).astype(np.float32)
    names = [digest([name]) for name in ("first", "second", "third")]
    for name, values in zip(names, drawn, strict=True):
        put_array(store, f"{name}.npy", values)
    attack = Noting()

    def learn(lessons: list[str], seed: int) -> int:
        evidence = Classified(
            attribute="glasses",
            span=Span(data=STRANGERS, split="auxiliary", start=0, stop=len(own)),
            lessons=[lessons],
            observed=[names[:1]],
        )
        job = FitJob(attack="probing", evidence=evidence.model_dump(mode="json"), seed=seed)
        ProbingKind().infer(attack, evidence, job, releases)
        return len(attack.lessons)

    learned = [learn(names[:2], 2), learn(names[:2], 2), learn(names[:2], 3), learn(names[1:], 3)]
    assert learned == [1, 1, 2, 3]
    draws, labels, classes, _, seed, group = attack.lessons[0]
    np.testing.assert_array_equal(draws, drawn[:2])
    np.testing.assert_array_equal(labels, data.labels["glasses"][own])
    assert (classes, seed, attack.lessons[1][4]) == (2, 2, 3)
    person = data.labels["person"][own]
    assert len(np.unique(person)) < len(own)
    np.testing.assert_array_equal(group[:, None] == group, person[:, None] == person)


def test_lessons_that_are_too_few_or_unequal_are_refused(store: FolderStore, releases: ReleaseStore) -> None:
    identity, shorter = digest(["a"]), digest(["b"])
    put_array(store, f"{identity}.npy", np.zeros((60, 128, 3), np.float32))
    put_array(store, f"{shorter}.npy", np.zeros((50, 128, 3), np.float32))
    span = Span(data=DATA, split="auxiliary", start=0, stop=61)
    for lessons, said in (
        ([[identity]], "60 releases of 61"),
        ([[identity], [shorter, shorter]], "as many draws"),
    ):
        evidence = Classified(attribute="hand", span=span, lessons=lessons, observed=[[identity]])
        job = FitJob(attack="probing", evidence=evidence.model_dump(mode="json"))
        with pytest.raises(InvalidInput, match=said):
            ProbingKind().infer(Probing(), evidence, job, releases)


def test_one_faint_number_of_a_sample_that_tells_the_attribute_is_found_though_the_net_misses_it(
    store: FolderStore, releases: ReleaseStore
) -> None:
    """Obfuscated samples are noise. One of 192 numbers is a tenth as loud, and higher for one hand: who knows
    which has an AUC of .92."""
    given = DataSpec(name="synthmotion", count=1500, auxiliary=0.4)
    data = load(given)
    own, users = (data.where(part) for part in ("auxiliary", "test"))
    noise = np.random.default_rng(3).normal(size=data.values.shape).astype(np.float32)
    noise[:, 17, 1] = 0.1 * (noise[:, 17, 1] + 2 * data.labels["hand"])
    for name, chosen in (("own", own), ("users", users)):
        put_array(store, f"{digest([name])}.npy", noise[chosen])
    evidence = Classified(
        attribute="hand",
        span=Span(data=given, split="auxiliary", start=0, stop=len(own)),
        lessons=[[digest(["own"])]],
        observed=[[digest(["users"])]],
        panel=True,
    )
    parameters = ProbingParameters(net=NetChoice(name="conv-1d", width=0.5), epochs=8)
    job = FitJob(attack="probing", evidence=evidence.model_dump(mode="json"), seed=2)
    found = ProbingKind().infer(Probing(parameters), evidence, job, releases)
    truth = data.labels["hand"][users]
    assert mean_auc(found["scores"], truth) < 0.65
    assert mean_auc(found[f"{PANEL}scores"][0], truth) > 0.8
    assert len(set(found[f"{PANEL}learner"])) == 6
    [judged] = held_out(found)
    assert len(judged.truth) == len(own)
    without = evidence.model_copy(update={"panel": False})
    assert ProbingKind().infer(Probing(parameters), without, job, releases).keys() == {"predicted", "scores"}


TRUTH = {"s": [0, 0, 0, 1, 1], "u": [2, 1, 0, 0, -1], "y": [0, 0, 1, 1, 1]}
SAID = {
    # by attribute, whose lessons, and what is classified
    ("s", "own", "seen"): [0, 0, 0, 0, 1],
    ("s", "plain", "bare"): [0, 0, 0, 1, 1],
    ("s", "plain", "seen"): [1, 1, 1, 0, 0],
    ("u", "own", "seen"): [2, 1, 1, 1, 0],
    ("u", "plain", "bare"): [2, 1, 0, 0, 0],
    ("u", "plain", "seen"): [2, 0, 0, 0, 0],
}
BEST = [0, 0, 0, 1, 1]
"""What another learner than the net says of the private attribute, by obfuscated samples."""


def shares(predicted: np.ndarray, classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.float32)[predicted] * 0.9 + 0.05


@dataclass
class Probed(MadeUp):
    """A trial of ``times`` five users, whose fleet answers as `SAID` says; the obfuscator had an
    adversary."""

    times: int = 1
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def fit(self, fit: Fit) -> Fitted:
        evidence = fit.evidence
        assert isinstance(evidence, Classified)
        question = (evidence.attribute, evidence.lessons[0][0], evidence.observed[0][0])
        self.asked.append(question)
        assert all(len(draws) == 1 for draws in evidence.observed) or question[1] == "own"
        predicted = np.tile(SAID[question], self.times)
        scores = shares(predicted, {"s": 2, "u": 3}[question[0]])
        arrays = {"predicted": predicted, "scores": scores}
        assert evidence.panel == (question[:2] == ("s", "own"))
        if evidence.panel:
            best = shares(np.tile(BEST, self.times), 2)
            arrays |= {
                f"{PANEL}learner": np.array(["boosted trees", NET]),
                f"{PANEL}view": np.array(["raw", "raw"]),
                f"{PANEL}area": np.array([0.9, 0.6]),
                f"{PANEL}scores": np.stack([best, scores]),
                f"{PANEL}ranks": np.eye(2)[[0, 0, 1, 1]],
                f"{PANEL}truth": np.array([0, 1, 0, 1]),
            }
        return Fitted("f" * 64, arrays)

    def obfuscators(self) -> list[Mapping[str, Any]]:
        return [{"figures": {"train": {"adversary s": 1.0}, "test": {"adversary s": 0.68}}}]


def probed(truth: Mapping[str, list[int]] = TRUTH, times: int = 1) -> Probed:
    truth = {name: labels * times for name, labels in truth.items()}
    span = Span(data=DATA, split="auxiliary", start=0, stop=60)
    return Probed(
        model=MadeUpModel(release="sample"),
        needs=Needs(
            probes={"auxiliary": ["a", "b"], "plain": ["c"]},
            asked={
                "span": span.model_dump(mode="json"),
                "attributes": {"s": ["private", 2], "u": ["useful", 3]},
            },
        ),
        probes={"auxiliary": [["own", "own2"]], "plain": [["plain"]]},
        observed=[["seen", "seen2"]],
        undefended=[["bare"]],
        uploaded=Uploaded([truth], np.tile([0, 0, 1, 0, 0], times), None),
        times=times,
    )


def test_every_attribute_is_judged_beside_what_there_was_to_gain() -> None:
    ready = probed(times=9)
    judged = judged_by(ProbingKind(), ready)
    found = {name: estimate.value for name, estimate in judged.metrics.items()}
    # s: .8 reached, .6 by the commonest class, 1 undefended; u, of four users: .5, .5, 1, and .75 unfinetuned
    assert found["private_nag"] == pytest.approx(0.5)
    assert found["useful_nag"] == pytest.approx(0.0)
    assert found["mnag"] == pytest.approx(-0.5)
    assert found["unfinetuned_nag"] == pytest.approx(0.5)
    assert found["protector_nag"] == pytest.approx(0.2)
    # the net alone gives gains; who did best on held-out records gives all that a report concludes from
    assert found["honesty"] == pytest.approx(0.6)
    assert found["auc"] == found["curiosity"] == found["private_panel_auc"] == 1.0
    assert found["held_out_auc"] == 0.5
    assert (judged.victims, judged.spent) == (45, 120)
    assert judged.views["confusion"] == [[27, 0], [0, 18]]
    assert [(row["learner"], row["chosen"]) for row in judged.views["panel"]] == [
        ("boosted trees", True),
        (NET, False),
    ]
    assert judged.views["panel"][1]["auc"] == pytest.approx(0.75)
    first, second = judged.views["attributes"]
    assert (first["attribute"], first["role"], first["accuracy"], first["undefended"]) == (
        "s",
        "private",
        0.8,
        1.0,
    )
    assert (first["panel_auc"], "panel_auc" in second) == (1.0, False)
    assert (second["majority"], second["unfinetuned"]) == (0.5, 0.75)
    assert "protector" not in second


def test_five_users_do_not_tell_that_there_is_a_lead_to_share() -> None:
    """Undefended all five are told right, where the commonest class has three: that may be luck."""
    judged = judged_by(ProbingKind(), probed())
    assert not {"private_nag", "mnag"} & judged.metrics.keys()
    first, _ = judged.views["attributes"]
    assert "nag" not in first
    assert first["at_least"] == pytest.approx(wilson_interval(5, 5)[0])


def test_nobody_whose_attribute_is_known_is_a_clear_error() -> None:
    with pytest.raises(LeakrangeError, match="no user's 'u' is known"):
        judged_by(ProbingKind(), probed({**TRUTH, "u": [-1] * 5}))
