"""Running a classifier: the one place where samples become releases."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from leakrange.nets.classifier import Classifier, to_input
from leakrange.nets.heads import soft
from leakrange.wire.errors import InvalidInput

__all__ = ["logits_from", "logits_of", "outputs"]


def logits_of(classifier: Classifier, samples: Tensor, *, batch: int = 500, bf16: bool = False) -> Tensor:
    """Float32 logits (B, Y) of samples (B, *shape) on the classifier's device. Leaves the classifier
    in eval mode."""
    classifier.eval()
    device = samples.device.type
    with torch.inference_mode(), torch.autocast(device, dtype=torch.bfloat16, enabled=bf16):
        return torch.cat(
            [classifier(to_input(part, classifier.spec)).float() for part in torch.split(samples, batch)]
        )


def logits_from(classifier: Classifier, features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits (B, Y) from ``features`` (B, N) that ``classifier``, which is in eval mode, has released."""
    device = next(classifier.parameters()).device
    with torch.inference_mode():
        logits = classifier.head(torch.tensor(features, device=device)).float().cpu().numpy()
    return cast(NDArray[np.float32], logits)


def outputs(
    classifier: Classifier, samples: NDArray[Any], kind: str, *, batch: int = 500
) -> NDArray[np.float32]:
    """The releases of ``classifier``, which is in eval mode, for ``samples`` (B, *shape): float32 (B, N).

    ``kind``: "logits" or "softmax" (N = number of classes), or "features" (N = ``feature_count``). Raises
    `InvalidInput` for another kind, shape or type.
    """
    if kind not in ("logits", "softmax", "features"):
        raise InvalidInput(f"no release {kind!r}; there are: logits, softmax, features")
    spec = classifier.spec
    if samples.dtype != spec.dtype or samples.shape[1:] != spec.shape:
        raise InvalidInput(
            f"expected samples of {spec.dtype} and shape {spec.shape}, not {samples.dtype} of "
            f"{samples.shape[1:]}"
        )
    width = classifier.feature_count if kind == "features" else classifier.classes
    released = np.empty((len(samples), width), dtype=np.float32)
    device = next(classifier.parameters()).device
    with torch.inference_mode():
        for start in range(0, len(samples), batch):
            part = np.require(samples[start : start + batch], requirements=("C", "W"))  # as torch wants it
            x = to_input(torch.from_numpy(part).to(device), spec)
            values = classifier.features(x) if kind == "features" else classifier(x)
            if kind == "softmax":
                values = soft(values, classifier.heads)
            released[start : start + len(part)] = cast(Tensor, values).float().cpu().numpy()
    return released
