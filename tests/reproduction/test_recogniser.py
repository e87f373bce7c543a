"""The attacker's own recogniser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leakrange.data import load
from leakrange.data.people import ROLES
from leakrange.reproduction.faceleaks.recogniser import _public, deduced, recogniser
from leakrange.reproduction.faceleaks.settings import Settings
from leakrange.reproduction.faceleaks.world import targets

SETTINGS = Settings(data="synthpeople", size=32, width=0.25, images=10, tested=20, validated=10)


def test_it_learns_the_public_alone_and_names_people_it_has_not_learned() -> None:
    people = load(SETTINGS.spec(0))
    own = _public(people)
    learned = np.concatenate([own.where("train"), own.where("validation")])
    assert set(people.labels["role"][learned]) == {ROLES.index("public")}
    assert not len(np.intersect1d(learned, targets(people, SETTINGS, 0).images))
    who = targets(people, SETTINGS, 0)
    found = deduced(people, who, recogniser(people, replace(SETTINGS, epochs=1), 0))
    assert found.person.shape == (600,)
    assert found.accuracy is not None
    assert found.accuracy > 0.3  # of 60 people, by chance a sixtieth
