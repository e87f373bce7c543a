"""Spoken digits as log-mel spectra."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.speech import FRAMES_PER_SECOND, MELS, frames, log_mel
from leakrange.data.spoken_digits import LENGTH, RATE, SpokenDigits
from leakrange.wire.samples import SampleSpec

__all__ = ["Fsdd"]

MEAN, DEVIATION = 6.4, 7.7
"""Of all values, silence included."""


@datasets.register("fsdd")
class Fsdd(SpokenDigits):
    """What a device sends that hears the digit with common front ends: 98 frames of 40 log-mel bands.

    PASS learns speech from features of the recordings (HuBERT's), not from their waveforms; log-mel bands
    stand in for these. ``fsdd-audio`` has the waveforms.
    """

    name = "fsdd"
    description = "3,000 spoken digits of six speakers as log-mel spectra; speaker and accent hidden"
    spec = SampleSpec(
        encoding="series",
        shape=(frames(LENGTH, RATE), MELS),
        dtype="float32",
        scale=DEVIATION,
        offset=-MEAN / DEVIATION,
        rate=float(FRAMES_PER_SECOND),
    )

    @classmethod
    def shown(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
        """Their spectra."""
        return log_mel(recordings, RATE)
