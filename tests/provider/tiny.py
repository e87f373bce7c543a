"""Small untrained models, saved as the artifacts that a provider serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from leakrange.jobs.recipe import DataSpec, NetSpec, TrainingRecipe
from leakrange.nets import nets
from leakrange.nets.decoder import AttackNet
from leakrange.providers import artifact
from leakrange.providers.decoder import Decoder, NetDecoder, ThresholdDecoder
from leakrange.providers.training import TrainedModel
from leakrange.wire.samples import SampleSpec

SHAPE = (16, 16, 1)
CLASSES = ("zero", "one", "two")


def save_model(
    root: Path, *, seed: int = 0, decoder: str | None = None, size: int = 16, release: str = "logits"
) -> str:
    """A classifier of three classes for 16×16 grey images; gives its digest.

    ``decoder``: None (honest), "net" or "threshold"; it reads ``release``. The classifier's weights depend on
    ``seed`` alone.
    """
    behaviour = {None: "honest", "net": "curious/parameterized", "threshold": "curious/regularized"}[decoder]
    parameters: dict[str, Any] = {"target": "digit"} | ({} if decoder is None else {"sensitive": "loop"})
    recipe = TrainingRecipe(
        data=DataSpec(name="digits", size=size),
        behaviour=behaviour,
        parameters=parameters,
        net=NetSpec(width=0.1),
        seed=seed,
    )
    torch.manual_seed(seed)
    classifier = nets["hbc"].build(SampleSpec.picture(size, size, 1), len(CLASSES), 0.1).eval()
    for parameter in classifier.head.parameters():
        parameter.data.mul_(20)  # so that outputs differ visibly from image to image
    reads: Decoder | None = None
    if decoder == "net":
        reads = NetDecoder(AttackNet(len(CLASSES), 2).eval(), release)
    elif decoder == "threshold":
        reads = ThresholdDecoder(1.0, len(CLASSES))
    trained = TrainedModel(recipe, classifier, reads, [], {}, 0, CLASSES, release, 0.0)
    return artifact.save(root, trained).name
