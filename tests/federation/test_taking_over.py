"""What a SuperLink has trained is read as a stranger's: it is what the recipe makes, or it is refused."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from leakrange.data import load
from leakrange.defences import artifact
from leakrange.defences.artifact import TrainedDefence
from leakrange.defences.extractor_training import train_extractor
from leakrange.providers.artifact_files import DEFENCE, RECORD
from leakrange.services.federation.taking_over import take_over
from leakrange.wire.errors import InvalidArtifact
from tests.federation.flower import recipe

WANTED = recipe(devices=2, share=1.0, rounds=1, pretraining=0, local_epochs=1)


@pytest.fixture(scope="module")
def trained() -> TrainedDefence:
    torch.set_num_threads(1)
    return train_extractor(WANTED, load(WANTED.data))


@pytest.fixture
def output(trained: TrainedDefence, tmp_path: Path) -> Path:
    return artifact.save(tmp_path / "outputs", trained)


def test_an_output_is_taken_over_whole_and_as_it_is(output: Path, tmp_path: Path) -> None:
    taken = take_over(output, tmp_path / "models", WANTED)
    assert taken == tmp_path / "models" / WANTED.digest()
    for name in (DEFENCE, RECORD):
        assert (taken / name).read_bytes() == (output / name).read_bytes()
    assert artifact.load(taken).record["recipe"] == WANTED.model_dump(mode="json")


def rewritten(output: Path, content: bytes) -> None:
    """Another main file, which the record names."""
    (output / DEFENCE).write_bytes(content)
    rerecorded(output, files={DEFENCE: hashlib.sha256(content).hexdigest()})


def rerecorded(output: Path, **changes: Any) -> None:
    record = json.loads((output / RECORD).read_text())
    (output / RECORD).write_text(json.dumps(record | changes))


def linked(output: Path, name: str) -> None:
    """The same content, by a link."""
    (output / name).rename(output.parent / name)
    (output / name).symlink_to(output.parent / name)


def linked_folder(output: Path) -> None:
    output.rename(output.with_name("elsewhere"))
    output.symlink_to(output.with_name("elsewhere"))


def piped(output: Path) -> None:
    (output / RECORD).unlink()
    os.mkfifo(output / RECORD)


def other_width(output: Path) -> None:
    """A sound file of the same defence, whose net is another than the recipe's."""
    wide = WANTED.model_copy(update={"net": WANTED.net.model_copy(update={"width": 2.0})})
    other = train_extractor(wide, load(wide.data))
    rewritten(output, artifact.defence_bytes(other))


def other_strength(output: Path) -> None:
    given = {**WANTED.parameters, "strength": 0.123}
    other = WANTED.model_copy(update={"parameters": given})
    rerecorded(output, recipe=other.model_dump(mode="json"))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda output: linked(output, DEFENCE), "defence.safetensors: Too many levels of symbolic links"),
        (lambda output: linked(output, RECORD), "training.json: Too many levels of symbolic links"),
        (linked_folder, "Not a directory|Too many levels"),
        (piped, "training.json is no plain file"),
        (lambda output: (output / "run.py").touch(), "holds other files than"),
        (lambda output: (output / RECORD).unlink(), "holds other files than"),
        (lambda output: rewritten(output, pickle.dumps({"w": 1})), "not a safetensors file"),
        (lambda output: (output / DEFENCE).write_bytes(b""), "not the one that its record names"),
        (lambda output: (output / RECORD).write_bytes(pickle.dumps({})), "cannot be read"),
        (lambda output: rerecorded(output, recipe={"behaviour": "defence/tappfl"}), "of another recipe"),
        (other_strength, "of another recipe"),
        (other_width, "not what its recipe makes"),
    ],
)
def test_what_is_not_what_the_recipe_makes_is_refused(
    output: Path, tmp_path: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    spoil(output)
    with pytest.raises(InvalidArtifact, match=reason):
        take_over(output, tmp_path / "models", WANTED)
    assert not (tmp_path / "models").exists()


def test_an_output_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidArtifact, match="No such file"):
        take_over(tmp_path / "none", tmp_path / "models", WANTED)
