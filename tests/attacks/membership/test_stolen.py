"""Membership through a copy: found where the model is surer of what is like its members, and else not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from leakrange.attacks.membership.membership import MembershipEvidence
from leakrange.attacks.membership.stolen import StolenModel, StolenParameters
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

RECORDS, POPULATION = 240, 400


def answered(samples: NDArray[np.float32], memory: float) -> NDArray[np.float32]:
    """Logits for the class 1 of all: the model has got sure of it where its members are."""
    sure = memory * (samples[:, 0] > 0) + 0.3 * samples[:, 1]
    return np.stack([-sure, sure, np.full(len(samples), -4.0)], axis=1).astype(np.float32)


def made_up(memory: float) -> tuple[MembershipEvidence, NDArray[np.bool_]]:
    draw = np.random.default_rng(8)
    samples = draw.normal(size=(RECORDS + POPULATION, 2)).astype(np.float32)
    records, population = samples[:RECORDS], samples[RECORDS:]
    evidence = MembershipEvidence(
        observed=np.empty((0, RECORDS, 3), np.float32),
        labels=np.ones(RECORDS, np.int64),
        shadows=np.empty((0, 0, RECORDS, 3), np.float32),
        members=np.empty((0, RECORDS), bool),
        population=answered(population, memory),
        population_labels=np.ones(POPULATION, np.int64),
        population_shadows=np.empty((0, POPULATION, 3), np.float32),
        release="logits",
        samples=records,
        population_samples=population,
        spec=SampleSpec(encoding="vector", shape=(2,), dtype="float32"),
    )
    return evidence, records[:, 0] > 0


@pytest.mark.parametrize(("memory", "least", "most"), [(3.0, 0.9, 1.0), (0.0, 0.35, 0.65)])
def test_what_the_answers_tell_of_members_the_copy_tells_too(
    memory: float, least: float, most: float
) -> None:
    evidence, members = made_up(memory)
    attack = StolenModel(StolenParameters(epochs=10, net={"name": "mlp", "width": 0.3}))
    scores = attack.score(evidence)
    assert scores.shape == (RECORDS,)
    assert least < roc_auc_score(members, scores) < most


def test_a_copy_needs_samples_and_enough_of_them() -> None:
    evidence, _ = made_up(1.0)
    with pytest.raises(InvalidInput, match="has only answers"):
        StolenModel().score(dataclasses.replace(evidence, population_samples=None))
    few = {
        "population": evidence.population[:49],
        "population_samples": evidence.population_samples[:49]
        if evidence.population_samples is not None
        else None,
        "population_labels": evidence.population_labels[:49],
        "population_shadows": evidence.population_shadows[:, :49],
    }
    with pytest.raises(InvalidInput, match="49 records"):
        StolenModel().score(dataclasses.replace(evidence, **few))
