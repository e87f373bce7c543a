"""Packed sets of grey images in four arrays: training and test images and their labels."""

from __future__ import annotations

from abc import abstractmethod
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Outline
from leakrange.data.packed import AGAIN, Arrays, Layout, PackedSet, require_range
from leakrange.data.samples import train_or_test
from leakrange.wire.errors import DataUnavailable

__all__ = ["TrainTestSet"]


class TrainTestSet(PackedSet):
    """A packed set with ``x_train``, ``y_train``, ``x_test`` and ``y_test``, officially split, of ten
    classes; the training images come first."""

    official_split = True
    layout: ClassVar[Layout] = MappingProxyType({"y_train": ("uint8", 1), "y_test": ("uint8", 1)})
    pictures = MappingProxyType({"x_train": ("uint8", 3), "x_test": ("uint8", 3)})

    @classmethod
    @abstractmethod
    def labels(cls, label: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Labels per attribute, int64 (N,), from the class numbers 0..9 (N,)."""

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """The labels, and the official split."""
        train, test = arrays["y_train"], arrays["y_test"]
        label = require_range("y_train, y_test", np.concatenate([train, test]), 0, 9)
        return Outline(labels=cls.labels(label), official=train_or_test(np.arange(len(label)) >= len(train)))

    @classmethod
    def values(cls, arrays: Arrays) -> NDArray[np.uint8]:
        """Training images, then the test images. Raises `DataUnavailable` if they differ in size or labels
        are missing."""
        train, test = arrays["x_train"], arrays["x_test"]
        counts = [(len(arrays[f"x_{part}"]), len(arrays[f"y_{part}"])) for part in ("train", "test")]
        if train.shape[1:] != test.shape[1:] or any(images != labels for images, labels in counts):
            raise DataUnavailable("training and test arrays do not fit together", hint=AGAIN)
        return np.concatenate([train, test])[..., None]
