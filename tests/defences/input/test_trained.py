"""Input defences that are trained: what a chain says of them, what a file may hold, how a rival is made."""

from __future__ import annotations

import json
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from leakrange.defences.artifact import defence_bytes, load
from leakrange.defences.chain import DefenceChain
from leakrange.defences.input import input_defences
from leakrange.defences.input.substitution import Pass
from leakrange.defences.input.trained import (
    ObfuscatorParameters,
    ObfuscatorTraining,
    Outcome,
    Task,
    TrainedInputDefence,
)
from leakrange.defences.trained import DefenceConfig
from leakrange.defences.training import train_defence
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.nets import nets
from leakrange.nets.optimisers import optimiser
from leakrange.providers import artifact
from leakrange.providers.artifact_files import DEFENCE, write_files
from leakrange.wire.errors import Conflict, InvalidArtifact, InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.defences.input.conftest import DATA, LINK, Ready

Header = dict[str, Any]


def obfuscated(chain: DefenceChain, ready: Ready, seed: int = 0) -> Any:
    samples = ready.samples.values[:50]
    return chain.obfuscate(samples, ready.samples.spec, np.random.default_rng(seed))


def test_a_planned_chain_names_what_is_trained_for_it_and_has_another_identity(ready: Ready) -> None:
    chain = DefenceChain.parse([{"gaussian-input": 0.1}, {"pass": LINK}])
    planned, recipes = chain.planned(DATA, seed=3)
    [recipe] = recipes
    assert (recipe.defence, recipe.behaviour, recipe.seed) == ("pass", "defence/pass", 3)
    assert recipe == ready.trained.recipe
    assert planned.input_spec()[0] == chain.input_spec()[0]
    assert planned.input_spec()[1]["pass"]["artifact"] == recipe.digest()
    assert "artifact" not in chain.input_spec()[1]["pass"]
    assert len({chain.digest(), planned.digest(), chain.planned(DATA, seed=4)[0].digest()}) == 3
    assert DefenceChain.parse(planned.spec()).digest() == planned.digest()
    assert planned.planned(DATA, seed=9) == (planned, ())  # it keeps what it names
    untrained, none = DefenceChain.parse([{"gaussian-input": 0.1}]).planned(DATA, 0)
    assert (untrained.spec(), none) == ([{"gaussian-input": {"sigma": 0.1}}], ())


def test_a_link_does_nothing_before_it_has_its_obfuscator(ready: Ready) -> None:
    for chain in (DefenceChain.parse([{"pass": LINK}]), ready.planned):
        with pytest.raises(Conflict, match="pass has no trained obfuscator") as caught:
            obfuscated(chain, ready)
        assert "bind the chain" in str(caught.value.hint)
    with pytest.raises(Conflict, match="pass names no artifact"):
        DefenceChain.parse([{"pass": LINK}]).bound(ready.load)


def test_a_bound_chain_is_the_same_chain_and_draws_from_what_it_is_given(ready: Ready) -> None:
    asked: list[str] = []

    def load(digest: str) -> bytes:
        asked.append(digest)
        return ready.load(digest)

    bound = ready.planned.bound(load)
    assert asked == [ready.trained.recipe.digest()]
    assert (bound.spec(), bound.digest()) == (ready.planned.spec(), ready.planned.digest())
    np.testing.assert_array_equal(obfuscated(bound, ready, 1), obfuscated(bound, ready, 1))
    assert not np.array_equal(obfuscated(bound, ready, 1), obfuscated(bound, ready, 2))
    with pytest.raises(Conflict):
        obfuscated(ready.planned, ready)


def test_samples_of_another_kind_are_refused(ready: Ready) -> None:
    bound = ready.planned.bound(ready.load)
    other = SampleSpec(encoding="vector", shape=(3,), dtype="uint8", scale=127.5, offset=-1.0)
    with pytest.raises(InvalidInput, match=r"trained for a vector of uint8 and shape \(2,\)"):
        bound.obfuscate(np.zeros((4, 3), np.uint8), other, np.random.default_rng(0))


def test_what_was_saved_is_what_was_trained_and_is_no_provider(ready: Ready) -> None:
    loaded = load(ready.folder)
    for name, tensor in ready.trained.module.state_dict().items():
        assert torch.equal(tensor, loaded.module.state_dict()[name])
        assert tensor.dtype == loaded.module.state_dict()[name].dtype
    assert loaded.config == ready.trained.config
    assert loaded.content == defence_bytes(ready.trained)
    assert loaded.record["kind"] == "defence"
    assert TrainingRecipe.model_validate(loaded.record["recipe"]) == ready.trained.recipe
    assert loaded.record["figures"] == ready.trained.figures
    assert loaded.record["privacy"] == ready.trained.record["privacy"]
    assert ready.folder.name == ready.trained.recipe.digest()
    with pytest.raises(InvalidArtifact, match="holds a trained defence, and not a provider"):
        artifact.load(ready.folder)


def test_a_record_that_names_no_defence_is_refused(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{}, {"recipe": {"behaviour": "defence/psas"}}, {"recipe": 3}]
    for number, told in enumerate(wrong):
        folder = write_files(tmp_path, f"{number:064x}", "defence", {DEFENCE: b"obfuscator"}, told)
        with pytest.raises(InvalidArtifact, match=r"names no defence|did you mean 'pass'"):
            load(folder)


