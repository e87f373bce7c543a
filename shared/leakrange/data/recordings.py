"""Recordings as samples: of speech, cut to a length, as waveforms or as log-mel spectra; of motion, as
windows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from leakrange.data.columns import PACK_AGAIN, Columns
from leakrange.wire.errors import DataUnavailable

__all__ = [
    "FRAMES_PER_SECOND",
    "MELS",
    "Motion",
    "cut",
    "frames",
    "log_mel",
    "read_recording",
    "resampled",
    "windows",
]

MELS = 40
WINDOW_MS = 25
SHIFT_MS = 10
FRAMES_PER_SECOND = 1000 // SHIFT_MS
STEP = 1 / 64
"""Step to which log-mel values are rounded, so that the last digits of one processor's sums do not show."""


def read_recording(path: Path, rate: int) -> NDArray[np.int16]:
    """The samples (n,) of a mono recording of 16 bits, WAV or another format that soundfile reads.

    Raises `DataUnavailable` for a file that it cannot read, of several channels or of another rate.
    """
    soundfile = _package("soundfile")
    hint = "put a whole copy of the recording there, or delete it"
    try:
        samples, stored_rate = soundfile.read(path, dtype="int16", always_2d=True)
    except (OSError, soundfile.SoundFileError) as broken:
        raise DataUnavailable(f"{path} is no recording that can be read: {broken}", hint=hint) from broken
    if stored_rate != rate or samples.shape[1] != 1 or not len(samples):
        raise DataUnavailable(
            f"{path} has {len(samples)} samples, {samples.shape[1]} channels, {stored_rate} Hz; it should be "
            f"one channel at {rate} Hz",
            hint=hint,
        )
    return np.asarray(samples[:, 0], dtype=np.int16)


def resampled(recording: NDArray[np.int16], rate: int, new_rate: int) -> NDArray[np.int16]:
    """A recording (n,) at ``rate`` Hz at another rate, (⌈n · new_rate / rate⌉,). Pitches that do not fit into
    the new rate are filtered out."""
    signal = _package("scipy.signal")
    common = math.gcd(rate, new_rate)
    samples = signal.resample_poly(recording.astype(np.float64), new_rate // common, rate // common)
    limits = np.iinfo(np.int16)
    return np.asarray(np.clip(np.rint(samples), limits.min, limits.max), dtype=np.int16)


def cut(recordings: Iterable[NDArray[np.int16]], length: int) -> NDArray[np.int16]:
    """int16 (N, length): the first samples of each recording, shorter ones followed by silence."""
    listed = list(recordings)
    out = np.zeros((len(listed), length), dtype=np.int16)
    for row, recording in zip(out, listed, strict=True):
        row[: len(recording)] = recording[:length]
    return out


def frames(length: int, rate: int) -> int:
    """Number of frames that `log_mel` makes of so many samples."""
    return 1 + (length - rate * WINDOW_MS // 1000) // (rate * SHIFT_MS // 1000)


def log_mel(recordings: NDArray[np.int16], rate: int) -> NDArray[np.float32]:
    """Log-mel spectra, float32 (N, frames, `MELS`), of recordings (N, length).

    They are Kaldi's filter banks: windows of 25 ms every 10 ms, no dither, natural logarithms of energies of
    16-bit samples. Values below 0 (silence) become 0; others are rounded to 1/64.
    """
    fbank = _package("kaldi_native_fbank")
    options = fbank.FbankOptions()
    options.frame_opts.samp_freq = rate
    options.frame_opts.dither = 0.0
    options.frame_opts.frame_length_ms = WINDOW_MS
    options.frame_opts.frame_shift_ms = SHIFT_MS
    options.frame_opts.snip_edges = True
    options.mel_opts.num_bins = MELS
    out = np.empty((len(recordings), frames(recordings.shape[1], rate), MELS), dtype=np.float32)
    for spectra, recording in zip(out, recordings, strict=True):
        banks = fbank.OnlineFbank(options)
        banks.accept_waveform(rate, recording.astype(np.float32))
        banks.input_finished()
        for i, spectrum in enumerate(spectra):
            spectrum[:] = banks.get_frame(i)
    return np.round(np.maximum(out, 0.0) / STEP).astype(np.float32) * np.float32(STEP)


@dataclass(frozen=True)
class Motion:
    """What a sensor recorded of one person's activity. ``turn`` orders the recordings of one person and
    activity; ``signal``: (steps, channels)."""

    activity: int
    person: int
    turn: int | str
    signal: NDArray[Any]


def windows(
    recordings: Iterable[Motion], length: int, stride: int, place: Path
) -> tuple[NDArray[Any], NDArray[np.int64], Columns]:
    """Windows (N, length, channels) of recordings by activity, person and turn, one every ``stride`` steps;
    the number of the recording that each is of, int64 (N,); and its ``activity``, ``person`` and ``turn``. A
    shorter recording has none.

    Raises `DataUnavailable`, which names their ``place``, where no recording is as long.
    """
    ordered = sorted(recordings, key=lambda each: (each.activity, each.person, each.turn))
    long = [number for number, each in enumerate(ordered) if len(each.signal) >= length]
    if not long:
        raise DataUnavailable(f"{place}: no recording has {length} steps", hint=PACK_AGAIN)
    views = [sliding_window_view(ordered[number].signal, length, axis=0)[::stride] for number in long]
    group = np.repeat(long, [len(each) for each in views])
    facts = ("activity", "person", "turn")
    columns = {name: np.array([getattr(each, name) for each in ordered])[group] for name in facts}
    return np.ascontiguousarray(np.concatenate(views).transpose(0, 2, 1)), group, columns


def _package(name: str) -> Any:
    """Import a package only where it is used: planning with the labels of recordings works without it."""
    try:
        return import_module(name)
    except ImportError as missing:
        raise DataUnavailable(
            f"recordings are read with {name}, which is not installed", hint="pip install 'leakrange[models]'"
        ) from missing
