"""The Free Spoken Digit Dataset, packed or as its folder of recordings, whatever a sample shows of them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, Outline
from leakrange.data.packed import AGAIN, read_arrays, require_classes, require_range
from leakrange.data.placed import PlacedSet
from leakrange.data.samples import SPLITS, Attribute
from leakrange.data.speech import cut, read_recording
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable

__all__ = ["LENGTH", "RATE", "SpokenDigits"]

RATE = 8000
LENGTH = RATE
"""Samples that are kept: a second. 99 % of the recordings are shorter."""
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
ACCENTS = ("BEL/French", "DEU/German", "GRC/Greek", "USA/neutral")
ACCENT = np.array([2, 3, 1, 0, 3, 1])
"""Of each speaker."""
TAKES = 50
TEST_TAKES = 5
NAME = re.compile(r"([0-9])_([a-z]+)_([0-9]{1,2})\.wav")
SAID = MappingProxyType(
    {"digit": ("uint8", 1), "speaker": ("uint8", 1), "take": ("uint8", 1), "speakers": ("str", 1)}
)
AUDIO = MappingProxyType({"audio": ("int16", 1), "offset": ("int64", 1)})


class SpokenDigits(PlacedSet):
    """3,000 recordings: ten digits, six speakers, fifty takes of each."""

    folder = "fsdd"
    attributes = MappingProxyType(
        {
            "digit": Attribute("digit", tuple("0123456789"), "which digit is spoken"),
            "parity": Attribute("parity", ("even", "odd"), "of the digit"),
            "speaker": Attribute("speaker", SPEAKERS, "who speaks; all six are men"),
            "accent": Attribute("accent", ACCENTS, "the speaker's"),
        }
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
        order = _order(source.said)
        return _told(source.said[order]).with_values(cls.shown(cut(source.recordings(), LENGTH)[order]))

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The labels alone: no recording is decoded, and no package for sound is needed."""
        del spec
        (path,) = cls.files()
        said = (_Folder(path) if path.is_dir() else _File(path)).said
        return _told(said[_order(said)])

    @classmethod
    @abstractmethod
    def shown(cls, recordings: NDArray[np.int16]) -> NDArray[np.float32]:
        """The samples (N, steps, channels) that are made of recordings (N, `LENGTH`)."""


def _order(said: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.lexsort((said[:, 2], said[:, 1], said[:, 0]))


def _told(said: NDArray[np.int64]) -> Outline:
    """What is known of recordings whose digit, speaker and take are these, (N, 3)."""
    digit, speaker, take = said.T
    train, test = SPLITS.index("train"), SPLITS.index("test")
    return Outline(
        labels={"digit": digit, "parity": digit % 2, "speaker": speaker, "accent": ACCENT[speaker]},
        official=np.where(take < TEST_TAKES, test, train).astype(np.uint8),
    )


class _File:
    """The packed file. ``said``: digit, speaker and take of each recording, int64 (N, 3)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        arrays = read_arrays(path, SAID)
        require_classes("speakers", arrays["speakers"], SPEAKERS)
        most = {"digit": 9, "speaker": len(SPEAKERS) - 1, "take": TAKES - 1}
        columns = [require_range(name, arrays[name], 0, top) for name, top in most.items()]
        if len({len(column) for column in columns}) != 1:
            raise DataUnavailable(f"{path}: digit, speaker and take are not one each a recording", hint=AGAIN)
        self.said = np.stack(columns, axis=1)

    def recordings(self) -> Iterator[NDArray[np.int16]]:
        arrays = read_arrays(self._path, AUDIO)
        audio, ends = arrays["audio"], arrays["offset"]
        whole = len(ends) == len(self.said) + 1 and ends[0] >= 0 and ends[-1] <= len(audio)
        if not whole or (np.diff(ends) <= 0).any():
            raise DataUnavailable(
                f"{self._path}: the offsets do not cut the audio into its recordings", hint=AGAIN
            )
        return (audio[a:b] for a, b in pairwise(ends))


class _Folder:
    """The recordings as they are published, ``7_jackson_32.wav``; other files are passed over.

    Raises `DataUnavailable` where there are none, or for a speaker who is not known.
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
        said = [[int(match[1]), SPEAKERS.index(match[2]), int(match[3])] for match in named]
        self.said = np.array(said, dtype=np.int64)

    def recordings(self) -> Iterator[NDArray[np.int16]]:
        return (read_recording(path, RATE) for path in self._paths)