def with_header(content: bytes, change: Callable[[Header], None]) -> bytes:
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def with_config(**changes: Any) -> Callable[[bytes], bytes]:
    def change(header: Header) -> None:
        config = json.loads(header["__metadata__"]["leakrange"])
        header["__metadata__"]["leakrange"] = json.dumps(config | changes)

    return lambda content: with_header(content, change)


def with_type(tensor: str, dtype: str) -> Callable[[bytes], bytes]:
    return lambda content: with_header(content, lambda header: header[tensor].update(dtype=dtype))


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[: len(content) // 2], "truncated"),
        (lambda content: content[:4], "shorter than its length"),
        (with_config(defence="gap"), "of the defence 'gap'"),
        (with_config(parameters={}), "private"),
        (with_config(parameters={"private": "s", "run": "rm"}), "run"),
        (with_config(size={}), "how many substitutes"),
        (with_config(size={"substitutes": 10**9}), "size"),
        (with_config(size={"substitutes": 65}), "its config asks for"),
        (with_config(net={"name": "mlp", "width": 2.0}), "its config asks for"),
        (with_config(net={"name": "hbc", "width": 1.0}), "cannot be built"),
        (with_config(net={"name": "../mlp"}), "cannot be built"),
        (with_config(input=SampleSpec.picture(4, 4, 1).model_dump(mode="json")), "its config asks for"),
        (with_config(code="import os"), "code"),
        (with_type("substitutes", "I64"), "do not fit the shape"),
        (with_type("places", "F64"), "described wrongly"),
    ],
)
def test_a_hostile_file_is_refused_and_says_why(
    change: Callable[[bytes], bytes], said: str, ready: Ready
) -> None:
    content = change(defence_bytes(ready.trained))
    with pytest.raises(InvalidArtifact, match=said):
        Pass.opened(content)


def test_a_pickle_is_not_run(tmp_path: Path, ready: Ready) -> None:
    bomb = pickle.dumps(Bomb(tmp_path / "boom"))
    with pytest.raises(InvalidArtifact, match="not a safetensors file"):
        ready.planned.bound(lambda _: bomb)
    assert not (tmp_path / "boom").exists()


def test_listing_and_planning_need_no_deep_learning_framework() -> None:
    code = f"""
import sys
sys.modules["torch"] = sys.modules["safetensors"] = None
from leakrange.defences.chain import DefenceChain
from leakrange.defences.input import input_defences
from leakrange.jobs.recipe import DataSpec
assert {{"pass", "gaussian-input"}} <= set(input_defences)
planned, (recipe,) = DefenceChain.parse([{{"pass": {LINK!r}}}]).planned(DataSpec(name="digits"), 0)
assert recipe.digest() and min(recipe.versions.model_dump().values()) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


class Shift(TrainedInputDefence[ObfuscatorParameters]):
    """A rival in one file: x' = T(x), linear, against an adversary of its own."""

    name = "shift"
    Parameters = ObfuscatorParameters
    summary = "a linear translator that is trained against an adversary"

    @classmethod
    def build(cls, parameters: Any, config: DefenceConfig) -> nn.Module:  # noqa: ARG003
        length = config.input.shape[0]
        return nn.Linear(length, length)

    def study(self, task: Task) -> ObfuscatorTraining:
        return ShiftTraining(self.build(self.parameters, task.config), task)

    def obfuscate(self, module: Any, samples: Any, spec: SampleSpec, draw: Any) -> Any:  # noqa: ARG002
        x = torch.tensor(samples).float() / spec.scale + spec.offset
        return spec.nearest((module(x).numpy() - spec.offset) * spec.scale)


class ShiftTraining(ObfuscatorTraining):
    def __init__(self, module: nn.Module, task: Task) -> None:
        super().__init__(task)
        self.module = module
        self.adversary = nets["mlp"].build(task.config.input, task.private["s"])
        self.ours = optimiser(module.parameters(), task.schedule)
        self.theirs = optimiser(self.adversary.parameters(), task.schedule)

    def optimisers(self) -> Any:
        return self.ours, self.theirs

    def step(self, inputs: Tensor, _: Tensor, sensitive: Tensor | None, /) -> Tensor:
        assert sensitive is not None
        cross_entropy = nn.functional.cross_entropy
        self.theirs.descend(cross_entropy(self.adversary(self.module(inputs).detach()), sensitive[:, 0]))
        shown = self.module(inputs)
        kept = ((shown - inputs)[:, 0] ** 2).mean()
        return self.ours.descend(kept - 0.1 * cross_entropy(self.adversary(shown), sensitive[:, 0]))

    def outcome(self, parts: Any) -> Outcome:
        return Outcome({split: {"samples": float(len(part))} for split, part in parts.items()})


def test_a_rival_is_one_class_with_its_training(ready: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(input_defences._entries, "shift", Shift)
    link = {"private": "s", "net": "mlp", "epochs": 2, "lr": 0.01}
    planned, (recipe,) = DefenceChain.parse([{"shift": link}]).planned(DATA, 0)
    assert recipe.versions.trainer == 1
    trained = train_defence(recipe, ready.samples)
    bound = planned.bound(lambda digest: {recipe.digest(): defence_bytes(trained)}[digest])
    shown = obfuscated(bound, ready)
    assert (shown.dtype, shown.shape) == (np.uint8, (50, 2))
    assert planned.deterministic
    with pytest.raises(InvalidArtifact, match="of the defence 'shift', and not 'pass'"):
        Pass.opened(defence_bytes(trained))
