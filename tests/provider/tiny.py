"""Small untrained models, saved as the artifacts that a provider serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from leakrange.jobs.recipe import DataSpec, NetSpec, TrainingRecipe
from leakrange.nets import nets
from leakrange.nets.decoder import AttackNet
from leakrange.nets.reconstructors import reconstructors
from leakrange.providers import artifact
from leakrange.providers.decoder import Decoder
from leakrange.providers.decoders.net import NetDecoder
from leakrange.providers.decoders.reconstruction import ReconstructionDecoder
from leakrange.providers.decoders.threshold import ThresholdDecoder
from leakrange.providers.training import TrainedModel
from leakrange.wire.samples import SampleSpec

SHAPE = (16, 16, 1)
CLASSES = ("zero", "one", "two")
BEHAVIOURS = {
    "net": "curious/parameterized",
    "threshold": "curious/regularized",
    "reconstruction": "vicious",
}


def save_model(
    root: Path,
    *,
    seed: int = 0,
    decoder: str | Decoder | None = None,
    size: int = 16,
    release: str = "logits",
    heads: tuple[int, ...] = (len(CLASSES),),
) -> str:
    """A classifier of three classes for 16×16 grey images; gives its digest.

    ``decoder``: None (honest), "net" or "threshold", which reads ``release``, "reconstruction", which reads
    logits, or one that was made. The classifier's weights depend on ``seed`` alone. With several ``heads`` it
    answers for several attributes.
    """
    behaviour = "honest" if decoder is None else BEHAVIOURS.get(str(decoder), "curious/parameterized")
    target = "digit" if len(heads) == 1 else [f"digit-{number}" for number in range(len(heads))]
    hides = {} if behaviour in ("honest", "vicious") else {"sensitive": "loop"}
    parameters: dict[str, Any] = {"target": target, **hides}
    recipe = TrainingRecipe(
        data=DataSpec(name="digits", size=size),
        behaviour=behaviour,
        parameters=parameters,
        net=NetSpec(width=0.1),
        seed=seed,
    )
    torch.manual_seed(seed)
    classifier = nets["hbc"].build(SampleSpec.picture(size, size, 1), sum(heads), 0.1).eval()
    classifier.heads = heads
    classes = CLASSES if len(heads) == 1 else tuple(f"class {number}" for number in range(sum(heads)))
    for parameter in classifier.head.parameters():
        parameter.data.mul_(20)  # so that outputs differ visibly from image to image
    reads = decoder if isinstance(decoder, Decoder) else None
    if decoder == "net":
        reads = NetDecoder(AttackNet(len(CLASSES), 2).eval(), release)
    elif decoder == "threshold":
        reads = ThresholdDecoder(1.0, len(CLASSES))
    elif decoder == "reconstruction":
        net = reconstructors["strided-conv"].build(classifier.spec, sum(heads), 0.1)
        reads = ReconstructionDecoder(net, "logits", name="strided-conv", width=0.1, heads=heads)
    trained = TrainedModel(recipe, classifier, reads, [], {}, 0, classes, release, 0.0)
    return artifact.save(root, trained).name
