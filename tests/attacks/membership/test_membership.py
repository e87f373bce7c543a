"""All membership attacks: they win on a model that learnt by heart, and tell nothing from random releases."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from leakrange.attacks import attacks
from leakrange.attacks.membership.crafting import craft
from leakrange.attacks.membership.membership import MembershipAttack, MembershipEvidence
from leakrange.data import load
from leakrange.data.spans import samples_of
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, Subset, TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.metrics import auc, tpr_at_fpr
from leakrange.nets.classifier import Classifier
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

KINDS = {name: attacks[name] for name in attacks if issubclass(attacks[name], MembershipAttack)}
RECORDS, POPULATION, SHADOWS, CLASSES = 400, 200, 16, 10
SETTINGS = [
    ("loss-threshold", {}),
    *((n, {"mode": m}) for n in ("lira", "rmia", "base", "label-votes") for m in ("offline", "online")),
    ("oslo", {}),
    ("quantile", {"net": {"name": "mlp", "width": 0.2}}),
]
QUERIES = 12


def attack(name: str, parameters: dict[str, object]) -> MembershipAttack:
    kind = KINDS[name]
    made = kind(kind.Parameters.model_validate(parameters))
    assert isinstance(made, MembershipAttack)
    return made


def made_up(memory: float, seed: int = 0) -> tuple[MembershipEvidence, NDArray[np.bool_]]:
    """Models that give a record's class a logit by how hard the record is, and ``memory`` more to members.
    Variants of a record are as hard as it is. The first number of a sample is its hardness."""
    rng = np.random.default_rng(seed)
    pairs = rng.random((SHADOWS // 2, RECORDS)) < 0.5
    members = np.stack([pairs, ~pairs], axis=1).reshape(SHADOWS, RECORDS)
    truth = rng.random(RECORDS) < 0.5
    hardness = rng.normal(scale=3.0, size=RECORDS + POPULATION)
    labels = rng.integers(0, CLASSES, RECORDS + POPULATION)
    samples = np.stack([hardness, rng.normal(size=len(hardness))], axis=1).astype(np.float32)

    def logits(inside: NDArray[np.bool_], noise: float) -> NDArray[np.float64]:
        known = np.concatenate([inside, np.zeros(POPULATION, dtype=bool)])
        values = rng.normal(scale=noise, size=(len(labels), CLASSES))
        values[np.arange(len(labels)), labels] += 3.0 - hardness + memory * known
        return values

    def queries(inside: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.stack([logits(inside, noise) for noise in [0.5] + [2.0] * (QUERIES - 1)])

    target, shadows = queries(truth), np.stack([queries(each) for each in members])
    evidence = MembershipEvidence(
        observed=target[:, :RECORDS],
        labels=labels[:RECORDS],
        shadows=shadows[:, :, :RECORDS],
        members=members,
        population=target[0, RECORDS:],
        population_labels=labels[RECORDS:],
        population_shadows=shadows[:, 0, RECORDS:],
        release="logits",
        samples=samples[:RECORDS],
        population_samples=samples[RECORDS:],
        spec=SampleSpec(encoding="vector", shape=(2,), dtype="float32"),
    )
    return evidence, truth


def once(evidence: MembershipEvidence) -> MembershipEvidence:
    """With the first query alone."""
    return dataclasses.replace(evidence, observed=evidence.observed[:1], shadows=evidence.shadows[:, :1])


def test_there_are_eight() -> None:
    shadowed = {"lira", "rmia", "base", "label-votes", "oslo"}
    assert set(KINDS) == {"loss-threshold", "quantile", "stolen-model", *shadowed}
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
    for setting in ((name, mode) for name in ("rmia", "base") for mode in ("offline", "online")):
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


@pytest.mark.parametrize("name", ["lira", "label-votes"])
def test_more_queries_of_a_record_tell_more(name: str) -> None:
    evidence, truth = made_up(memory=1.0)
    few = dataclasses.replace(evidence, observed=evidence.observed[:2], shadows=evidence.shadows[:, :2])
    areas = [auc(attack(name, {}).score(asked), truth) for asked in (few, evidence)]
    assert areas[0] + 0.02 < areas[1]


def test_votes_read_labels_alone_and_find_what_one_label_hides() -> None:
    evidence, truth = made_up(memory=3.0)
    labels = [np.eye(CLASSES)[each.argmax(axis=-1)] for each in (evidence.observed, evidence.shadows)]
    hard = dataclasses.replace(evidence, observed=labels[0], shadows=labels[1], release="softmax")
    votes = attack("label-votes", {}).score(hard)
    np.testing.assert_array_equal(votes, attack("label-votes", {}).score(evidence))
    one_label = attack("lira", {}).score(once(hard))
    assert auc(one_label, truth) + 0.1 < auc(votes, truth)


def test_a_regression_knows_what_is_easy_without_any_shadow() -> None:
    evidence, truth = made_up(memory=3.0)
    alone = dataclasses.replace(
        once(evidence),
        shadows=evidence.shadows[:0, :1],
        members=evidence.members[:0],
        population_shadows=evidence.population_shadows[:0],
    )
    area = auc(attack("quantile", dict(SETTINGS)["quantile"]).score(alone), truth)
    assert area > auc(attack("loss-threshold", {}).score(alone), truth) + 0.1
    shuffled = np.random.default_rng(2).permutation(RECORDS)  # the samples of other records
    assert evidence.samples is not None
    blind = dataclasses.replace(alone, samples=evidence.samples[shuffled])
    assert auc(attack("quantile", dict(SETTINGS)["quantile"]).score(blind), truth) < area - 0.1
    few = dataclasses.replace(alone, population=alone.population[:20], **few_of(alone, 20))
    with pytest.raises(InvalidInput, match="learns from 50 or more"):
        attack("quantile", {}).score(few)


def few_of(evidence: MembershipEvidence, count: int) -> dict[str, Any]:
    assert evidence.population_samples is not None
    return {
        "population_labels": evidence.population_labels[:count],
        "population_samples": evidence.population_samples[:count],
        "population_shadows": evidence.population_shadows[:, :count],
    }


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

    def trained(which: TrainingRecipe) -> tuple[Classifier, NDArray[np.float32], NDArray[np.bool_]]:
        images = load(which.data)
        model = train(which, images)
        assert model.chosen_epoch == 12
        members = images.members()
        assert model.members == tuple(np.flatnonzero(members).tolist())
        pool = Span(data=data, split="pool", start=0, stop=160)
        variants = [samples_of(pool.model_copy(update={"variant": each})) for each in range(QUERIES)]
        asked = np.concatenate([*variants, images.values[images.where("auxiliary")]])
        return model.classifier, outputs(model.classifier, asked, "logits"), members

    attacked, target, truth = trained(recipe(0))
    shadows = [trained(recipe(seed, rest=rest)) for seed in (1, 2) for rest in (False, True)]
    images = load(data)
    pool, population, n = images.where("pool"), images.where("auxiliary"), QUERIES * len(truth)
    released = np.stack([values for _, values, _ in shadows])
    evidence = MembershipEvidence(
        observed=target[:n].reshape(QUERIES, len(truth), -1),
        labels=images.labels["digit"][pool],
        shadows=released[:, :n].reshape(len(shadows), QUERIES, len(truth), -1),
        members=np.stack([members for *_, members in shadows]),
        population=target[n:],
        population_labels=images.labels["digit"][population],
        population_shadows=released[:, n:],
        release="logits",
        samples=images.values[pool],
        population_samples=images.values[population],
        spec=images.spec,
    )
    nets = [net for net, *_ in shadows]
    questions = craft(nets, evidence.members, images.values[pool], evidence.labels)
    crafted = dataclasses.replace(
        evidence,
        observed=outputs(attacked, questions, "logits")[np.newaxis],
        shadows=np.stack([outputs(net, questions, "logits") for net in nets])[:, np.newaxis],
    )
    areas = {
        str(each): auc(attack(*each).score(crafted if KINDS[each[0]].crafts else evidence), truth)
        for each in SETTINGS
    }
    assert min(areas.values()) > 0.6, areas
