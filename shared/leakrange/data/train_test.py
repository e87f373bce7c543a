"""Packed sets of grey images in four arrays: training and test images and their labels."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.packed import AGAIN, Arrays, PackedSet
from leakrange.data.samples import SPLITS
from leakrange.wire.errors import DataUnavailable

__all__ = ["TrainTestSet", "test_last"]


class TrainTestSet(PackedSet):
    """A packed set with ``x_train``, ``y_train``, ``x_test`` and ``y_test``, officially split; the training
    images come first."""

    official_split = True
    layout = MappingProxyType(
        {
            "x_train": ("uint8", 3),
            "y_train": ("uint8", 1),
            "x_test": ("uint8", 3),
            "y_test": ("uint8", 1),
        }
    )
    pictures = ("x_train", "x_test")

    @classmethod
    def values(cls, arrays: Arrays) -> NDArray[np.uint8]:
        """Training images, then the test images. Raises `DataUnavailable` if they differ in size or labels
        are missing."""
        train, test = arrays["x_train"], arrays["x_test"]
        counts = [(len(arrays[f"x_{part}"]), len(arrays[f"y_{part}"])) for part in ("train", "test")]
        if train.shape[1:] != test.shape[1:] or any(images != labels for images, labels in counts):
            raise DataUnavailable("training and test arrays do not fit together", hint=AGAIN)
        return np.concatenate([train, test])[..., None]


def test_last(arrays: Arrays) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Labels (N,) and official split uint8 (N,): training images first."""
    train, test = arrays["y_train"], arrays["y_test"]
    official = np.repeat(
        np.array([SPLITS.index("train"), SPLITS.index("test")], dtype=np.uint8), [len(train), len(test)]
    )
    return np.concatenate([train, test]), official
