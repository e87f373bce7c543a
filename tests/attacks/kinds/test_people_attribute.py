"""An attribute of people whom a teacher never saw, inferred from a service's answers about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kinds, people_attribute
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.people_attribute import AttributeAsked
from leakrange.attacks.people.questions import compared, learnt_from
from leakrange.data import load
from leakrange.data.spans import span_of
from leakrange.jobs.recipe import Crowd, DataSpec, TrainingRecipe
from leakrange.jobs.samples import Span, Split
from leakrange.jobs.steps.fit import FitJob
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.errors import InvalidInput, InvalidScenario
from leakrange.wire.releases import ReleaseKind
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by
from tests.scenario.planned import trial

CROWD = Crowd(people=20, images=6, public=20, students=5, enrolled=5, held=3)
DATA = DataSpec(name="synthpeople", size=32, count=4096, auxiliary=0.0, crowd=CROWD)
TEXT = """\
name: people
seeds: [0]
data: {name: synthpeople, auxiliary: 0, crowd: {people: 20, images: 6, public: 20, students: 5}}
net: {name: residual, width: 0.25}
providers:
  vectors: {target: identity, service: features}
  pairs: {target: identity, service: verification}
defences: {none: [], noisy: [noise: {scale: 0.5}]}
attacks:
  glasses: {kind: people-attribute, sensitive: glasses, providers: vectors, auxiliary: 60, repeats: 2}
  distances: {kind: people-attribute, sensitive: glasses, providers: pairs, references: 5, targets: 40}
