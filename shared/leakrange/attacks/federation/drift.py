"""Membership by what an update does to a sample's features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leakrange.federation.updates import Arrays

if TYPE_CHECKING:
    from torch import nn

__all__ = ["feature_drifts"]


def feature_drifts(
    extractor: nn.Module, sent: Arrays, received: Arrays, samples: NDArray[np.float32]
) -> NDArray[np.float64]:
    """How far an update moves the features of samples (S, ...), as the net takes them, relative to their
    length: ‖f'(x) - f(x)‖ / ‖f(x)‖.

    Attacks on membership follow the loss of a sample, or the cosine of its gradient with the update, from
    round to round (Nasr, Shokri and Houmansadr 2019). A server without the device's nets has neither. To
    first order the features' drift is the update times the features' own gradient, for all losses at once;
    training moves what it has seen the most.
    """
    import torch

    from leakrange.defences.federated import load_arrays

    def features(arrays: Arrays) -> NDArray[np.float64]:
        load_arrays(extractor, arrays)
        extractor.eval()
        with torch.inference_mode():
            return np.asarray(extractor(torch.from_numpy(samples)).numpy(), dtype=np.float64)

    before, after = features(sent), features(received)
    lengths = np.linalg.norm(before, axis=1)
    return np.asarray(np.linalg.norm(after - before, axis=1) / np.maximum(lengths, 1e-12))
