"""Small image sets whose attributes can be seen by eye: a bright patch says yes, and where it lies says
which attribute."""

import numpy as np

from leakrange.data.samples import Attribute, Samples
from leakrange.wire.samples import SampleSpec

PLACES = {"hat": (1, 1), "shoe": (10, 10), "bag": (1, 10)}


def patches(count: int = 800, size: int = 16, channels: int = 3, seed: int = 0, noise: int = 60) -> Samples:
    """``hat`` and ``shoe`` binary, ``bag`` of three brightnesses, independent; 60/15/10/15 % of the images
    to the splits.

    ``mood`` is ``hat`` with a fifth of its labels turned over: nobody can be certain of it, so soft outputs
    keep room.
    """
    rng = np.random.default_rng(seed)
    images = rng.integers(0, noise, (count, size, size, channels)).astype(np.uint8)
    labels = {
        "hat": rng.integers(0, 2, count),
        "shoe": rng.integers(0, 2, count),
        "bag": rng.integers(0, 3, count),
    }
    for name, (top, left) in PLACES.items():
        steps = 160 if name != "bag" else 90
        images[:, top : top + 5, left : left + 5] += (steps * labels[name]).astype(np.uint8)[
            :, None, None, None
        ]
    labels["mood"] = np.where(rng.random(count) < 0.2, 1 - labels["hat"], labels["hat"])
    split = np.repeat(np.arange(4), np.array([60, 15, 10, 15]) * count // 100).astype(np.uint8)
    return Samples(
        name="patches",
        values=images,
        spec=SampleSpec.picture(size, size, channels),
        attributes={
            "hat": Attribute("hat", ("bare", "hat")),
            "shoe": Attribute("shoe", ("barefoot", "shoe")),
            "bag": Attribute("bag", ("none", "small", "large")),
            "mood": Attribute("mood", ("grave", "merry")),
        },
        labels={name: values.astype(np.int64) for name, values in labels.items()},
        split=split,
        group=np.arange(count),
        fingerprint="0" * 64,
    )
