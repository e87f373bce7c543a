"""An attribute of people whom a teacher never saw, read from a service's answers about them."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.kind import Releases
from leakrange.attacks.kinds.people_attribute import AttributeAsked
from leakrange.data import load
from leakrange.jobs.job import FitJob
from leakrange.jobs.recipe import Crowd, DataSpec, TrainingRecipe
from leakrange.scenario.document import ServiceSpec
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput, InvalidScenario
from tests.attacks.kinds.ready import MadeUp, MadeUpModel
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
    told = {"data": DATA, "sensitive": "glasses", "known": 60, "auxiliary": [[names[0]]]}
    return AttributeAsked.model_validate(told | {"answers": [[names[1]]]} | changes)


def inferred(evidence: AttributeAsked, releases: Releases) -> dict[str, np.ndarray]:
    entry = attacks["people-attribute"]
    job = FitJob(attack=entry.name, release="features", evidence=evidence.model_dump(mode="json"))
    parameters = entry.Parameters.model_validate({"sensitive": "glasses"})
    return kinds["people-attribute"]().infer(entry(parameters), evidence, job, releases)


async def judged(found: dict[str, np.ndarray], members: range) -> dict[str, float]:
    model = MadeUpModel(
        recipe=TrainingRecipe(data=DATA, behaviour="honest"),
        service=ServiceSpec(kind="recognition"),
        release="softmax",
    )
    needs = Needs(probes={"auxiliary": ["a"], "answers": ["b"], "users": ["c"]}, asked={"count": 60})
    ready = MadeUp(
        hidden="glasses",
        model=model,
        needs=needs,
        probes={"auxiliary": [["a"]], "answers": [["b"]], "users": [["c"]] * 10},
        trained_on=tuple(members),
        found=found,
    )
    verdict = await kinds["people-attribute"]().judge(ready)
    assert verdict.spent == 60 + 240
    assert verdict.victims == 240 - len(members)
    return {name: estimate.value for name, estimate in verdict.metrics.items()}


async def test_what_the_answers_tell_is_read_and_what_they_do_not_is_not(
    store: FolderStore, releases: Releases
) -> None:
    truth = load(DATA).labels["glasses"][load(DATA).where("pool")]
    for strength, low, high in ((4.0, 0.9, 1.0), (0.0, 0.3, 0.7)):
        found = inferred(asked(store, strength), releases)
        np.testing.assert_array_equal(found["truth"], truth)
        assert low < (await judged(found, range(0)))["auc"] <= high


async def test_only_people_whom_the_teacher_never_saw_are_judged(
    store: FolderStore, releases: Releases
) -> None:
    found = inferred(asked(store, 4.0), releases)
    wrong = {**found, "scores": found["scores"].copy()}
    wrong["scores"][:100] *= -1  # of members
    assert (await judged(wrong, range(100)))["auc"] > 0.9
    assert (await judged(wrong, range(0)))["auc"] < 0.8


def test_answers_that_are_too_few_are_told(store: FolderStore, releases: Releases) -> None:
    with pytest.raises(InvalidInput, match="70 and 240 answers about 75 and 240 pictures"):
        inferred(asked(store, 4.0, known=75), releases)


def test_a_budget_answers_for_the_pool_and_then_for_the_public() -> None:
    plan = expand(parse(TEXT), lambda _spec: None)
    counts = {each.result.id.removeprefix("vectors-s0."): each.needs.asked["count"] for each in plan.trials}
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
    assert {each.result.kind for each in plan.trials} == {"people-attribute"}
    assert plan.classes["synthpeople"]["glasses"] == ["none", "glasses"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("providers: vectors", "providers: pairs", "it releases score"),
        ("sensitive: glasses", "sensitive: role", "no attribute of two classes"),
        ("sensitive: glasses", "sensitive: hat", "no attribute 'hat'"),
        ("[240, 270, 600]", "[240]", "buys this attack enough"),
    ],
)
def test_what_cannot_be_is_told(before: str, after: str, said: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        parse(TEXT.replace(before, after))
    assert any(said in mistake["message"] for mistake in refused.value.mistakes), refused.value.mistakes
