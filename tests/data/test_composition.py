"""Training samples of a stated share, and an attacker's samples apart from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from leakrange.data import POPULATION, fingerprint, load, load_labels
from leakrange.data.composition import composed
from leakrange.data.samples import Attribute, Labelled
from leakrange.jobs.recipe import Composition, DataSpec, Subset
from leakrange.wire.errors import InvalidInput

TABLE = DataSpec(name="synthtable", count=700, auxiliary=0.5)


def of(**changes: Any) -> DataSpec:
    given_fields = {"attribute": "home", "having": "couple", "samples": 60, "share": 0.25, **changes}
    return TABLE.model_copy(update={"composition": Composition.model_validate(given_fields)})


@settings(max_examples=15, deadline=None)
@given(st.floats(0.05, 0.95), st.sampled_from(["provider", "attacker"]), st.integers(0, 2**53))
def test_so_many_of_the_training_samples_have_the_class(share: float, by: str, seed: int) -> None:
    data = load(of(share=share, by=by, seed=seed, samples=40))
    trained = data.labels["home"][data.where("train")]
    assert len(trained) == 40
    assert (trained == 1).sum() == round(40 * share)


def test_provider_attacker_and_the_records_asked_about_share_no_sample() -> None:
    whole = load(TABLE)
    provider, attacker = load(of()), load(of(by="attacker"))
    rows = {
        name: {row.tobytes() for row in data.values[data.where(split)]}
        for name, data, split in (
            ("all that may be trained on", whole, "train"),
            ("all auxiliary", whole, "auxiliary"),
            ("provider", provider, "train"),
            ("attacker", attacker, "train"),
            ("attacker's validation", attacker, "validation"),
            ("asked", provider, POPULATION),
            ("asked by attacker", attacker, POPULATION),
        )
    }
    assert rows["provider"] < rows["all that may be trained on"]
    attackers = rows["attacker"] | rows["attacker's validation"]
    assert not rows["attacker"] & rows["attacker's validation"]
    assert rows["asked"] == rows["asked by attacker"]
    assert not rows["asked"] & attackers
    assert rows["asked"] | attackers == rows["all auxiliary"]
    for split in ("validation", "auxiliary", "test"):
        np.testing.assert_array_equal(
            whole.values[whole.where(split)], provider.values[provider.where(split)]
        )


def test_who_must_not_know_the_share_loads_the_same_records_in_the_same_order() -> None:
    secret = of(share=0.75, seed=9)
    told = secret.of_everyone()
    assert told == of(share=0.25, by="attacker").of_everyone()
    assert "0.75" not in told.model_dump_json()
    data, known = load(secret), load(told)
    for one, other in ((data, known), (load_labels(secret), data)):
        np.testing.assert_array_equal(
            one.labels["group"][one.where(POPULATION)], other.labels["group"][other.where(POPULATION)]
        )
    np.testing.assert_array_equal(data.values[data.where(POPULATION)], known.values[known.where(POPULATION)])
    assert len(known.where("train")) == len(load(TABLE).where("train"))
    assert len({fingerprint(spec) for spec in (secret, told, of(share=0.75, seed=8), of(seed=9))}) == 4
    with pytest.raises(ValueError, match="read-only"):
        data.parts[POPULATION][0] = 0


def test_near_copies_are_asked_about_or_learnt_from_and_unknown_classes_are_not_drawn() -> None:
    group = np.repeat(np.arange(60), 3)
    label = np.tile([0, 1, -1], 60)
    whole = Labelled(
        name="copies",
        attributes={"worn": Attribute("worn", ("hat", "wig"))},
        labels={"worn": label},
        split=np.full(180, 2, dtype=np.uint8),
        group=group,
    )
    wanted = Composition(attribute="worn", having="wig", samples=20, share=0.3, by="attacker")
    split, population = composed(whole, DataSpec(name="copies", seed=5), wanted)
    assert not set(group[population]) & set(group[split < 2])
    assert 60 < len(population) < 120
    assert sorted(label[split == 0]) == [0] * 14 + [1] * 6
    assert not np.array_equal(population, np.sort(population))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attribute": "job"}, "no attribute 'job'"),
        ({"having": "castle"}, "has the classes alone, couple, family"),
        ({"samples": 200, "share": 0.9}, "200 samples, 0.9 of them with home 'couple'"),
        ({"samples": 200, "share": 0.9, "by": "attacker"}, "samples of attackers"),
    ],
)
def test_what_cannot_be_drawn_is_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load(of(**changes))


def test_training_samples_are_drawn_in_one_way() -> None:
    both = {"subset": Subset(pool=20).model_dump(), "composition": of().composition}
    with pytest.raises(ValidationError, match="subset and composition"):
        DataSpec.model_validate({"name": "digits", **both})
    assert "composition" not in TABLE.model_dump()  # what was stored before keeps its name
