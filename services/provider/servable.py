"""What a provider can serve, wherever it came from: an artifact that was trained here, or a model file of
others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leakrange.nets.folded import folded
from leakrange.providers import artifact as artifacts
from leakrange.providers.foreign.model import FileModel
from leakrange.providers.inference import logits_from, outputs
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import Deployment, Heads

__all__ = ["Servable", "of_artifact", "of_file"]

Values = NDArray[np.float32]


class Compute(Protocol):
    """Maps samples (B, *shape) to their releases (B, N) of a ``kind``."""

    def __call__(self, samples: NDArray[Any], kind: str) -> Values: ...


class ServedHead(Protocol):
    """Maps features (B, N) to logits (B, Y)."""

    def __call__(self, features: Values) -> Values: ...


@dataclass(frozen=True)
class Servable:
    """A model, and the facts of its card. ``public`` is the file for its users, empty where they get none;
    ``releases`` are the kinds that it can compute."""

    task: str
    classes: tuple[str, ...]
    heads: Heads | None
    input: SampleSpec
    releases: tuple[ReleaseKind, ...]
    features: int
    parameters: int
    compute: Compute
    head: ServedHead | None = None
    public: bytes = b""
    has_decoder: bool = False
    foreign: bool = False
    """Whether its numbers may be anything, as those of a file are that others made."""


def of_artifact(artifact: artifacts.Artifact, deployment: Deployment, device: str) -> Servable:
    """An artifact on that device of torch. Only as a classifier it has a file for users."""
    net, config = folded(artifact.classifier).to(device), artifact.config
    public = (
        artifacts.public_bytes(artifact, deployment.release) if deployment.service == "classifier" else b""
    )
    return Servable(
        task=config.target,
        classes=config.classes,
        heads=config.heads,
        input=config.input,
        releases=("logits", "softmax", "features"),
        features=config.features,
        parameters=artifact.classifier.parameter_count(),
        compute=partial(outputs, net),
        head=partial(logits_from, net),
        public=public,
        has_decoder=artifact.decoder is not None,
    )


def of_file(model: FileModel) -> Servable:
    """A model file of others: no download, no decoder, and no features beside its answers."""
    card = model.card
    return Servable(
        task=card.task,
        classes=card.classes,
        heads=None,
        input=card.input,
        releases=model.releases,
        features=card.width if card.release == "features" else 0,
        parameters=0,
        compute=model.outputs,
        foreign=True,
    )
