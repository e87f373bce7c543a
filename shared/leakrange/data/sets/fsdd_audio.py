"""Spoken digits as waveforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.spoken_digits import LENGTH, RATE, SpokenDigits
from leakrange.wire.samples import SampleSpec

__all__ = ["FsddAudio"]

LOUDEST = 2**15
DEVIATION = 0.1
"""Near that of all values in [-1, 1]."""


@datasets.register("fsdd-audio")
class FsddAudio(SpokenDigits):
    """The recordings themselves: a second at 8 kHz, one channel in [-1, 1]."""

    name = "fsdd-audio"
    description = "3,000 spoken digits of six speakers as waveforms; speaker and accent hidden"
    spec = SampleSpec(
        encoding="series", shape=(LENGTH, 1), dtype="float32", scale=DEVIATION, rate=float(RATE)
    )

    @classmethod
    def shown(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
        """Their samples, scaled; exactly what a WAV file of 16 bits can hold."""
        return (recordings.astype(np.float32) / np.float32(LOUDEST))[..., None]
