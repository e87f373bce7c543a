"""scikit-learn's handwritten digits: real, small and always there."""

from __future__ import annotations

from importlib.util import find_spec
from types import MappingProxyType

import numpy as np

from leakrange.data.catalogue import Content, GivenSet, datasets
from leakrange.data.digit_attributes import DIGIT_ATTRIBUTES, SLANT, digit_labels, slant
from leakrange.wire.samples import SampleSpec

__all__ = ["Digits"]


@datasets.register("digits")
class Digits(GivenSet):
    """1,797 digits of 8 × 8 pixels and 17 grey levels, shown at 16 × 16."""

    name = "digits"
    description = "1,797 real handwritten digits, shipped with scikit-learn"
    attributes = MappingProxyType({**DIGIT_ATTRIBUTES, "slant": SLANT})
    spec = SampleSpec.picture(16, 16, 1)
    source = "scikit-learn load_digits: test part of UCI Optical Recognition of Handwritten Digits, CC BY 4.0"
    notes = (
        "1,797 digits of 8 x 8 pixels, enlarged; writers are unknown, one may be on both sides of the split",
    )

    @classmethod
    def available(cls) -> str | None:
        """None where scikit-learn is installed."""
        return None if find_spec("sklearn") else "it comes with scikit-learn: pip install 'leakrange[models]'"

    @classmethod
    def content(cls) -> Content:
        """All 1,797 digits; grey levels 0..16 become 0..255."""
        from sklearn.datasets import load_digits

        found = load_digits()
        images = np.round(found.images * (255 / 16)).astype(np.uint8)[..., None]
        labels = digit_labels(found.target)
        return Content(values=images, labels={**labels, "slant": slant(found.images, labels["digit"])})
