"""The result of training a defence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from leakrange.defences.trained import DefenceConfig
from leakrange.jobs.recipe import TrainingRecipe

__all__ = ["TrainedDefence"]


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
