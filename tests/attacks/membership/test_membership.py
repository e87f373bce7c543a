"""All membership attacks: they win on a model that learnt by heart, and tell nothing from random releases."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from leakrange.attacks import attacks
from leakrange.attacks.membership.membership import MembershipAttack, MembershipEvidence
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, Subset, TrainingRecipe
from leakrange.metrics import auc, tpr_at_fpr
from leakrange.wire.errors import InvalidInput

KINDS = {name: attacks[name] for name in attacks if issubclass(attacks[name], MembershipAttack)}
RECORDS, POPULATION, SHADOWS, CLASSES = 400, 200, 16, 10
SETTINGS = [
    ("loss-threshold", {}),
    *((n, {"mode": m}) for n in ("lira", "rmia") for m in ("offline", "online")),
]


def attack(name: str, parameters: dict[str, object]) -> MembershipAttack:
    kind = KINDS[name]
    made = kind(kind.Parameters.model_validate(parameters))
    assert isinstance(made, MembershipAttack)
    return made


def made_up(memory: float, seed: int = 0) -> tuple[MembershipEvidence, NDArray[np.bool_]]:
    """Models that give a record's class a logit by how hard the record is, and ``memory`` more to members."""
    rng = np.random.default_rng(seed)
    pairs = rng.random((SHADOWS // 2, RECORDS)) < 0.5
    members = np.stack([pairs, ~pairs], axis=1).reshape(SHADOWS, RECORDS)
    truth = rng.random(RECORDS) < 0.5
    hardness = rng.normal(scale=3.0, size=RECORDS + POPULATION)
    labels = rng.integers(0, CLASSES, RECORDS + POPULATION)

    def logits(inside: NDArray[np.bool_]) -> NDArray[np.float64]:
        known = np.concatenate([inside, np.zeros(POPULATION, dtype=bool)])
        values = rng.normal(scale=0.5, size=(len(labels), CLASSES))
        values[np.arange(len(labels)), labels] += 3.0 - hardness + memory * known
        return values

    target, shadows = logits(truth), np.stack([logits(each) for each in members])
    evidence = MembershipEvidence(
        observed=target[np.newaxis, :RECORDS],
        labels=labels[:RECORDS],
        shadows=shadows[:, np.newaxis, :RECORDS],
        members=members,
        population=target[RECORDS:],
        population_labels=labels[RECORDS:],
        population_shadows=shadows[:, RECORDS:],
        release="logits",
    )
    return evidence, truth


def test_there_are_three() -> None:
    assert set(KINDS) == {"loss-threshold", "lira", "rmia"}
    assert {kind.kind for kind in KINDS.values()} == {"membership"}


@pytest.mark.parametrize(("name", "parameters"), SETTINGS)
def test_models_that_remember_nothing_tell_nothing(name: str, parameters: dict[str, object]) -> None:
    evidence, truth = made_up(memory=0.0)
    scores = attack(name, parameters).score(evidence)
    assert scores.shape == (RECORDS,)
    assert np.isfinite(scores).all()
    assert 0.4 < auc(scores, truth) < 0.6


def test_shadows_tell_members_from_easy_records() -> None:
    found = {}
    for name, parameters in SETTINGS:
        evidence, truth = made_up(memory=3.0)
        scores = attack(name, parameters).score(evidence)
        found[name, parameters.get("mode")] = auc(scores, truth), tpr_at_fpr(scores, truth, 0.01)
    assert 0.6 < found["loss-threshold", None][0] < 0.85
    assert found["loss-threshold", None][1] < 0.2
    for setting in (("lira", "offline"), ("lira", "online")):
        assert found[setting][0] > 0.97
        assert found[setting][1] > 0.5
    for setting in (("rmia", "offline"), ("rmia", "online")):
        assert found[setting][0] > found["loss-threshold", None][0] + 0.05


@pytest.mark.parametrize(("name", "parameters"), SETTINGS)
def test_soft_outputs_of_a_sure_model_tell_members_as_its_logits_do(
    name: str, parameters: dict[str, object]
) -> None:
    """Its margins lie between 20 and 50: in a probability of 1e-9 to 1e-22."""
    evidence, truth = made_up(memory=3.0)
    releases = ("observed", "shadows", "population", "population_shadows")
    logits = {each: getattr(evidence, each) for each in releases}
    for each, values in logits.items():
        labels = evidence.population_labels if each.startswith("population") else evidence.labels
        values += 32.0 * (np.arange(CLASSES) == labels[:, np.newaxis])
    soft = {each: softmax(values, axis=-1).astype(np.float32) for each, values in logits.items()}
    given = dataclasses.replace(evidence, **soft, release="softmax")
    by_logits, by_soft = (attack(name, parameters).score(each) for each in (evidence, given))
    assert auc(by_soft, truth) == pytest.approx(auc(by_logits, truth), abs=0.01)


def test_more_queries_of_a_record_tell_more() -> None:
    evidence, truth = made_up(memory=1.0)
    mirrored, same = made_up(memory=1.0)
    rng = np.random.default_rng(5)
    noise = rng.normal(scale=0.5, size=(4, *evidence.observed.shape[1:]))
    both = dataclasses.replace(
        evidence,
        observed=np.concatenate([evidence.observed, mirrored.observed + noise[:1]]),
        shadows=np.concatenate([evidence.shadows, mirrored.shadows], axis=1),
    )
    np.testing.assert_array_equal(truth, same)
    for name, parameters in SETTINGS:
        scores = attack(name, parameters).score(both)
        assert scores.shape == (RECORDS,)
        assert auc(scores, truth) > 0.5


def test_evidence_that_does_not_fit_is_refused() -> None:
    evidence, _ = made_up(memory=0.0)
    for changes in (
        {"labels": evidence.labels[1:]},
        {"members": evidence.members[1:]},
        {"population": evidence.population[1:]},
    ):
        for name, parameters in SETTINGS:
            with pytest.raises(InvalidInput):
                attack(name, parameters).score(dataclasses.replace(evidence, **changes))
    none = dataclasses.replace(
        evidence,
        population=evidence.population[:0],
        population_labels=evidence.population_labels[:0],
        population_shadows=evidence.population_shadows[:, :0],
    )
    with pytest.raises(InvalidInput, match="population"):
        attack("rmia", {}).score(none)


def test_a_net_that_learnt_by_heart_is_found_out() -> None:
    from leakrange.providers.inference import outputs
    from leakrange.providers.training import train

    data = DataSpec(name="digits", size=16, auxiliary=0.2, subset=Subset(pool=160))

    def recipe(seed: int, *, rest: bool = False) -> TrainingRecipe:
        assert data.subset is not None
        subset = data.subset.model_copy(update={"seed": seed, "rest": rest})
        return TrainingRecipe(
            data=data.model_copy(update={"subset": subset}),
            behaviour="honest",
            parameters={"target": "digit"},
            net=NetSpec(width=0.5),
            schedule=Schedule(epochs=12, batch=20, lr=0.003, select="last"),
            seed=seed,
        )

    def trained(which: TrainingRecipe) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        images = load(which.data)
        model = train(which, images)
        assert model.chosen_epoch == 12
        members = images.members()
        assert model.members == tuple(np.flatnonzero(members).tolist())
        asked = np.concatenate([images.where("pool"), images.where("auxiliary")])
        return outputs(model.classifier, images.values[asked], "logits"), members

    target, truth = trained(recipe(0))
    shadows = [trained(recipe(seed, rest=rest)) for seed in (1, 2) for rest in (False, True)]
    images = load(data)
    asked = np.concatenate([images.where("pool"), images.where("auxiliary")])
    labels, n = images.labels["digit"][asked], len(truth)
    released = np.stack([values for values, _ in shadows])
    evidence = MembershipEvidence(
        observed=target[np.newaxis, :n],
        labels=labels[:n],
        shadows=released[:, np.newaxis, :n],
        members=np.stack([members for _, members in shadows]),
        population=target[n:],
        population_labels=labels[n:],
        population_shadows=released[:, n:],
        release="logits",
    )
    for name, parameters in SETTINGS:
        assert auc(attack(name, parameters).score(evidence), truth) > 0.6, name
