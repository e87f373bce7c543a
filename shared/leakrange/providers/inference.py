"""Running a classifier: the one place where images become releases."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from leakrange.nets.classifier import Classifier, to_input
from leakrange.wire.errors import InvalidInput

__all__ = ["logits_of", "outputs"]


def logits_of(classifier: Classifier, images: Tensor, *, batch: int = 500, bf16: bool = False) -> Tensor:
    """Float32 logits (B, Y) of uint8 images (B, H, W, C) on the classifier's device. Leaves the classifier
    in eval mode."""
    classifier.eval()
    device = images.device.type
    with torch.inference_mode(), torch.autocast(device, dtype=torch.bfloat16, enabled=bf16):
        return torch.cat([classifier(to_input(part)).float() for part in torch.split(images, batch)])


def outputs(
    classifier: Classifier, images: NDArray[np.uint8], kind: str, *, batch: int = 500
) -> NDArray[np.float32]:
    """What ``classifier``, which is in eval mode, releases for ``images`` uint8 (B, H, W, C): float32 (B,
    N).

    ``kind``: "logits" or "softmax" (N = number of classes), or "features" (N = ``feature_count``). Raises
    `InvalidInput` for another kind, shape or type.
    """
    if kind not in ("logits", "softmax", "features"):
        raise InvalidInput(f"no release {kind!r}; there are: logits, softmax, features")
    if images.dtype != np.uint8 or images.shape[1:] != classifier.shape:
        raise InvalidInput(
            f"expected uint8 images of shape (samples, {', '.join(map(str, classifier.shape))}), "
            f"not {images.dtype} of {images.shape}"
        )
    width = classifier.feature_count if kind == "features" else classifier.classes
    released = np.empty((len(images), width), dtype=np.float32)
    device = next(classifier.parameters()).device
    with torch.inference_mode():
        for start in range(0, len(images), batch):
            part = np.ascontiguousarray(images[start : start + batch])
            x = to_input(torch.from_numpy(part).to(device))
            values = classifier.features(x) if kind == "features" else classifier(x)
            if kind == "softmax":
                values = values.softmax(dim=1)
            released[start : start + len(part)] = cast(Tensor, values).float().cpu().numpy()
    return released
