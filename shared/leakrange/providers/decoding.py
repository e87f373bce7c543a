"""Decoding of uploads with the decoder in a model's artifact folder."""

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

__all__ = ["Decoded", "decode"]

Decoded = Inferred | NDArray[np.float32]
"""Classes and scores, or samples."""
KEPT_DECODERS = 32


def decode(folder: Path, values: NDArray[np.float32], kind: str, device: str = "cpu") -> Decoded:
    """Decoded ``values`` (B, ...) of that ``kind`` of release with the decoder in ``folder``, see
    `Decoder.infer`. For samples, the decoder reads the classifier's outputs for them. The decoder's net runs
    on ``device``.

    Raises `InvalidArtifact` where there is no decoder, and what `Decoder.infer` raises.
    """
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
