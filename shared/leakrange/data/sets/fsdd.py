"""The Free Spoken Digit Dataset, packed or as its folder of recordings: as spectra and as waveforms."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, Outline, datasets
from leakrange.data.packed import AGAIN, read_arrays, require_classes, require_range
from leakrange.data.placed import PlacedSet
from leakrange.data.samples import Attribute, by_name, train_or_test
from leakrange.data.speech import FRAMES_PER_SECOND, MELS, cut, frames, log_mel, read_recording
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.samples import SampleSpec

__all__ = ["ACCENT", "ACCENTS", "LENGTH", "RATE", "SPEAKERS", "Fsdd", "FsddAudio"]

RATE = 8000
LENGTH = RATE
"""Number of samples that are kept: a second. 99 % of the recordings are shorter."""
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
ACCENTS = ("BEL/French", "DEU/German", "GRC/Greek", "USA/neutral")
ACCENT = np.array([2, 3, 1, 0, 3, 1])
"""Accent of each speaker."""
TAKES = 50
TEST_TAKES = 5
NAME = re.compile(r"([0-9])_([a-z]+)_([0-9]{1,2})\.wav")
TAKE_LAYOUT = MappingProxyType(
    {"digit": ("uint8", 1), "speaker": ("uint8", 1), "take": ("uint8", 1), "speakers": ("str", 1)}
)
AUDIO = MappingProxyType({"audio": ("int16", 1), "offset": ("int64", 1)})


MEAN, DEVIATION = 6.4, 7.7
"""Mean and deviation of all spectral values, silence included."""
AUDIO_DEVIATION = 0.1
"""Approximate deviation of all values in [-1, 1]."""
LOUDEST = 2**15


class SpokenDigits(PlacedSet):
    """3,000 recordings: ten digits, six speakers, fifty takes of each."""

    folder = "fsdd"
    person = "speaker"
    attributes = by_name(
        Attribute("digit", tuple("0123456789"), "which digit is spoken"),
        Attribute("parity", ("even", "odd"), "of the digit"),
        Attribute("speaker", SPEAKERS, "who speaks; all six are men"),
        Attribute("accent", ACCENTS, "the speaker's"),
    )
    source = "Jakobovski/free-spoken-digit-dataset on GitHub; CC BY-SA 4.0"
    official_split = True
    notes = (
        "the official split: takes 0 to 4 are test; the same six speakers are on both sides",
        "recordings are cut to their first second, shorter ones are followed by silence",
    )
    layouts = (("fsdd.npz",), ("recordings",))

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The recordings by digit, speaker and take, whatever the order of the files."""
        source = _Folder(paths[0]) if paths[0].is_dir() else _File(paths[0])
        order = _order(source.takes)
        return _outline(source.takes[order]).with_values(cls.samples(cut(source.recordings(), LENGTH)[order]))

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The labels alone: no recording is decoded, and no package for sound is needed."""
        del spec
        (path,) = cls.files()
        takes = (_Folder(path) if path.is_dir() else _File(path)).takes
        return _outline(takes[_order(takes)])

    @classmethod
    @abstractmethod
    def samples(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
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
    def samples(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
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
    def samples(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
        """The recordings' samples, scaled; exactly the values that a WAV file of 16 bits can hold."""
        return (recordings.astype(np.float32) / np.float32(LOUDEST))[..., None]


def _order(takes: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.lexsort((takes[:, 2], takes[:, 1], takes[:, 0]))


def _outline(takes: NDArray[np.int64]) -> Outline:
    """The outline of recordings with these digits, speakers and takes (N, 3)."""
    digit, speaker, take = takes.T
    return Outline(
        labels={"digit": digit, "parity": digit % 2, "speaker": speaker, "accent": ACCENT[speaker]},
        official=train_or_test(take < TEST_TAKES),
    )


class _File:
    """The packed file. ``takes``: digit, speaker and take of each recording, int64 (N, 3)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        arrays = read_arrays(path, TAKE_LAYOUT)
        require_classes("speakers", arrays["speakers"], SPEAKERS)
        most = {"digit": 9, "speaker": len(SPEAKERS) - 1, "take": TAKES - 1}
        columns = [require_range(name, arrays[name], 0, top) for name, top in most.items()]
        if len({len(column) for column in columns}) != 1:
            raise DataUnavailable(f"{path}: digit, speaker and take are not one each a recording", hint=AGAIN)
        self.takes = np.stack(columns, axis=1)

    def recordings(self) -> Iterator[NDArray[np.int16]]:
        arrays = read_arrays(self._path, AUDIO)
        audio, ends = arrays["audio"], arrays["offset"]
        within = len(ends) == len(self.takes) + 1 and ends[0] >= 0 and ends[-1] <= len(audio)
        if not within or (np.diff(ends) <= 0).any():
            raise DataUnavailable(
                f"{self._path}: the offsets do not cut the audio into its recordings", hint=AGAIN
            )
        return (audio[a:b] for a, b in pairwise(ends))


class _Folder:
    """The recordings as they are published, ``7_jackson_32.wav``; other files are ignored.

    Raises `DataUnavailable` where there are none, or for an unknown speaker.
    """

    def __init__(self, folder: Path) -> None:
        named = [match for path in folder.iterdir() if (match := NAME.fullmatch(path.name))]
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
        self._paths = [folder / match[0] for match in named]
        takes = [[int(match[1]), SPEAKERS.index(match[2]), int(match[3])] for match in named]
        self.takes = np.array(takes, dtype=np.int64)

    def recordings(self) -> Iterator[NDArray[np.int16]]:
        return (read_recording(path, RATE) for path in self._paths)
