"""Translators from their recipes to the samples that leave, and what holds for all trained input defences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from leakrange.data import load
from leakrange.defences.artifact import TrainedDefence, defence_bytes
from leakrange.defences.chain import DefenceChain
from leakrange.defences.input import input_defences
from leakrange.defences.input.trained import TrainedInputDefence
from leakrange.defences.input.translating import Translation
from leakrange.defences.stages import InvalidChain
from leakrange.defences.trained import DefenceConfig
from leakrange.defences.training import DefenceTraining, train_defence
from leakrange.jobs.recipe import DataSpec, NetSpec, OptimiserSpec, TrainingRecipe
from leakrange.nets.classifier import to_input
from leakrange.providers.loop import Lessons, seeded
from leakrange.wire.samples import SampleSpec
from tests.defences.input.conftest import DATA, SPECS, Ready, some

BOTH: dict[str, Any] = {"private": "s", "useful": "y", "net": "mlp", "batch": 50, "epochs": 12, "lr": 0.005}
GOLDEN = {
    "adv": 0.5716,
    "bdq": -1.1205,
    "gap": -0.2484,
    "mass": 0.5672,
    "msda": 1.96,
    "ppdar": -0.553,
    "spact": -3.8643,
}
"""The mean loss of the first epoch."""
DIGESTS = {
    "adv": "73d56721855f",
    "bdq": "802ac85c3ee2",
    "gap": "d4715e35608a",
    "mass": "aa86b70e840e",
    "msda": "9135c805ea10",
    "ppdar": "359e8a0f1231",
    "spact": "6875c442143b",
}
RIVALS = sorted(GOLDEN)
BYTES = [
    SampleSpec(encoding="vector", shape=(6,), dtype="uint8", scale=127.5, offset=-1.0),
    SampleSpec(encoding="series", shape=(9, 2), dtype="uint8", scale=(100.0, 9.0), offset=(0.0, -3.0)),
    SampleSpec.picture(7, 10, 3),
]


def planned(name: str, data: DataSpec = DATA, **changed: Any) -> tuple[DefenceChain, TrainingRecipe]:
    chain, (recipe,) = DefenceChain.parse([{name: BOTH | changed}]).planned(data, seed=3)
    return chain, recipe


def trained_on(ready: Ready, name: str, **changed: Any) -> TrainedDefence:
    return train_defence(planned(name, **changed)[1], ready.samples)


def test_every_translator_is_here() -> None:
    translators = {name for name, entry in input_defences.items() if issubclass(entry, Translation)}
    assert translators == {*RIVALS, "dp-image"}


@pytest.mark.parametrize("name", RIVALS)
def test_its_own_adversary_is_left_with_guesses_and_the_useful_class_stays(name: str, ready: Ready) -> None:
    chain, recipe = planned(name)
    trained = train_defence(recipe, ready.samples)
    figures = trained.figures["test"]
    where = ready.samples.where("test")
    samples, labels = ready.samples.values[where], ready.samples.labels["s"][where]
    assert figures["samples"] == len(samples) == 400
    assert figures["majority s"] == max(labels.mean(), 1 - labels.mean())
    assert figures["adversary s"] < figures["majority s"] + 0.15
    assert figures["accuracy y"] > 0.9 > 0.55 > figures["majority y"]
    bound = chain.bound(lambda digest: {recipe.digest(): defence_bytes(trained)}[digest])
    shown = bound.obfuscate(samples, ready.samples.spec, np.random.default_rng(3))
    again = bound.obfuscate(samples, ready.samples.spec, np.random.default_rng(4))
    assert (shown.shape, shown.dtype) == (samples.shape, samples.dtype)
    assert chain.deterministic == np.array_equal(shown, again) == (name not in ("adv", "gap"))
    moved = np.square((shown.astype(float) - samples) / 127.5).mean()
    assert figures["distortion"] == pytest.approx(moved, rel=0.1)


def test_gap_moves_samples_no_farther_than_its_bound(ready: Ready) -> None:
    near = trained_on(ready, "gap", distortion=0.02).figures["test"]
    assert near["distortion"] < 0.03
    assert near["adversary s"] > 0.75  # half of the square's points are too far from the other side
    assert near["accuracy y"] > 0.95


def test_the_margin_of_mass_and_the_budget_of_alr_are_what_may_be_told(ready: Ready) -> None:
    for name, generous in (("mass", {"margin": 0.7}), ("adv", {"budget": 0.7})):
        found = trained_on(ready, name, epochs=4, **generous)
        if name == "mass":  # whose other terms keep what may be told
            assert found.figures["test"]["adversary s"] > 0.95
        assert found.history[-1]["private"] == pytest.approx(0.0, abs=1e-6)


def test_the_history_has_each_term_and_the_loss_is_their_sum(ready: Ready) -> None:
    terms = {
        "adv": {"useful", "private"},
        "mass": {"useful", "private", "general"},
        "msda": {"useful", "private", "distortion"},
        "gap": {"private", "distortion"},
    }
    for name, expected in terms.items():
        for entry in trained_on(ready, name, epochs=2).history:
            assert set(entry) == expected | {"epoch", "loss", "seconds"}
            assert entry["loss"] == pytest.approx(sum(entry[term] for term in expected), abs=1e-4)


def test_the_same_recipe_gives_the_same_translator_and_the_one_of_its_version(ready: Ready) -> None:
    first, again = (trained_on(ready, "adv", epochs=2) for _ in range(2))
    for key, tensor in first.module.state_dict().items():
        assert torch.equal(tensor, again.module.state_dict()[key]), key
    assert first.recipe.versions.trainer == 1
    found = {name: trained_on(ready, name, epochs=1).history[0]["loss"] for name in RIVALS}
    assert found == pytest.approx(GOLDEN, abs=2e-3)


def test_a_recipe_is_named_by_what_decides_the_training() -> None:
    found = {name: planned(name)[1].digest()[:12] for name in RIVALS}
    assert found == DIGESTS


def test_adversaries_of_ppdar_begin_anew_by_turns_but_for_the_last_epochs(ready: Ready) -> None:
    link = input_defences["ppdar"]
    made = link(link.Parameters.model_validate(BOTH | {"epochs": 45, "restart": 10, "adversaries": 3}))
    assert isinstance(made, Translation)
    turns = {epoch: made.restarted(epoch) for epoch in range(1, 46)}
    assert {epoch: turn for epoch, turn in turns.items() if turn is not None} == {10: 1, 20: 2, 30: 0}

    _, recipe = planned("ppdar", epochs=3, restart=1, adversaries=2)
    with seeded(3):
        training: Any = DefenceTraining(recipe, ready.samples)
        before = list(training.trainee.adversaries)
        training.epoch()
        after = training.trainee.adversaries
    assert after[0] is before[0]
    assert after[1] is not before[1]
    learners = {id(each) for one in training.trainee.optimisers() for each in one.parameters}
    assert learners >= {id(each) for net in after for each in net.parameters()}
    assert not learners & {id(each) for each in before[1].parameters()}


def test_the_adversary_that_is_told_is_the_one_that_does_best_on_training_samples(ready: Ready) -> None:
    _, recipe = planned("ppdar", adversaries=2)
    with seeded(3):
        training: Any = DefenceTraining(recipe, ready.samples)
    for constant, adversary in enumerate(training.trainee.adversaries):
        adversary.head[-1].weight.data.zero_()
        adversary.head[-1].bias.data.copy_(torch.eye(2)[constant])
    samples = torch.from_numpy(ready.samples.values[:10].copy())
    useful = torch.zeros(10, 1, dtype=torch.int64)
    ones = {"train": 6, "validation": 3, "test": 2}
    parts = {
        split: Lessons(samples, useful, (torch.arange(10) < count).long()[:, None])
        for split, count in ones.items()
    }
    figures = training.trainee.outcome(parts).figures
    told = {split: figures[split]["adversary s"] for split in ones}
    assert told == pytest.approx({"train": 0.6, "validation": 0.3, "test": 0.2})


@pytest.mark.parametrize("name", ["adv", "bdq", "ppdar", "spact"])
def test_what_nothing_else_would_keep_of_use_needs_a_useful_attribute(name: str) -> None:
    with pytest.raises(InvalidChain, match="useful"):
        DefenceChain.parse([{name: {"private": "s"}}])


@pytest.mark.parametrize("name", ["gap", "mass", "msda"])
def test_others_do_without(name: str, ready: Ready) -> None:
    found = trained_on(ready, name, epochs=1, useful=None).figures["test"]
    assert set(found) == {"samples", "distortion", "adversary s", "majority s"}


def test_several_attributes_are_hidden_and_kept_at_once() -> None:
    data = DataSpec(name="synthmotion", count=300)
    changed = {"private": ["gait", "hand"], "useful": "activity", "net": "conv-1d", "batch": 32, "epochs": 1}
    found = train_defence(planned("mass", data, **changed)[1], load(data)).figures["test"]
    judged = {"adversary gait", "adversary hand", "accuracy activity"}
    assert set(found) >= judged | {"majority gait", "majority hand", "majority activity"}


@given(
    name=st.sampled_from(["msda", "gap"]),
    spec=st.sampled_from(SPECS + BYTES),
    seed=st.integers(0, 9),
    count=st.sampled_from([1, 3, 300]),
)
def test_what_leaves_is_of_the_same_kind(name: str, spec: SampleSpec, seed: int, count: int) -> None:
    link = input_defences[name]
    assert issubclass(link, Translation)
    config = DefenceConfig(defence=name, parameters={}, net=NetSpec(width=0.25), input=spec)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = link.build(None, config).eval().requires_grad_(False)
    for parameter in module.parameters():
        parameter.mul_(1.0 + seed)  # from near to what it was to far off
    samples = some(spec, seed, count)
    module.range.fit(to_input(torch.from_numpy(samples), spec))
    before = samples.copy()
    made = link(link.Parameters.model_validate(BOTH))
    shown = made.obfuscate(module, samples, spec, np.random.default_rng(seed))
    assert (shown.shape, shown.dtype) == (samples.shape, np.dtype(spec.dtype))
    assert np.isfinite(shown).all()
    np.testing.assert_array_equal(samples, before)
    if spec.dtype == "uint8":
        ends = (to_input(torch.full((1, *spec.shape), end, dtype=torch.uint8), spec) for end in (0, 255))
        least, most = (end.numpy() for end in ends)
        noise = made.noise(count, spec, np.random.default_rng(seed))
        given = () if noise is None else (torch.from_numpy(noise),)
        found = module(to_input(torch.from_numpy(samples), spec), *given).numpy()
    else:
        axes = tuple(range(len(spec.shape)))
        least, most, found = samples.min(axis=axes), samples.max(axis=axes), shown
    assert (found >= least - 1e-3).all()
    assert (found <= most + 1e-3).all()


def unmoved(training: DefenceTraining, steps: int) -> tuple[list[torch.Size], list[torch.Size]]:
    """The shapes of all parameters that stay as they were, and of those without a gradient."""
    parameters = [each for one in training.trainee.optimisers() for each in one.parameters]
    owned = {id(each) for each in parameters}
    assert owned >= {id(each) for each in training.trainee.module.parameters()}
    before = [each.detach().clone() for each in parameters]
    for batch in training.trainer.batches()[:steps]:
        assert torch.isfinite(training.trainer.step(batch))
    still = [p.shape for p, was in zip(parameters, before, strict=True) if torch.equal(p, was)]
    return still, [p.shape for p in parameters if p.grad is None or not p.grad.abs().sum() > 0]


@pytest.mark.parametrize(
    "name",
    sorted(name for name, entry in input_defences.items() if issubclass(entry, TrainedInputDefence)),
)
def test_after_a_few_steps_every_trainable_parameter_has_moved_by_its_gradient(name: str) -> None:
    data, changed = DataSpec(name="digits", limit=100), {"private": "parity", "useful": "digit"}
    extra = {"dp-image": {"epsilon": 1e4}}.get(name, {})
    recipe = planned(name, data, **changed, **extra, net="conv-2d", width=0.5, batch=20, epochs=1)[1]
    plain = recipe.schedule.model_copy(update={"optimiser": OptimiserSpec(name="adamw")})  # nothing decays
    with seeded(0):
        training = DefenceTraining(recipe.model_copy(update={"schedule": plain}), load(data))
        assert unmoved(training, 3) == ([], [])
