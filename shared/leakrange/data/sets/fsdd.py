"""The Free Spoken Digit Dataset, packed or as its folder of recordings: as spectra and as waveforms."""

from __future__ import annotations

import re
from abc import abstractmethod
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.columns import PACK_AGAIN, Coded
from leakrange.data.packed import layout_of, pieces, read_arrays
from leakrange.data.recordings import FRAMES_PER_SECOND, MELS, cut, frames, log_mel, read_recording
from leakrange.data.samples import by_name, train_or_test
from leakrange.data.spoken import SpokenSet, packed_takes
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.samples import SampleSpec

__all__ = ["ACCENT", "ACCENTS", "LENGTH", "RATE", "SPEAKERS", "Fsdd", "FsddAudio"]

RATE = 8000
LENGTH = RATE
"""Number of samples that are kept: a second. 99 % of the recordings are shorter."""
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
ACCENTS = ("BEL/French", "DEU/German", "GRC/Greek", "USA/neutral")
ACCENT = (2, 3, 1, 0, 3, 1)
"""Accent of each speaker."""
TAKES = 50
TEST_TAKES = 5
NAME = re.compile(r"([0-9])_([a-z]+)_([0-9]{1,2})\.wav")
SPELLING = MappingProxyType({"speakers": SPEAKERS})
AUDIO = layout_of(audio="int16", offset="int64")
MEAN, DEVIATION = 6.4, 7.7
"""Mean and deviation of all spectral values, silence included."""
AUDIO_DEVIATION = 0.1
"""Approximate deviation of all values in [-1, 1]."""
LOUDEST = 2**15


class SpokenDigits(SpokenSet):
    """3,000 recordings: ten digits, six speakers, fifty takes of each."""

    folder = "fsdd"
    attributes = by_name(
        Coded("digit", tuple("0123456789"), "which digit is spoken"),
        Coded("parity", ("even", "odd"), "of the digit", column="digit", into=(0, 1) * 5),
        Coded("speaker", SPEAKERS, "who speaks; all six are men"),
        Coded("accent", ACCENTS, "the speaker's", column="speaker", into=ACCENT),
    )
    source = "Jakobovski/free-spoken-digit-dataset on GitHub; CC BY-SA 4.0"
    official_split = True
    notes = (
        "the official split: takes 0 to 4 are test; the same six speakers are on both sides",
        "recordings are cut to their first second, shorter ones are followed by silence",
    )
    layouts = (("fsdd.npz",), ("recordings",))

    @classmethod
    def takes(cls, paths: tuple[Path, ...]) -> NDArray[np.int64]:
        """See `SpokenSet.takes`."""
        if paths[0].is_dir():
            return np.array([take for take, _ in _named(paths[0])], dtype=np.int64)
        return packed_takes(paths[0], range(len(SPEAKERS)), TAKES, SPELLING)

    @classmethod
    def official(cls, takes: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The first takes are test."""
        return train_or_test(takes[:, 2] < TEST_TAKES)

    @classmethod
    def samples(cls, paths: tuple[Path, ...], order: NDArray[np.intp]) -> NDArray[np.float32]:
        """See `SpokenSet.samples`."""
        if paths[0].is_dir():
            recordings = [read_recording(path, RATE) for _, path in _named(paths[0])]
        else:
            recordings = _packed(paths[0], len(order))
        return cls.features(cut(recordings, LENGTH)[order])

    @classmethod
    @abstractmethod
    def features(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
        """The samples (N, steps, channels) of recordings (N, `LENGTH`)."""


@datasets.register("fsdd")
class Fsdd(SpokenDigits):
    """Features of a device that hears the digit with common front ends: 98 frames of 40 log-mel bands.

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
    def features(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
        """The recordings' spectra."""
        return log_mel(recordings, RATE)


@datasets.register("fsdd-audio")
class FsddAudio(SpokenDigits):
    """The recordings themselves: a second at 8 kHz, one channel in [-1, 1]."""

    name = "fsdd-audio"
    description = "3,000 spoken digits of six speakers as waveforms; speaker and accent hidden"
    spec = SampleSpec(
        encoding="series", shape=(LENGTH, 1), dtype="float32", scale=AUDIO_DEVIATION, rate=float(RATE)
    )

    @classmethod
    def features(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
        """The recordings' samples, scaled; exactly the values that a WAV file of 16 bits can hold."""
        return (recordings.astype(np.float32) / np.float32(LOUDEST))[..., None]


def _named(folder: Path) -> list[tuple[tuple[int, int, int], Path]]:
    """Digit, speaker and take, and file, of the recordings as they are published, ``7_jackson_32.wav``; other
    files are ignored.

    Raises `DataUnavailable` where there are none, or for an unknown speaker.
    """
    named = [match for path in sorted(folder.iterdir()) if (match := NAME.fullmatch(path.name))]
    if not named:
        raise DataUnavailable(
            f"{folder} holds no recordings such as 7_jackson_32.wav",
            hint="copy them there from the repository",
        )
    unknown = sorted({match[2] for match in named} - set(SPEAKERS))
    if unknown:
        raise DataUnavailable(
            f"{folder} has recordings of {', '.join(unknown)}, who is none of {', '.join(SPEAKERS)}",
            hint="take the set's version of 3,000 recordings, six speakers",
        )
    return [((int(match[1]), SPEAKERS.index(match[2]), int(match[3])), folder / match[0]) for match in named]


def _packed(path: Path, count: int) -> list[NDArray[np.int16]]:
    """The ``count`` recordings of a packed file."""
    arrays = read_arrays(path, AUDIO)
    complaint = f"{path}: the offsets do not cut the audio into its recordings"
    recordings = pieces(arrays["audio"], arrays["offset"], complaint)
    if len(recordings) != count:
        raise DataUnavailable(complaint, hint=PACK_AGAIN)
    return recordings
