"""scikit-learn's handwritten digits: real, small and always there."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, GivenSet, datasets
from leakrange.data.digit_attributes import DIGIT_ATTRIBUTES, SLANT, digit_labels, slant
from leakrange.data.drawings import as_counts
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
        counts, digits = _records()
        labels = digit_labels(digits)
        return Content(values=_grey(counts), labels={**labels, "slant": slant(counts, labels["digit"])})

    @classmethod
    def drawn(cls, drawing: NDArray[np.uint8], digit: int) -> Content:
        """A digit of 8 × 8; its slant is judged among the set's digits of the same kind."""
        counts = as_counts(drawing)
        others, digits = _records()
        every = np.append(digits, digit)
        leans = slant(np.concatenate([others, counts[None]]), every)[-1:]
        labels = {name: values[-1:] for name, values in digit_labels(every[-1:]).items()}
        return Content(values=_grey(counts[None]), labels={**labels, "slant": leans})


def _records() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The counts (1797, 8, 8) and the digits (1797,), as `sklearn.datasets.load_digits` returns them. The
    file is read without it: to import it takes a second, in each process that has samples."""
    package = find_spec("sklearn")
    assert package is not None
    assert package.submodule_search_locations is not None
    file = Path(package.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    records = np.loadtxt(file, delimiter=",")
    return records[:, :-1].reshape(-1, 8, 8), records[:, -1].astype(np.int64)


def _grey(counts: NDArray[Any]) -> NDArray[np.uint8]:
    """Digits (N, 8, 8) of 0..16 as pictures (N, 8, 8, 1) of 0..255."""
    grey: NDArray[np.uint8] = np.round(counts * (255 / 16)).astype(np.uint8)[..., None]
    return grey
