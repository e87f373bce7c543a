"""The attacker's own recogniser Ψ_aux, and whom it takes the attacked images for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.identities import Deduced, deduce_identities
from leakrange.data.people import ROLES
from leakrange.data.samples import SPLITS, Samples
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.nets.classifier import Classifier
from leakrange.providers.inference import outputs
from leakrange.providers.training import train
from leakrange.reproduction.faceleaks.settings import Settings
from leakrange.reproduction.faceleaks.world import Targets

__all__ = ["REFERENCES", "deduced", "recogniser"]

REFERENCES = 3
"""Photographs of each person that the attacker has, at most: others than those attacked."""
EPOCHS = 12
HELD_BACK = 10
"""Every tenth image of the public chooses the epoch."""


def recogniser(people: Samples, settings: Settings, seed: int) -> Classifier:
    """Ψ_aux: a net like the teacher's, trained on the public's people alone. It is the attacker's, and no
    artifact of the range."""
    recipe = TrainingRecipe(
        data=settings.spec(seed),
        behaviour="honest",
        parameters={"target": "person"},
        net=settings.recipe(seed).net,
        schedule=settings.recipe(seed).schedule.model_copy(update={"epochs": EPOCHS}),
        seed=seed,
    )
    return train(recipe, _public(people)).classifier


def deduced(people: Samples, who: Targets, net: Classifier) -> Deduced:
    """Whom Ψ_aux takes each attacked image for, as a place 0 .. people − 1 among those attacked.

    The references of a person are images of it that are not attacked; who has none cannot be named.
    """
    owner = people.labels["person"]
    attacked = set(who.images.ravel().tolist())
    chosen: list[NDArray[np.int64]] = []
    places: list[int] = []
    for place, own in enumerate(who.images):
        others = [i for i in np.flatnonzero(owner == owner[own[0]]) if i not in attacked][:REFERENCES]
        chosen.append(np.array(others, dtype=np.int64))
        places += [place] * len(others)
    references = np.concatenate(chosen)
    wanted = who.images.ravel()
    vectors = outputs(net, people.values[np.concatenate([wanted, references])], "features")
    truth = np.repeat(np.arange(len(who.images)), who.images.shape[1])
    return deduce_identities(vectors[: len(wanted)], vectors[len(wanted) :], np.array(places), truth)


def _public(people: Samples) -> Samples:
    """The public's images to train on and to choose the epoch by; all others are test images without a
    name."""
    public = people.labels["role"] == ROLES.index("public")
    split = np.full(len(people), SPLITS.index("test"), dtype=np.uint8)
    order = np.cumsum(public)
    split[public] = SPLITS.index("train")
    split[public & (order % HELD_BACK == 0)] = SPLITS.index("validation")
    labels = dict(people.labels) | {"person": np.where(public, people.labels["person"], -1)}
    return replace(people, split=split, labels=labels)