budgets: [240, 270, 600]
"""


def asked(store: FolderStore, strength: float, **changes: object) -> AttributeAsked:
    """Answers of eight numbers, one of which tells of glasses."""
    data, rng, names = load(DATA), np.random.default_rng(0), []
    for part, rows in (("public", 70), ("pool", 240)):
        label = data.labels["glasses"][data.where(part)[:rows]]
        values = rng.normal(size=(rows, 8))
        values[:, 3] += strength * label
        names.append(digest([part, strength]))
        put_array(store, f"{names[-1]}.npy", values.astype(np.float32))
    told = {"data": DATA, "sensitive": "glasses", "known": 60, "targets": 240, "auxiliary": [[names[0]]]}
    return AttributeAsked.model_validate(told | {"answers": [[names[1]]]} | changes)


def inferred(
    evidence: AttributeAsked, releases: ReleaseStore, release: ReleaseKind = "features"
) -> dict[str, np.ndarray]:
    entry = attacks["people-attribute"]
    job = FitJob(attack=entry.name, release=release, evidence=evidence.model_dump(mode="json"))
    parameters = entry.Parameters.model_validate({"sensitive": "glasses"})
    return kinds["people-attribute"]().infer(entry(parameters), evidence, job, releases)


def judged(found: dict[str, np.ndarray], members: range, references: int = 0) -> dict[str, float]:
    targets = len(found["truth"])
    model = MadeUpModel(
        recipe=TrainingRecipe(data=DATA, behaviour="honest"),
        service=ServiceSpec(kind="recognition"),
        release="softmax",
    )
    needs = Needs(
        probes={"auxiliary": ["a"], "answers": ["b"], "users": ["c"]},
        asked={"known": 60, "targets": targets, "references": references},
    )
    ready = MadeUp(
        hidden="glasses",
        parameters={"among": {}},
        model=model,
        needs=needs,
        probes={"auxiliary": [["a"]], "answers": [["b"]], "users": [["c"]] * 10},
        trained_on=tuple(members),
        found=found,
    )
    verdict = judged_by(kinds["people-attribute"](), ready)
    assert verdict.spent == (60 + targets) * max(references, 1)
    assert verdict.victims == (found["truth"] >= 0).sum() - len(members)
    return {name: estimate.value for name, estimate in verdict.metrics.items()}


def test_what_the_answers_tell_is_read_and_what_they_do_not_is_not(
    store: FolderStore, releases: ReleaseStore
) -> None:
    truth = load(DATA).labels["glasses"][load(DATA).where("pool")]
    for strength, low, high in ((4.0, 0.9, 1.0), (0.0, 0.3, 0.7)):
        found = inferred(asked(store, strength), releases)
        np.testing.assert_array_equal(found["truth"], truth)
        assert low < judged(found, range(0))["auc"] <= high


def test_only_people_whom_the_teacher_never_saw_are_judged(
    store: FolderStore, releases: ReleaseStore
) -> None:
    found = inferred(asked(store, 4.0), releases)
    wrong = {**found, "scores": found["scores"].copy()}
    wrong["scores"][:100] *= -1  # of members
    assert judged(wrong, range(100))["auc"] > 0.9
    assert judged(wrong, range(0))["auc"] < 0.8


def test_targets_and_classes_of_other_attributes_limit_who_is_judged(
    store: FolderStore, releases: ReleaseStore
) -> None:
    data = load(DATA)
    bearded = data.labels["facial-hair"][data.where("pool")[:100]] == 1
    found = inferred(asked(store, 4.0, targets=100, among={"facial-hair": "beard"}), releases)
    assert len(found["scores"]) == 100
    np.testing.assert_array_equal(found["truth"] >= 0, bearded)
    assert judged(found, range(0))["auc"] > 0.9


@pytest.mark.parametrize("known", [0, 1])
def test_who_knows_pictures_of_one_class_alone_infers_that_class(
    known: int, store: FolderStore, releases: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, evidence = load(DATA), asked(store, 4.0)
    labels = data.labels["glasses"].copy()
    labels[data.where("public")] = known
    monkeypatch.setattr(
        people_attribute, "load", lambda _: replace(data, labels={**data.labels, "glasses": labels})
    )
    found = inferred(evidence, releases)
    assert set(found["predicted"].tolist()) == {known}
    assert judged(found, range(0))["auc"] == 0.5


def test_distances_to_references_tell_what_vectors_do(store: FolderStore, releases: ReleaseStore) -> None:
    """The distances are those of points on a line, on which glasses move a picture."""
    data, rng, told = load(DATA), np.random.default_rng(0), {}
    place = rng.normal(size=len(data)) + 8.0 * data.labels["glasses"]
    spans: tuple[tuple[str, Split, int], ...] = (("auxiliary", "public", 60), ("answers", "pool", 240))
    for role, split, pictures in spans:
        span = Span(data=DATA, split=split, start=0, stop=pictures * 5)
        whole, pairs = compared(span, span.stop, references=5)
        chosen = span_of(whole)[1][np.array(pairs)]
        name = digest([role])
        put_array(store, f"{name}.npy", np.abs(np.diff(place[chosen], axis=1)).astype(np.float32))
        told[role] = [[name]]
    evidence = AttributeAsked(data=DATA, sensitive="glasses", known=60, targets=240, references=5, **told)
    found = inferred(evidence, releases, "score")
    np.testing.assert_array_equal(found["truth"], data.labels["glasses"][data.where("pool")])
    assert judged(found, range(100), references=5)["auc"] > 0.9


def test_each_picture_is_compared_with_every_reference_and_no_lesson_shows_one() -> None:
    data = load(DATA)
    person = data.labels["person"]
    references = data.where("public")[:5]
    assert len(set(person[references].tolist())) == 5
    expected: tuple[tuple[Split, np.ndarray], ...] = (
        ("pool", data.where("pool")),
        ("public", data.where("public")[learnt_from(CROWD, 5)]),
    )
    for split, pictures in expected:
        whole, pairs = compared(Span(data=DATA, split=split, start=5, stop=15), 1000, references=5)
        first, second = span_of(whole)[1][np.array(pairs)].T
        assert first.tolist() == np.repeat(pictures[1:3], 5).tolist()
        assert second.tolist() == [*references, *references]
    assert not set(person[expected[1][1]].tolist()) & set(person[references].tolist())
    assert len(expected[1][1]) == 4 * 15


def test_answers_that_are_too_few_are_told(store: FolderStore, releases: ReleaseStore) -> None:
    with pytest.raises(InvalidInput, match="70 answers about 75 pictures"):
        inferred(asked(store, 4.0, known=75), releases)
    with pytest.raises(InvalidInput, match="have 60 and 240 pictures, not 60 and 241"):
        inferred(asked(store, 4.0, targets=241), releases)


def test_a_budget_answers_for_the_pool_and_then_for_the_public() -> None:
    plan = expand(parse(TEXT), lambda _spec: None)
    counts = {
        each.result.id.removeprefix("vectors-s0."): each.needs.asked["known"]
        for each in plan.trials
        if each.result.provider == "vectors"
    }
    # The pool has 240 pictures; 30 more answers are for the public, of whom 60 are known.
    assert counts == {
        "none.glasses.unaware.b270": 30,
        "none.glasses.unaware.b600": 60,
        "noisy.glasses.unaware.b270": 30,
        "noisy.glasses.unaware.b600": 60,
        "noisy.glasses.aware.b270": 30,
        "noisy.glasses.aware.b600": 60,
        "noisy.glasses.averaging.b600": 60,
    }
    needs = trial(plan, "vectors-s0.noisy.glasses.unaware.b600").needs
    assert needs.probes == {
        "auxiliary": ["vectors-s0.none.public0"],
        "answers": ["vectors-s0.noisy.pool0"],
        "users": ["vectors-s0.noisy.users"],
    }
    # Of 20 people five are references: pictures of the others are for learning, 5 distances for each.
    distances = {
        each.result.budget: each.needs.asked for each in plan.trials if each.result.provider == "pairs"
    }
    assert distances == {
        240: {"known": 8, "targets": 40, "references": 5},
        270: {"known": 14, "targets": 40, "references": 5},
        600: {"known": 60, "targets": 40, "references": 5},
    }
    [probe] = [each for each in plan.probes if each.id == "pairs-s0.noisy.pool0.r5"]
    assert (probe.references, probe.spans[-1].stop) == (5, 40 * 5)
    assert {each.result.kind for each in plan.trials} == {"people-attribute"}
    assert plan.classes["synthpeople"]["glasses"] == ["none", "glasses"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("references: 5", "references: 20", "20 references of 20 public people leave nobody"),
        ("targets: 40", "among: {hat: red}", "no attribute 'hat' with a class 'red'"),
        ("sensitive: glasses, providers: v", "sensitive: role, providers: v", "no attribute of two classes"),
        ("sensitive: glasses, providers: v", "sensitive: hat, providers: v", "no attribute 'hat'"),
        ("[240, 270, 600]", "[219]", "buys this attack enough"),
    ],
)
def test_what_cannot_be_is_told(before: str, after: str, said: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        parse(TEXT.replace(before, after))
    assert any(said in mistake["message"] for mistake in refused.value.mistakes), refused.value.mistakes
