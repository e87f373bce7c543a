"""Spoken digits: from the packed file or the recordings, as spectra or as waveforms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from leakrange.data import load, load_labels
from leakrange.data.recordings import log_mel
from leakrange.data.sets.fsdd import ACCENT, ACCENTS, LENGTH, RATE, SPEAKERS
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from tests.data.labels import same_but_the_images
from tests.data.packing import Arrays, pack

TEST = 3
SAID = [(digit, speaker, take) for take in (0, 4, 5, 49) for speaker in range(6) for digit in (3, 8)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    return tmp_path


def noises() -> list[NDArray[np.int16]]:
    """A recording of another length and loudness for each that is `SAID`."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1200, 2 * LENGTH, len(SAID))
    return [(rng.standard_normal(n) * 40 * (i + 1)).astype(np.int16) for i, n in enumerate(lengths)]


def packed() -> Arrays:
    recordings = noises()
    digit, speaker, take = np.array(SAID, dtype=np.uint8).T
    return {
        "audio": np.concatenate(recordings),
        "offset": np.cumsum([0, *map(len, recordings)], dtype=np.int64),
        "digit": digit,
        "speaker": speaker,
        "take": take,
        "speakers": np.array(SPEAKERS),
        "accents": np.array(ACCENTS)[list(ACCENT)],
    }


def record(root: Path) -> Path:
    """The same in the layout of the repository."""
    folder = root / "fsdd" / "recordings"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("what lies beside the recordings is passed over")
    for (digit, speaker, take), noise in zip(SAID, noises(), strict=True):
        soundfile.write(folder / f"{digit}_{SPEAKERS[speaker]}_{take}.wav", noise, RATE, subtype="PCM_16")
    return folder


@pytest.mark.parametrize("name", ["fsdd", "fsdd-audio"])
def test_packed_and_recorded_digits_are_the_same(root: Path, name: str) -> None:
    file = pack(root, "fsdd", packed())
    first = load(DataSpec(name=name, validation=0.1))
    file.unlink()
    record(root)
    second = load(DataSpec(name=name, validation=0.1, limit=1000))
    assert second.fingerprint == first.fingerprint
    assert first.values.shape == (len(SAID), *first.spec.shape)
    assert first.values.dtype == np.float32
    same_but_the_images(load_labels(DataSpec(name=name, validation=0.1)), first)


def test_the_first_five_takes_are_test(root: Path) -> None:
    pack(root, "fsdd", packed())
    found = load(DataSpec(name="fsdd-audio"))
    ordered = sorted(SAID)
    said = list(zip(found.labels["digit"].tolist(), found.labels["speaker"].tolist(), strict=True))
    assert said == [(digit, speaker) for digit, speaker, _ in ordered]
    assert [split == TEST for split in found.split] == [take < 5 for _, _, take in ordered]
    accents = [found.attributes["accent"].classes[i] for i in found.labels["accent"]]
    assert accents[:1] == ["GRC/Greek"]
    assert set(accents) == set(ACCENTS)


def test_a_waveform_is_the_first_second_and_silence_after_it(root: Path) -> None:
    pack(root, "fsdd", packed())
    found = load(DataSpec(name="fsdd-audio"))
    assert found.spec.rate == RATE
    order = sorted(range(len(SAID)), key=lambda i: SAID[i])
    recordings = noises()
    for sample, place in zip(found.values, order, strict=True):
        heard = recordings[place][:LENGTH]
        np.testing.assert_array_equal(sample[: len(heard), 0] * 2**15, heard)
        assert not sample[len(heard) :].any()


def test_a_tone_sounds_in_its_own_bands() -> None:
    time = np.arange(LENGTH) / RATE
    tones = np.stack(
        [(8000 * np.sin(2 * np.pi * pitch * time)).astype(np.int16) for pitch in (300, 1000, 3000)]
    )
    spectra = log_mel(tones, RATE)
    assert spectra.shape == (3, 98, 40)
    loudest = spectra.mean(axis=1).argmax(axis=1)
    # 40 bands lie evenly between the mels of 20 Hz and 4 kHz (Kaldi's: 1127 ln(1 + f / 700)).
    mel = 1127 * np.log(1 + np.array([20, 4000, 300, 1000, 3000]) / 700)
    expected = (mel[2:] - mel[0]) / (mel[1] - mel[0]) * 41 - 1
    assert np.abs(loudest - expected).max() <= 1
    assert not log_mel(np.zeros((1, LENGTH), dtype=np.int16), RATE).any()
    np.testing.assert_array_equal(spectra * 64, np.round(spectra * 64))
    np.testing.assert_array_equal(log_mel(tones, RATE), spectra)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"speakers": np.array([*SPEAKERS[:5], "jason"])}, "'speakers' should name"),
        ({"digit": np.full(len(SAID), 10, dtype=np.uint8)}, "'digit' holds values outside 0..9"),
        ({"take": np.zeros(3, dtype=np.uint8)}, "not one each a recording"),
        ({"audio": np.zeros(10, dtype=np.int16)}, "offsets do not cut"),
    ],
    ids=["speakers", "digit", "take", "audio"],
)
def test_a_packed_file_of_another_layout(root: Path, change: Arrays, says: str) -> None:
    pack(root, "fsdd", packed() | change)
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name="fsdd"))


def test_recordings_that_do_not_belong(root: Path) -> None:
    folder = record(root)
    stranger = folder / "3_jason_0.wav"
    soundfile.write(stranger, noises()[0], RATE)
    with pytest.raises(DataUnavailable, match="recordings of jason"):
        load(DataSpec(name="fsdd"))
    stranger.unlink()
    for broken, says in ((b"RIFF", "no recording that can be read"), (None, "16000 Hz")):
        if broken is None:
            soundfile.write(folder / "3_theo_0.wav", noises()[0], 2 * RATE)
        else:
            (folder / "3_theo_0.wav").write_bytes(broken)
        with pytest.raises(DataUnavailable, match=f"3_theo_0.wav.*{says}"):
            load(DataSpec(name="fsdd"))
    soundfile.write(folder / "3_theo_0.wav", np.stack([noises()[0]] * 2, axis=1), RATE)
    with pytest.raises(DataUnavailable, match="2 channels"):
        load(DataSpec(name="fsdd-audio"))
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(DataUnavailable, match="holds no recordings"):
        load(DataSpec(name="fsdd"))
