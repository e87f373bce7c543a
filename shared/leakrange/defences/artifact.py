"""Trained defences, and their artifacts beside trained models: one folder per recipe digest, whole or absent.

``defence.safetensors`` is what devices download: weights, the obfuscator's buffers (such as substitutes, in
the type of a sample), and the config to build it from. ``training.json`` is the record, which only the
protector sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from leakrange.defences.registered import trained_defence
from leakrange.defences.trained import DefenceConfig
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.versions import DEFENCE as DEFENCE_PREFIX
from leakrange.nets.module_file import packed
from leakrange.providers.artifact_files import DEFENCE, find, installed, read_files, write_files
from leakrange.registry import UnknownName
from leakrange.wire.errors import InvalidArtifact

__all__ = ["TrainedDefence", "defence_bytes", "find", "load", "save"]


@dataclass(frozen=True)
class TrainedDefence:
    """The obfuscator of the last epoch, or the extractor of the last round, on the CPU in eval mode, and the
    record of its training.

    history: per epoch ``epoch``, ``loss``, ``seconds``, and the defence's own entries. figures: by split;
    record: further entries of the record. device: that of the training, as `TrainedModel.device`.
    """

    recipe: TrainingRecipe
    config: DefenceConfig
    module: nn.Module
    history: list[dict[str, float]]
    figures: dict[str, dict[str, float]]
    record: dict[str, Any]
    chosen_epoch: int
    seconds: float
    device: str = "cpu"


@dataclass(frozen=True)
class DefenceArtifact:
    """A loaded artifact folder. ``content`` is the defence's file, and ``sha256`` its digest; ``record`` is
    ``training.json``."""

    folder: Path
    content: bytes
    config: DefenceConfig
    module: nn.Module
    sha256: str
    record: dict[str, Any]


def save(root: Path, trained: TrainedDefence) -> Path:
    """Write ``<root>/<recipe digest>/`` and return its path, see `write_files`."""
    record = {
        "recipe": trained.recipe.model_dump(mode="json"),
        "chosen_epoch": trained.chosen_epoch,
        "history": trained.history,
        "figures": trained.figures,
        "seconds": trained.seconds,
        "device": trained.device,
        "parameters": sum(each.numel() for each in trained.module.parameters()),
        "versions": installed(),
        **trained.record,
    }
    return write_files(root, trained.recipe.digest(), "defence", {DEFENCE: defence_bytes(trained)}, record)


def load(folder: Path) -> DefenceArtifact:
    """Load a defence's artifact folder. Raises `InvalidArtifact` where a file is missing, damaged, or does
    not match the record, and for an artifact of another kind."""
    files = read_files(folder, "defence")
    try:
        name = str(files.record["recipe"]["behaviour"])
        entry = trained_defence(name.removeprefix(DEFENCE_PREFIX))
    except (KeyError, TypeError) as error:
        raise InvalidArtifact(f"{folder}: its record names no defence") from error
    except UnknownName as error:
        raise InvalidArtifact(f"{folder}: {error}") from error
    config, module = entry.opened(files.main)
    return DefenceArtifact(folder, files.main, config, module, files.sha256, files.record)


def defence_bytes(trained: TrainedDefence) -> bytes:
    """The file of a trained defence."""
    return packed(trained.module.state_dict(), trained.config.model_dump_json(exclude_none=True))
