"""MNIST, packed."""

from __future__ import annotations

from leakrange.data.catalogue import Outline, datasets
from leakrange.data.digit_attributes import DIGIT_ATTRIBUTES, digit_labels
from leakrange.data.packed import Arrays, require_range
from leakrange.data.train_test import TrainTestSet, test_last
from leakrange.wire.samples import SampleSpec

__all__ = ["MNIST"]


@datasets.register("mnist")
class MNIST(TrainTestSet):
    """70,000 handwritten digits."""

    name = packed = "mnist"
    description = "70,000 handwritten digits"
    attributes = DIGIT_ATTRIBUTES
    spec = SampleSpec.picture(28, 28, 1)
    source = "MNIST, LeCun, Cortes and Burges; commonly listed as CC BY-SA 3.0"

    @classmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """The official split and the digits."""
        label, official = test_last(arrays)
        labels = digit_labels(require_range("y_train, y_test", label, 0, 9))
        return Outline(labels=labels, official=official)
