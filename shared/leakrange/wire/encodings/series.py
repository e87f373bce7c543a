"""Values of one or more channels step by step: recordings of sound, of motion, spectra of speech.

As files they are WAV. Limits on everything besides the sound are checked before libsndfile reads them.
"""

from __future__ import annotations

import io
import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import BodyTooLarge, InvalidInput, MalformedBody, UnsupportedMedia
from leakrange.wire.samples import Encoding, SampleSpec, encodings

__all__ = ["SeriesEncoding"]

WAV = ("audio/wav", "audio/x-wav", "audio/vnd.wave")
SLOWEST: Final = 1000.0
"""Hz from which on a series is a sound."""
PLAIN: Final = ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT")
"""The allowed formats of stored values: whole numbers or floats, not packed."""
MAX_CHUNKS: Final = 64
MAX_EXTRAS: Final = 1_048_576
"""Bytes beside the sound: titles, markers, pictures."""


def _is_sound(spec: SampleSpec) -> bool:
    """Whether a WAV file can hold such a series: its rate must be a whole number."""
    rate = spec.rate or 0.0
    return rate >= SLOWEST and rate.is_integer()


def _check_fit(shape: tuple[int, int], rate: int, number: int, spec: SampleSpec) -> None:
    if rate != spec.rate:
        raise InvalidInput(
            f"recording {number} has {rate} Hz; the model takes {spec.rate:g}", hint="resample it"
        )
    if shape != spec.shape:
        raise InvalidInput(
            f"recording {number} has {shape[0]} steps of {shape[1]} channels; the model takes "
            f"{spec.shape[0]} of {spec.shape[1]}",
            hint="cut or pad it, and mix its channels, as the model's users do",
        )


def _check_chunks(file: bytes | memoryview, number: int) -> None:
    """Refuse a file that is no WAV file, or that holds too much beside its sound."""
    if file[:4] != b"RIFF" or file[8:12] != b"WAVE":
        raise MalformedBody(f"recording {number} is not a WAV file that can be read")
    place, chunks, extras = 12, 0, 0
    while place + 8 <= len(file):
        kind, length = struct.unpack_from("<4sI", file, place)
        chunks += 1
        if kind != b"data":
            extras += length
        if chunks > MAX_CHUNKS or extras > MAX_EXTRAS:
            raise BodyTooLarge(
                f"recording {number} holds too much beside its sound", hint="save it anew without metadata"
            )
        place += 8 + length + length % 2


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
        return cls.files if _is_sound(spec) else ()

    @classmethod
    def read_file(cls, file: bytes | memoryview, number: int, spec: SampleSpec) -> NDArray[np.float32]:
        """Read the values (steps, channels) in [-1, 1] of a WAV file, the ``number``-th of its request.

        Raises `UnsupportedMedia` without soundfile, `BodyTooLarge` for too much beside the sound,
        `InvalidInput` for another rate, length or number of channels, `MalformedBody`.
        """
        try:
            import soundfile
        except (ImportError, OSError) as error:  # OSError: it is there, but libsndfile is not
            raise UnsupportedMedia(
                "this server reads no WAV", hint="send npy, or have its operator install soundfile"
            ) from error
        _check_chunks(file, number)
        broken = MalformedBody(f"recording {number} is not a WAV file that can be read")
        try:
            with soundfile.SoundFile(io.BytesIO(bytes(file))) as sound:
                if sound.subtype not in PLAIN:
                    raise InvalidInput(
                        f"recording {number} is stored as {sound.subtype}", hint="save it as 16 bit PCM"
                    )
                _check_fit((sound.frames, sound.channels), sound.samplerate, number, spec)
                values: NDArray[np.float32] = sound.read(dtype="float32", always_2d=True)
        except soundfile.SoundFileError as error:
            raise broken from error
        if values.shape != spec.shape:
            raise broken
        return values
