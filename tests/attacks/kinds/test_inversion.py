"""Drawings of people are judged by those who know them: a likeness is found, and a stranger's is not."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from leakrange.attacks import attacks
from leakrange.attacks.inversion.search import InversionParameters
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import AskedStep, Needs
from leakrange.attacks.kinds.extraction import WALK_ROLE
from leakrange.attacks.kinds.inversion import DrawnEvidence
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.trial import Judged, Uploaded
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.walk import WALK, WalkOrder, Walks
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.store.files import FolderStore, put_arrays
from leakrange.store.releases import StoredReleases
from leakrange.wire.errors import InvalidInput, InvalidScenario
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by
from tests.scenario.planned import trial

DATA = DataSpec(name="synthfaces", size=32, count=400, validation=0.05, auxiliary=0.45)
HAIR = "hair"
"""Classes of four colours stand for four people: a net learns them in a second."""
PUBLIC = {"name": "synthfaces", "seed": 9}
TEXT = """\
name: drawings
seeds: [0]
data: {name: synthfaces, size: 32, count: 400}
net: {name: strided-conv}
providers: {faces: {target: hair, release: softmax}}
defences: {none: [], labels: [argmax], pruned: [prune: {amount: 0.5}]}
attacks:
  scores: {kind: inversion, people: 4, public: {name: synthfaces, seed: 9, count: 200}}
budgets: [11, 12, 60]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FolderStore:
    """One for all tests, so that the evaluator learns once."""
    return FolderStore(str(tmp_path_factory.mktemp("releases")))


@pytest.fixture
def releases(store: FolderStore) -> ReleaseStore:
    return StoredReleases(store)


@pytest.fixture(scope="module")
def real() -> dict[int, NDArray[Any]]:
    """Real pictures of each colour, which no judge has learnt from."""
    data = load(DATA)
    places = data.where("test")
    return {each: data.values[places[data.labels[HAIR][places] == each]] for each in range(4)}


def arrays(
    store: FolderStore,
    releases: ReleaseStore,
    pictures: NDArray[Any],
    wanted: list[int],
    data: DataSpec = DATA,
) -> dict[str, NDArray[Any]]:
    walk = "1" * 64
    walked = {"pictures": pictures, "unasked": pictures[::-1], "wanted": np.array(wanted)}
    put_arrays(store, WALK.file(walk), walked | {"asked": np.array([30, 12])})
    evidence = DrawnEvidence(walk=walk, data=data, target=HAIR)
    job = FitJob(attack="inversion", release="softmax", evidence=evidence.model_dump(mode="json"))
    attack = attacks["inversion"](
        InversionParameters.model_validate(
            {"public": PUBLIC, "evaluator": {"name": "strided-conv"}, "people": len(wanted)}
        )
    )
    return kinds["inversion"]().infer(attack, evidence, job, releases)


def judged(found: dict[str, NDArray[Any]]) -> Judged:
    users = [{HAIR: [0, 1, 2, 3], "near-copies": [0, 1, 2, 3], "identity": [0, 1, 2, 3]}]
    ready = MadeUp(
        hidden=HAIR,
        model=MadeUpModel(
            recipe=TrainingRecipe(data=DATA, behaviour="honest"), target=HAIR, release="softmax"
        ),
        needs=Needs(steps={WALK_ROLE: AskedStep(step=WALK.name)}),
        uploaded=Uploaded(users, np.array([0, 1, 2, 0]), None),
        steps_taken={WALK_ROLE: Walks(["1" * 64], [{"asked": np.array([30, 12])}])},
        found=found,
    )
    return judged_by(kinds["inversion"](), ready)


