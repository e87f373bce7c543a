"""What comes of training a defence."""

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

    history: per epoch ``epoch``, ``loss``, ``seconds``, and what the defence adds. figures: by split; told:
    what else the defence has to say. device: what it was trained on, as `TrainedModel.device`.
    """

    recipe: TrainingRecipe
    config: DefenceConfig
    module: nn.Module
    history: list[dict[str, float]]
    figures: dict[str, dict[str, float]]
    told: dict[str, Any]
    chosen_epoch: int
    seconds: float
    device: str = "cpu"
