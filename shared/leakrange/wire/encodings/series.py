"""Values of one or more channels step by step: recordings of sound, of motion, spectra of speech."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.samples import Encoding, SampleSpec, encodings
from leakrange.wire.sounds import WAV, is_sound, read_sound

__all__ = ["SeriesEncoding"]


@encodings.register("series")
class SeriesEncoding(Encoding):
    """Steps, so many in a second as the ``rate`` says; as files WAV where that is the rate of a sound."""

    summary = "steps of one or more channels, such as sound or motion"
    axes = ("steps", "channels")
    layout = (0, 2, 1)
    nets = ("conv-1d", "mlp")
    side = "steps"
    files = WAV
    facts = frozenset({"rate"})

    @classmethod
    def media(cls, spec: SampleSpec) -> tuple[str, ...]:
        """See `Encoding.media`: none of a series that is no sound."""
        return cls.files if is_sound(spec) else ()

    @classmethod
    def read_file(cls, file: bytes | memoryview, number: int, spec: SampleSpec) -> NDArray[np.float32]:
        """See `leakrange.wire.sounds.read_sound`."""
        return read_sound(file, number, spec)
