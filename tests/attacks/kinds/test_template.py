"""Enrolled embeddings from stored distances, and the people whom they name."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.template import ComparedFaces
from leakrange.attacks.people.questions import compared
from leakrange.data import load
from leakrange.data.spans import span_of
from leakrange.jobs.recipe import Crowd, DataSpec, TrainingRecipe
from leakrange.jobs.samples import Span, Split
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import pair_distances, unit_length
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import ServiceSpec
from leakrange.wire.errors import InvalidInput, InvalidScenario
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by
from tests.scenario.planned import trial

CROWD = Crowd(people=20, images=6, public=20, students=5, enrolled=5, held=3)
DATA = DataSpec(name="synthpeople", size=32, count=4096, auxiliary=0.0, crowd=CROWD)
REFERENCES, TARGETS, WIDTH = 30, 36, 12
TEXT = """\
name: faces
seeds: [0]
data: {name: synthpeople, auxiliary: 0, crowd: {people: 20, images: 6, public: 20, students: 5}}
net: {name: residual, width: 0.25}
providers:
  vectors: {target: identity, service: features}
  pairs: {target: identity, service: verification}
defences: {none: [], noisy: [noise: {scale: 0.5}]}
attacks:
  copy: {kind: multilateration, net: provider, repeats: 2, providers: pairs}
  own: {kind: multilateration, targets: 10, references: 20, providers: pairs}
budgets: [159, 160, 800]
"""


def embedded(store: FolderStore, noise: float = 0.0) -> tuple[dict[str, str], np.ndarray]:
    """Embeddings of all pictures, near those of their person; the stored ones of an attacker whose net errs
    by ``noise``, and the provider's own."""
    data, rng = load(DATA), np.random.default_rng(0)
    people = rng.normal(size=(int(data.labels["person"].max()) + 1, WIDTH))
    own = people[data.labels["person"]] + 0.3 * rng.normal(size=(len(data), WIDTH))
    names, counts = {}, {"public": REFERENCES, "pool": TARGETS, "photographs": None}
    for part, count in counts.items():
        names[part] = digest([part, noise])
        rows = data.where(part)[:count]  # type: ignore[arg-type]
        seen = own[rows] + noise * rng.normal(size=(len(rows), WIDTH))
        put_array(store, f"{names[part]}.npy", seen.astype(np.float32))
    return names, own


def found(
    store: FolderStore,
    releases: ReleaseStore,
    *,
    noise: float = 0.0,
    answers: Literal["distances", "random"] = "distances",
    normalised: bool = True,
    **changes: object,
) -> dict[str, np.ndarray]:
    names, own = embedded(store, noise)
    span = Span(data=DATA, split="pool", start=0, stop=TARGETS * REFERENCES)
    whole, pairs = compared(span, span.stop, references=REFERENCES)
    first, second = span_of(whole)[1][np.array(pairs)].T
    vectors = unit_length(own) if normalised else own
    distances = pair_distances(vectors[first], vectors[second], "euclidean")
    if answers == "random":
        distances = np.random.default_rng(1).permutation(distances)
    put_array(store, f"{digest(answers)}.npy", distances[:, np.newaxis].astype(np.float32))
    given = ComparedFaces.model_validate(
        {
            "data": DATA,
            "service": ServiceSpec(kind="verification", normalised=normalised),
            "references": REFERENCES,
            "targets": TARGETS,
            "answers": [[digest(answers)]],
            "embeddings": names,
        }
        | changes
    )
    entry = attacks["multilateration"]
    job = FitJob(attack=entry.name, release="score", evidence=given.model_dump(mode="json"))
    return kinds["template"]().infer(entry(), given, job, releases)


def judged(arrays: dict[str, np.ndarray]) -> dict[str, float]:
    ready = MadeUp(
        hidden="enrolled person",
        model=MadeUpModel(
            recipe=TrainingRecipe(data=DATA, behaviour="honest"),
            service=ServiceSpec(kind="recognition"),  # its users' answers are the shortest to make up
            release="softmax",
        ),
        needs=Needs(
            probes={"answers": ["a"], "users": ["b"]},
            shadows=["copy"],
            shows=[_shown(split) for split in ("public", "pool", "photographs")],  # type: ignore[arg-type]
            asked={"references": REFERENCES, "targets": TARGETS},
        ),
        probes={"answers": [["a"]], "users": [["b"]] * 10},
        found=arrays,
    )
    verdict = judged_by(kinds["template"](), ready)
    assert isinstance(ready.evidence, ComparedFaces)
    assert ready.evidence.embeddings["photographs"] == "copy on photographs"
    assert verdict.spent == TARGETS * REFERENCES
    assert set(verdict.views) == {"roc"}
    return {name: estimate.value for name, estimate in verdict.metrics.items()}


