"""An epoch chosen by people whom the model does not learn, and who do not use it."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.data import Samples, load
from leakrange.data.crowd import strangers
from leakrange.data.people import ROLES
from leakrange.jobs.recipe import Crowd, DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.providers import training
from leakrange.providers.strangers import Strangers, verification_auc
from leakrange.providers.training import train
from leakrange.wire.errors import InvalidInput

CROWD = Crowd(people=10, images=4, public=20, students=4, enrolled=4, held=2)
SPEC = DataSpec(name="synthpeople", size=32, auxiliary=0.0, crowd=CROWD)


@pytest.fixture(scope="module")
def people() -> Samples:
    return load(SPEC)


def test_strangers_are_of_the_public_and_in_no_part_of_the_crowd(people: Samples) -> None:
    person, chosen = people.labels["person"], strangers(people)
    assert set(people.labels["role"][chosen]) == {ROLES.index("public")}
    met = np.concatenate([people.where(part) for part in (*people.parts, "train", "validation")])
    assert not set(person[chosen]) & set(person[met])
    public = person[people.labels["role"] == ROLES.index("public")]
    assert len(set(person[chosen])) == len(set(public)) - CROWD.public


def test_where_nobody_is_a_stranger_there_is_nobody_to_choose_by(people: Samples) -> None:
    public = people.labels["person"][people.labels["role"] == ROLES.index("public")]
    every = CROWD.model_copy(update={"public": len(set(public)) - 5})
    with pytest.raises(InvalidInput, match="5 of the public are no users"):
        strangers(load(SPEC.model_copy(update={"crowd": every})))
    with pytest.raises(InvalidInput, match="no crowd"):
        strangers(load(DataSpec(name="digits")))
    learnt = SPEC.model_copy(update={"crowd": CROWD.model_copy(update={"learners": "public"})})
    with pytest.raises(InvalidInput, match="0 of the public"):
        strangers(load(learnt))


def test_people_are_told_apart_by_angles_alone() -> None:
    person = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    own = np.eye(3)[person] * np.array([1.0, 5.0, 0.2, 3.0, 1.0, 1.0, 9.0, 0.1])[:, None]
    assert verification_auc(own, person) == 1.0
    assert verification_auc(np.random.default_rng(0).normal(size=(300, 8)), np.arange(300) // 3) < 0.6
    # pairs of one person at 0°, 90°, 90°, pairs of two at 0°, 90°, 90°
    assert verification_auc(np.array([[1.0, 0], [1, 0], [0, 1], [0, 2]]), np.array([0, 0, 0, 1])) == 0.5


def test_the_epoch_is_kept_that_tells_them_apart_best(
    people: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = TrainingRecipe(
        data=SPEC,
        behaviour="honest",
        parameters={"target": "identity"},
        net=NetSpec(name="residual", width=0.125),
        schedule=Schedule(epochs=3, batch=32, select="strangers"),
    )
    model = train(made, people)
    told = [entry["strangers"] for entry in model.history]
    assert model.chosen_epoch == int(np.argmax(told)) + 1
    assert Strangers(people).separation(model.classifier) == pytest.approx(max(told), abs=1e-4)
    assert max(told) > 0.6  # a few epochs of the members teach something about others
    scores = iter([0.6, 0.9, 0.7])
    monkeypatch.setattr(training.Strangers, "separation", lambda *_: next(scores))
    assert train(made, people).chosen_epoch == 2


def test_a_teacher_tells_how_it_does_on_what_it_has_learned(people: Samples) -> None:
    made = TrainingRecipe(
        data=SPEC,
        behaviour="honest",
        parameters={"target": "identity"},
        net=NetSpec(name="residual", width=0.125),
        schedule=Schedule(epochs=6, batch=32, select="last"),
    )
    figures = train(made, people).figures
    assert figures["train"]["samples"] == len(people.where("train"))
    assert figures["train"]["honesty"] > figures["validation"]["honesty"] + 0.05
