"""PASS from its recipe to the samples that leave."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr, softmax
from scipy.stats import chisquare

from leakrange.attacks import attacks
from leakrange.attacks.substitutes import SubstituteEvidence
from leakrange.data import Samples, load
from leakrange.defences.artifact import defence_bytes
from leakrange.defences.chain import DefenceChain
from leakrange.defences.input.substitution import PassParameters
from leakrange.defences.stages import InvalidChain
from leakrange.defences.substitutes.net import Substitution
from leakrange.defences.training import train_defence
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.metrics import auc
from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.providers.training import train
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.defences.input.conftest import DATA, LINK, Ready

SPECS = [
    SampleSpec.picture(8, 8, 3),
    SampleSpec(encoding="series", shape=(12, 2), dtype="float32", rate=50.0),
    SampleSpec(encoding="vector", shape=(5,), dtype="uint8", scale=127.5, offset=-1.0),
]


def substituted(ready: Ready, seed: int = 0) -> Samples:
    """The same samples and labels, each as it leaves the device."""
    chain = ready.planned.bound(ready.load)
    given = ready.samples
    shown = chain.obfuscate(given.values, given.spec, np.random.default_rng(seed))
    return dataclasses.replace(given, values=shown)


def test_a_fresh_classifier_finds_the_useful_attribute_and_not_the_private_one(ready: Ready) -> None:
    shown = substituted(ready)
    found = {}
    for target in ("y", "s"):
        for name, samples in (("plain", ready.samples), ("shown", shown)):
            recipe = TrainingRecipe(
                data=DATA,
                behaviour="honest",
                parameters={"target": target},
                net=NetSpec(name="mlp"),
                schedule=Schedule(epochs=6, batch=50),
            )
            found[target, name] = train(recipe, samples).figures["test"]["honesty"]
    assert min(found["y", "plain"], found["s", "plain"]) > 0.95
    assert found["y", "shown"] > 0.93
    assert 0.42 < found["s", "shown"] < 0.58  # of 400 samples, half of each class


def test_its_record_tells_what_was_known_before_and_what_came_of_it(ready: Ready) -> None:
    history, told = ready.trained.history, ready.trained.record
    assert [entry["epoch"] for entry in history] == list(range(1, 31))
    before, privacy = told["estimates"], told["privacy"]["train"]["s"]
    assert (before["lambda"], before["mu"]) == (1.0, 0.2)
    assert before["constant"] == pytest.approx(0.8 * math.log(64) - before["entropy"]["y"] + 1.0)
    assert before["entropy"]["y"] == pytest.approx(math.log(2), abs=1e-3)
    assert before["private"]["s"]["samples_given"] == pytest.approx(math.log(600), abs=0.02)
    last = history[-1]
    assert last["loss"] == pytest.approx(last["private"] + last["useful"] + 0.2 * last["general"], abs=1e-4)
    assert last["bound"] == pytest.approx(last["loss"] + before["constant"], abs=1e-4)
    assert last["bound"] < history[0]["bound"]
    assert 0.0 <= privacy["information"] < 0.01
    assert privacy["information"] <= privacy["gamma"] < 0.05
    assert privacy["delta"] == pytest.approx(math.sqrt(2 * privacy["gamma"]), rel=1e-5)
    assert privacy["sample_delta_mean"] <= privacy["sample_delta_max"] <= privacy["delta"]
    for figures in ready.trained.figures.values():
        assert figures["agreement y"] > 0.95
    given = ready.samples
    met, test = {name: np.array(joint) for name, joint in told["classes"].items()}, given.where("test")
    for name, joint in met.items():
        assert joint.sum(axis=1) == pytest.approx(np.bincount(given.labels[name][test]) / len(test))
    assert np.trace(met["y"]) == pytest.approx(ready.trained.figures["test"]["agreement y"])
    rows = met["s"] / met["s"].sum(axis=1, keepdims=True)  # whatever the class was, the same is drawn
    assert rows[0] == pytest.approx(rows[1], abs=0.1)
    chosen = given.where("train")[told["substitutes"]]
    np.testing.assert_array_equal(given.values[chosen], ready.trained.module.get_buffer("substitutes"))


def test_what_substitutes_tell_is_told_of_held_out_samples_as_well(ready: Ready) -> None:
    """Beside that of the training samples, of which they were made to tell little; against a count of what
    each class of samples is replaced by."""
    given, module = ready.samples, ready.trained.module
    found = {}
    for split in ("train", "test"):
        rows = given.where(split)
        with torch.inference_mode():
            chances = (
                module(to_input(torch.from_numpy(given.values[rows]), given.spec)).exp().double().numpy()
            )
        hidden = given.labels["s"][rows]
        of_class = np.stack([chances[hidden == one].mean(axis=0) for one in (0, 1)])
        shares = np.bincount(hidden) / len(hidden)
        found[split] = float((shares[:, None] * rel_entr(of_class, shares @ of_class)).sum())
    told = {split: of["s"]["information"] for split, of in ready.trained.record["privacy"].items()}
    assert {split: told[split] for split in found} == pytest.approx(found, rel=1e-3)
    assert abs(found["test"] / found["train"] - 1.0) > 0.1  # so that the two are not confused


def test_the_same_recipe_gives_the_same_obfuscator_and_the_one_of_its_version(ready: Ready) -> None:
    again = train_defence(ready.trained.recipe, ready.samples)
    for name, tensor in ready.trained.module.state_dict().items():
        assert torch.equal(tensor, again.module.state_dict()[name]), name
    found = [ready.trained.history[epoch]["loss"] for epoch in (0, 1, 29)]
    assert ready.trained.recipe.versions.trainer == 1
    assert found == pytest.approx([-2.7609, -3.1528, -3.6846], abs=1e-3)


def test_synthetic_substitutes_are_nobodys_and_the_record_tells_what_they_are_drawn_from() -> None:
    """Attackers who have every substitute tell its sources from nobody else."""
    data = DataSpec(name="synthmotion", count=900, auxiliary=0.3)
    samples = load(data)
    train_rows, others = samples.known("train", ("hand", "activity")), samples.where("auxiliary")
    records = samples.values[np.concatenate([train_rows, others])].reshape(-1, 64 * 3)
    link = {"private": "hand", "useful": "activity", "net": "mlp", "width": 0.25, "epochs": 1, "batch": 64}
    areas = {}
    for synthetic in (None, 8):
        given = link | {"substitutes": 150, "embedding": 8, "synthetic": synthetic}
        _, (recipe,) = DefenceChain.parse([{"pass": given}]).planned(data, 0)
        trained = train_defence(recipe, samples)
        held = trained.module.get_buffer("substitutes").numpy().reshape(-1, 64 * 3)
        sources = np.array(trained.record["substitutes"])
        real = {each.tobytes() for each in records}
        assert len(held) == 150
        assert sum(each.tobytes() in real for each in held) == (150 if synthetic is None else 0)
        assert len(sources) == (150 if synthetic is None else len(train_rows))
        members = np.isin(np.arange(len(records)), sources)
        for name in ("substitute-distance", "substitute-margin", "substitute-correlation"):
            scores = attacks[name]().score(SubstituteEvidence(held, records))
            areas[synthetic, name] = auc(scores, members)
    assert min(areas[None, name] for name in ("substitute-distance", "substitute-margin")) > 0.99
    assert max(area for (synthetic, _), area in areas.items() if synthetic) < 0.6


def test_synthetic_substitutes_are_of_the_useful_class_that_their_place_stands_for(ready: Ready) -> None:
    """So a classifier of real samples reads it off them, and a new one finds nothing private in them."""
    chain, (recipe,) = DefenceChain.parse([{"pass": LINK | {"synthetic": 1, "epochs": 10}}]).planned(
        DATA, seed=3
    )
    trained = train_defence(recipe, ready.samples)
    chain = chain.bound(lambda _: defence_bytes(trained))
    given = ready.samples
    shown = dataclasses.replace(
        given, values=chain.obfuscate(given.values, given.spec, np.random.default_rng(0))
    )
    found = {}
    for target, learnt in (("y", given), ("s", shown)):
        how = {"net": NetSpec(name="mlp"), "schedule": Schedule(epochs=3, batch=50)}
        recipe = TrainingRecipe(data=DATA, behaviour="honest", parameters={"target": target}, **how)
        classifier = train(recipe, learnt).classifier
        test = given.where("test")
        inputs = to_input(torch.from_numpy(shown.values[test]), given.spec)
        found[target] = (classifier(inputs).argmax(dim=1).numpy() == given.labels[target][test]).mean()
    assert found["y"] > 0.9
    assert 0.4 < found["s"] < 0.6


def test_a_recipe_is_named_by_what_decides_the_training_alone() -> None:
    def digest(**changed: Any) -> str:
        _, (recipe,) = DefenceChain.parse([{"pass": LINK | changed}]).planned(DATA, seed=3)
        return recipe.digest()

    assert digest().startswith("91dcb5e17a360ded020961c8")
    assert digest(sticky=True) == digest()
    for changed in ({"temperature": 0.2}, {"skew": {"y": [0.3, 0.7]}}, {"weights": {"general": 0.0}}):
        assert digest(**changed) != digest()


@pytest.mark.parametrize(("private", "useful"), [(1, 0), (1, 1), (2, 3)])
def test_default_weights_follow_the_number_of_attributes(private: int, useful: int) -> None:
    given = PassParameters(private=tuple("abc"[:private]), useful=tuple("xyz"[:useful]) or None)
    assert given.resolved(private, useful) == (useful / private, 0.2 * useful)
    chosen = PassParameters.model_validate({"private": "a", "weights": {"useful": 0.0, "general": 0.5}})
    assert chosen.resolved(private, useful) == (0.0, 0.5)


@pytest.mark.parametrize(("private", "useful"), [(["activity", "hand"], ["gait"]), ("gait", None)])
def test_any_number_of_attributes_can_be_hidden_or_kept(private: Any, useful: Any) -> None:
    data = DataSpec(name="synthmotion", count=300)
    link = {"private": private, "useful": useful, "net": "conv-1d", "epochs": 2, "batch": 64, "embedding": 8}
    _, (recipe,) = DefenceChain.parse([{"pass": link}]).planned(data, 0)
    trained = train_defence(recipe, load(data))
    hidden = [private] if isinstance(private, str) else private
    assert {split: set(of) for split, of in trained.record["privacy"].items()} == {
        split: {*hidden} for split in ("train", "validation", "test")
    }
    assert trained.module.get_buffer("gammas").shape == (len(hidden), 180)
    assert all(math.isfinite(value) for entry in trained.history for value in entry.values())


@given(spec=st.sampled_from(SPECS), seed=st.integers(0, 20), count=st.integers(1, 5))
def test_what_leaves_is_always_one_of_the_substitutes(spec: SampleSpec, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = nets["linear"].build(spec, 6)
        module = Substitution(net, 9, 1, 0.05).eval().requires_grad_(False)
    module.substitutes.copy_(torch.from_numpy(spec.nearest(rng.normal(100, 60, (9, *spec.shape)))))
    samples = spec.nearest(rng.normal(100, 60, (count, *spec.shape)))
    before = samples.copy()
    extremes = np.array([0.0, np.nextafter(1.0, 0.0), 0.5, 0.999999999, 1e-300])[:count]
    for uniform in (rng.random(count), extremes):
        shown = module.substituted(samples, uniform)
        assert (shown.dtype, shown.shape) == (np.dtype(spec.dtype), samples.shape)
        for one in shown:
            assert any(np.array_equal(one, own) for own in module.substitutes.numpy())
    np.testing.assert_array_equal(samples, before)


def test_substitutes_are_drawn_with_the_probabilities_of_equation_2(ready: Ready) -> None:
    module = ready.trained.module
    assert isinstance(module, Substitution)
    one = ready.samples.values[:1]
    with torch.inference_mode():
        embedded = module.embedded(one)
        expected = module.probabilities(embedded)[0].double().numpy()
        uniform = torch.from_numpy(np.random.default_rng(0).random(20_000))
        drawn = module.drawn(embedded.expand(20_000, -1), uniform)
    counts = np.bincount(drawn.numpy(), minlength=64)
    some = expected * 20_000 > 5
    rest = [counts[~some].sum() + 1e-9, expected[~some].sum() * 20_000 + 1e-9]
    found = [*counts[some], rest[0]]
    wanted = np.array([*(expected[some] * 20_000), rest[1]])
    assert chisquare(found, wanted * sum(found) / wanted.sum()).pvalue > 0.001
    assert some.sum() > 3


def test_probabilities_are_those_of_equation_2_and_follow_what_is_learnt() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = Substitution(nets["linear"].build(SPECS[2], 24), 300, 1, 0.01).requires_grad_(False)
    samples = np.random.default_rng(0).integers(0, 256, (7, 5)).astype(np.uint8)
    for mode, shift in ((True, 0.0), (False, 0.1), (True, -0.2), (False, 0.3)):
        module.places.add_(shift)
        module.train(mode)
        given = module.embedding(torch.from_numpy(samples / 127.5 - 1).float()).double().numpy()
        theirs = module.places.double().numpy()
        lengths = np.linalg.norm(given, axis=1)[:, None] * np.linalg.norm(theirs, axis=1)
        expected = softmax(given @ theirs.T / lengths / 0.01, axis=1)
        found = module.probabilities(module.embedded(samples)).numpy()
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-7)


def test_a_substitute_that_is_never_likely_is_not_drawn_by_the_ends_of_the_range_either() -> None:
    with torch.random.fork_rng(devices=[]):
        module = Substitution(nets["linear"].build(SPECS[2], 3), 3, 1, 0.001).eval().requires_grad_(False)
    module.places.copy_(torch.tensor([[-1.0, 0, 0], [1, 0, 0], [0, 1, 0]]))
    ends = torch.tensor([0.0, 0.5, np.nextafter(1.0, 0.0)], dtype=torch.float64)
    assert module.drawn(torch.eye(3)[:1].expand(3, -1), ends).tolist() == [1, 1, 1]


def test_a_sticky_link_gives_a_sample_the_same_substitute_and_another_key_another(ready: Ready) -> None:
    chain = DefenceChain.parse([{"pass": ready.planned.spec()[0]["pass"] | {"sticky": True}}])
    assert (chain.deterministic, ready.planned.deterministic) == (True, False)
    assert chain.digest() != ready.planned.digest()
    given = ready.samples
    samples = given.values[given.where("test")][:200]

    def shown(key: bytes, seed: int, of: Any = samples) -> Any:
        return chain.bound(ready.load, key).obfuscate(of, given.spec, np.random.default_rng(seed))

    first = shown(b"one", 0)
    np.testing.assert_array_equal(shown(b"one", 1), first)
    np.testing.assert_array_equal(shown(b"one", 2, samples[::-1]), first[::-1])
    assert (shown(b"two", 0) != first).any(axis=1).mean() > 0.5
    # Nor can uploads under two artifacts be linked, even where these hold the same weights.
    renamed = DefenceChain.parse([{"pass": chain.spec()[0]["pass"] | {"artifact": "f" * 64}}])
    bound = renamed.bound(lambda _: ready.load(str(chain.spec()[0]["pass"]["artifact"])), b"one")
    linked = bound.obfuscate(samples, given.spec, np.random.default_rng(0))
    assert (linked != first).any(axis=1).mean() > 0.5
    fresh = [
        ready.planned.bound(ready.load).obfuscate(samples, given.spec, np.random.default_rng(seed))
        for seed in (0, 1)
    ]
    assert (fresh[0] != fresh[1]).any(axis=1).mean() > 0.5
    with pytest.raises(ValueError, match="pass needs a secret key"):
        chain.bound(ready.load)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"useful": "s"}, "private and useful at once"),
        ({"skew": {"z": [0.5, 0.5]}}, "no private or useful attribute"),
        ({"skew": {"y": [0.5, 0.6]}}, "add up to 1.1"),
        ({"temperature": 0}, "temperature"),
        ({"artifact": "../x"}, "artifact"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidChain, match=said):
        DefenceChain.parse([{"pass": LINK | changed}])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"private": "voice"}, "no attribute 'voice'; there are: s, y"),
        ({"skew": {"y": [0.5, 0.3, 0.2]}}, "'y' has 2 classes, 3 shares"),
        ({"skew": {"y": [1.0, 0.0]}}, "no substitute has class 1 of 'y'"),
        ({"net": "conv-2d"}, "takes picture or series, not vector"),
        ({"batch": 4096}, "at least one batch of 4096"),
    ],
)
def test_what_does_not_fit_the_data_is_refused(changed: dict[str, Any], said: str, ready: Ready) -> None:
    _, (recipe,) = DefenceChain.parse([{"pass": LINK | changed}]).planned(DATA, 0)
    with pytest.raises(InvalidInput, match=said):
        train_defence(recipe, ready.samples)
