"""What is told of a data set without its images, beside what loading it gives."""

from __future__ import annotations

import numpy as np

from leakrange.data import Labelled, Samples


def same_but_the_images(told: Labelled, whole: Samples) -> None:
    """Both say the same of the same images."""
    assert len(told) == len(whole)
    assert told.name == whole.name
    assert set(told.labels) == set(whole.labels)
    for name, labels in told.labels.items():
        np.testing.assert_array_equal(labels, whole.labels[name])
    np.testing.assert_array_equal(told.split, whole.split)
    np.testing.assert_array_equal(told.group, whole.group)
    assert set(told.parts) == set(whole.parts)
    for name, places in told.parts.items():
        np.testing.assert_array_equal(places, whole.parts[name])
