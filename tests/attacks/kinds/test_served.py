"""How well a student service serves, judged by the people who are really in its data."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks.kinds.served import crowd_of, served
from leakrange.attacks.people.questions import public_pairs
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.metrics import measured
from leakrange.metrics.intervals import wilson_interval
from leakrange.metrics.outcomes import Taught
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import PlannedModel

TEXT = """\
name: services
seeds: [0]
data:
  name: synthpeople
  size: 16
  auxiliary: 0
  crowd: {people: 10, images: 6, public: 20, students: 4, enrolled: 6, held: 3}
providers:
  vectors: {target: identity, service: features}
  distances: {target: identity, service: verification}
  names: {target: identity, service: recognition}
attacks: {classes: {kind: class-based, known: 5, pairs: 6}}
budgets: [400]
"""


@pytest.fixture(scope="module")
def models() -> dict[str, PlannedModel]:
    def sizes(_: DataSpec) -> None:
        return None

    return {model.provider: model for model in expand(parse(TEXT), sizes).models}


def test_a_recognition_is_right_where_it_names_who_is_in_the_picture(models: dict[str, PlannedModel]) -> None:
    data = load(models["names"].recipe.data)
    enrolled, held = (data.labels["student"][data.where(part)].tolist() for part in ("enrolled", "held"))
    classes = list(dict.fromkeys(enrolled))  # in the order in which the student learnt them
    answers = np.eye(len(classes))[[classes.index(person) for person in held]]
    assert answers.shape == (12, 4)
    assert served(models["names"], answers)[0].value == 1.0
    one_wrong = answers.copy()
    one_wrong[5] = np.roll(one_wrong[5], 1)
    assert served(models["names"], one_wrong)[0].value == pytest.approx(11 / 12)
    assert served(models["names"], np.roll(answers, 1, axis=1))[0].value == 0.0


def test_vectors_and_distances_are_right_where_they_tell_the_public_apart(
    models: dict[str, PlannedModel],
) -> None:
    data = load(models["vectors"].recipe.data)
    person = data.labels["person"][data.where("public")]
    rng = np.random.default_rng(0)
    place = rng.normal(size=(int(person.max()) + 1, 8))[person]
    assert served(models["vectors"], place + rng.normal(scale=0.01, size=place.shape))[0].value == 1.0
    assert 0.3 < served(models["vectors"], rng.normal(size=place.shape))[0].value < 0.7


def test_a_verification_tells_its_threshold_and_how_its_folds_differ(
    models: dict[str, PlannedModel],
) -> None:
    """Distances of 1 within and 3 between people: every fold cuts halfway, and is right."""
    pairs = public_pairs(crowd_of(models["distances"].recipe.data))
    distances = np.where(pairs.same, 1.0, 3.0)[:, np.newaxis]
    _, found = served(models["distances"], distances)
    figures = {name: each.value for name, each in measured(found, Taught({})).items()}
    assert figures == {"verification_threshold": 2.0, "verification_deviation": 0.0}
    distances[pairs.fold == 4] = 2.5  # beyond the others' threshold: a fold whose pairs all seem unlike
    _, found = served(models["distances"], distances)
    expected = np.std([1.0] * 9 + [(~pairs.same[pairs.fold == 4]).mean()], ddof=1)
    assert measured(found)["verification_deviation"].value == pytest.approx(expected)


def test_the_teachers_own_accuracy_has_an_interval() -> None:
    found = measured(Taught({"honesty": 0.25, "samples": 40.0}))["teacher_accuracy"]
    assert (found.value, found.low, found.high) == (0.25, *wilson_interval(10, 40))


def test_a_teachers_gap_is_what_it_is_better_at_pictures_that_it_was_trained_on() -> None:
    other, learned = {"honesty": 0.25, "samples": 40.0}, {"honesty": 0.875, "samples": 360.0}
    found = measured(Taught(other, learned))
    assert (found["training_accuracy"].value, found["generalisation_gap"].value) == (0.875, 0.625)
    assert set(measured(Taught(other))) == {"teacher_accuracy"}
    assert set(measured(Taught({}, learned))) == {"training_accuracy"}
