"""What a provider reads from an upload with the decoder of a model's artifact folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.artifact_files import read_files
from leakrange.providers.decoder import Decoder, Inferred
from leakrange.providers.inference import outputs
from leakrange.providers.model_file import load_classifier, load_decoder
from leakrange.wire.errors import InvalidArtifact

__all__ = ["Read", "decode"]

Read = Inferred | NDArray[np.float32]
"""Classes and scores, or samples."""
KEPT_DECODERS = 32


def decode(folder: Path, values: NDArray[np.float32], kind: str, device: str = "cpu") -> Read:
    """What the decoder in ``folder`` reads from ``values`` (B, ...) of that ``kind`` of release, see
    `Decoder.infer`; from samples by the outputs that the classifier has of them. Its net runs on ``device``.
    Raises `InvalidArtifact` where there is none, and what `Decoder.infer` raises."""
    if kind == "sample":
        classifier, config = load_classifier(read_files(folder, "provider").main)
        values, kind = outputs(classifier.to(device), config.input.nearest(values), "logits"), "logits"
    return _decoder(folder, device).infer(values, kind)


@lru_cache(KEPT_DECODERS)
def _decoder(folder: Path, device: str) -> Decoder:
    content = read_files(folder).decoder
    if content is None:
        raise InvalidArtifact(f"{folder} has lost its decoder")
    decoder = load_decoder(content)
    if (net := decoder.module()) is not None:
        net.to(device)
    return decoder