def _shown(split: Split) -> Span:
    return Span(data=DATA, split=split, start=0, stop=1)


@pytest.mark.parametrize("normalised", [True, False])
def test_distances_name_whose_picture_is_enrolled(
    normalised: bool, store: FolderStore, releases: ReleaseStore
) -> None:
    arrays = found(store, releases, normalised=normalised)
    np.testing.assert_allclose(arrays["cosine"], 1.0, atol=1e-4)
    np.testing.assert_allclose(arrays["similarity"], arrays["hidden_similarity"], atol=1e-3)
    figures = judged(arrays)
    assert figures["identified"] > 0.9
    assert figures["identified"] == figures["identified_by_picture"]
    assert figures["identified_by_chance"] == pytest.approx(1 / 40)
    assert figures["auc"] > 0.99
    assert figures["beyond_imputation"] == pytest.approx(figures["auc"] - 0.5)
    assert abs(figures["template_cosine_unasked"]) < 0.3


def test_another_net_names_fewer_and_random_distances_nobody(
    store: FolderStore, releases: ReleaseStore
) -> None:
    other = judged(found(store, releases, noise=1.2))
    assert 0.3 < other["identified"] < 0.95
    assert 0.8 < other["auc"] < 0.99
    nothing = judged(found(store, releases, answers="random"))
    assert nothing["identified"] < 0.15
    assert abs(nothing["auc"] - 0.5) < 0.1


def test_people_without_a_photograph_are_neither_in_the_gallery_nor_judged(
    store: FolderStore, releases: ReleaseStore
) -> None:
    arrays = found(store, releases)
    arrays = {name: values.copy() for name, values in arrays.items()}
    for name in ("similarity", "hidden_similarity"):
        arrays[name][:, [3, 38]] = -1.0
    arrays["cosine"][3] = -50.0
    figures = judged(arrays)
    assert figures["identified_by_chance"] == pytest.approx(1 / 38)
    assert figures["template_cosine"] > 0.99


def test_answers_that_are_too_few_are_told(store: FolderStore, releases: ReleaseStore) -> None:
    with pytest.raises(InvalidInput, match="1080 distances of 36 pictures to 30 references: 36 times 31"):
        found(store, releases, references=31)


def test_a_budget_buys_references_for_every_person() -> None:
    plan = expand(parse(TEXT), lambda _spec: None)
    counts = {each.result.id.removeprefix("pairs-s0."): each.needs.asked for each in plan.trials}
    everybody, ten = {"targets": 40}, {"targets": 10}
    assert counts == {
        "none.copy.unaware.b160": {"references": 4, **everybody},
        "none.copy.unaware.b800": {"references": 20, **everybody},
        "none.own.unaware.b159": {"references": 15, **ten},
        "none.own.unaware.b160": {"references": 16, **ten},
        "none.own.unaware.b800": {"references": 20, **ten},
        "noisy.copy.unaware.b160": {"references": 4, **everybody},
        "noisy.copy.unaware.b800": {"references": 20, **everybody},
        "noisy.copy.averaging.b800": {"references": 10, **everybody},
        "noisy.own.unaware.b159": {"references": 15, **ten},
        "noisy.own.unaware.b160": {"references": 16, **ten},
        "noisy.own.unaware.b800": {"references": 20, **ten},
        "noisy.own.averaging.b800": {"references": 10, **ten},
    }
    needs = trial(plan, "pairs-s0.noisy.copy.averaging.b800").needs
    assert needs.probes["answers"] == ["pairs-s0.noisy.pool1.r10", "pairs-s0.noisy.pool2.r10"]
    assert [(span.split, span.stop) for span in needs.shows] == [
        ("public", 10), ("pool", 40), ("photographs", 120)
    ]  # fmt: skip
    [model] = plan.models
    shadows = {each.id: each for each in plan.shadows}
    assert shadows["pairs-s0-copy"].recipe == model.recipe
    assert shadows["pairs-s0-copy"].release == shadows["pairs-recogniser-s0"].release == "features"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("repeats: 2, providers: pairs", "repeats: 2, providers: vectors", "features"),
        ("targets: 10", "targets: 41", "the crowd has 40 people, not 41"),
        ("references: 20", "references: 3", "greater than or equal to 4"),
        ("[159, 160, 800]", "[39]", "buys this attack enough"),
        (", crowd: {people: 20, images: 6, public: 20, students: 5}", "", "no 'crowd'"),
    ],
)
def test_what_cannot_be_is_told(before: str, after: str, said: str) -> None:
    assert before in TEXT
    with pytest.raises(InvalidScenario) as refused:
        parse(TEXT.replace(before, after))
    assert any(said in mistake["message"] for mistake in refused.value.mistakes), refused.value.mistakes