def test_a_likeness_is_seen_and_a_stranger_is_not(
    store: FolderStore, releases: ReleaseStore, real: dict[int, NDArray[Any]]
) -> None:
    wanted = [2, 0, 3, 1]
    like = np.stack([real[each][5] for each in wanted])
    verdict = judged(arrays(store, releases, like, wanted))
    figures = {name: estimate.value for name, estimate in verdict.metrics.items()}
    assert figures["drawn_evaluator"] == figures["drawn_neighbour"] == 1.0
    assert figures["drawn_evaluator_real"] > 0.8
    assert figures["drawn_neighbour_unasked"] == pytest.approx(1 / 4)
    assert figures["auc"] > 0.95
    assert figures["honesty"] == 0.75
    assert (verdict.spent, verdict.victims) == (42, 4)

    others = judged(arrays(store, releases, like[[1, 2, 3, 0]], wanted))
    figures = {name: estimate.value for name, estimate in others.metrics.items()}
    assert figures["drawn_evaluator"] == figures["drawn_neighbour"] == 0.0
    assert figures["auc"] < 0.5


def test_the_report_shows_people_whom_judges_know_above_their_drawings(
    store: FolderStore, releases: ReleaseStore, real: dict[int, NDArray[Any]]
) -> None:
    wanted = [1, 3]
    drawn = np.stack([real[each][2] for each in wanted])
    view = judged(arrays(store, releases, drawn, wanted)).views["inversions"]
    strips = {
        name: np.asarray(Image.open(io.BytesIO(base64.b64decode(view[name]))))
        for name in ("original", "reconstructed")
    }
    np.testing.assert_array_equal(strips["reconstructed"], np.concatenate(drawn, axis=1))
    data = load(DATA)
    trained = data.where("train")
    for place, each in enumerate(wanted):
        picture = strips["original"][:, 32 * place : 32 * place + 32]
        of_person = data.values[trained[data.labels[HAIR][trained] == each]]
        assert (of_person == picture).all(axis=(1, 2, 3)).any()
    assert view["drawn_neighbour"] == [1.0, 1.0]


def test_judges_need_pictures_and_a_model_no_more_classes_than_they_know(
    store: FolderStore, releases: ReleaseStore, real: dict[int, NDArray[Any]]
) -> None:
    with pytest.raises(InvalidInput, match="0 auxiliary pictures of 4 people"):
        arrays(store, releases, real[0][:2], [0, 1], DATA.model_copy(update={"auxiliary": 0.0}))
    with pytest.raises(InvalidInput, match="more classes than the 4 of 'hair'"):
        arrays(store, releases, real[0][:2], [0, 4])


def test_a_walk_is_planned_where_the_budget_has_three_questions_for_each() -> None:
    plan = expand(parse(TEXT))
    assert [each.result.id.removeprefix("faces-s0.") for each in plan.trials] == [
        f"{defence}.scores.unaware.b{budget}" for defence in ("none", "labels") for budget in (12, 60)
    ]
    step = trial(plan, "faces-s0.labels.scores.unaware.b60").needs.steps[WALK_ROLE]
    order = WalkOrder.model_validate(step.parameters)
    assert (order.samples, order.target, order.attack) == (60, None, "inversion")
    assert order.span.data == DataSpec(
        name="synthfaces", size=32, seed=9, count=200, validation=0.0, auxiliary=0.0
    )
    assert (order.span.split, order.span.stop) == ("train", 160)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (("seed: 9", "seed: 0"), "the generator would learn from the model's people"),
        (("people: 4", "people: 5"), "let 'people' be 4 or less"),
        (("public: {name: synthfaces, seed: 9, count: 200}", "public: {name: nowhere}"), "nowhere"),
        (("public: {name: synthfaces, seed: 9, count: 200}", "public: {name: digits}"), "the model takes"),
        (("people: 4", "evaluator: {name: none-such}"), "net 'none-such' is unknown"),
        (("target: hair", "target: [hair, smile]"), "a drawing is of a class of one"),
    ],
)
def test_what_cannot_be_drawn_or_judged_is_refused(changed: tuple[str, str], reason: str) -> None:
    assert changed[0] in TEXT
    with pytest.raises(InvalidScenario) as refused:
        parse(TEXT.replace(*changed))
    assert any(reason in mistake["message"] for mistake in refused.value.mistakes), refused.value.mistakes
