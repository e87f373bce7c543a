"""Traits of the drawn faces: people with fixed features, and features that vary from picture to picture."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from leakrange.data.faces.shapes import Array
from leakrange.data.samples import Attribute, by_name
from leakrange.data.splits import shuffled, stream

__all__ = ["FACE_ATTRIBUTES", "IDENTITIES", "Traits", "face_labels", "sample"]

SKIN = np.array([(0.97, 0.82, 0.71), (0.86, 0.64, 0.47), (0.62, 0.41, 0.28), (0.39, 0.25, 0.18)])
HAIR = np.array([(0.10, 0.09, 0.11), (0.38, 0.22, 0.12), (0.90, 0.74, 0.40), (0.74, 0.29, 0.10)])
EYES = np.array([(0.25, 0.14, 0.07), (0.20, 0.42, 0.66), (0.28, 0.48, 0.26), (0.42, 0.42, 0.45)])
FRAMES = np.array([(0.08, 0.08, 0.09), (0.34, 0.17, 0.10), (0.58, 0.10, 0.14), (0.13, 0.20, 0.46)])

IDENTITIES = 256
"""Number of people: eight of each of the 32 combinations of skin, hair and facial hair, which makes those
exactly independent."""

FACE_ATTRIBUTES = by_name(
    Attribute("age", ("young", "middle", "old"), "age band; changes from picture to picture"),
    Attribute("hair", ("black", "brown", "blond", "red"), "hair colour; fixed for a person"),
    Attribute("skin", ("light", "tan", "brown", "dark"), "skin tone; fixed for a person"),
    Attribute("skin-2", ("light", "dark"), "skin tone in two classes: light or tan, brown or dark"),
    Attribute("smile", ("neutral", "smiling"), "expression; changes from picture to picture"),
    Attribute("glasses", ("none", "glasses"), "changes from picture to picture"),
    Attribute("facial-hair", ("none", "beard"), "beard and moustache; fixed for a person"),
    Attribute("identity", tuple(f"person-{i:03d}" for i in range(IDENTITIES)), "who is drawn"),
)


@dataclass(frozen=True)
class Traits:
    """The features of n pictures; numbers are float32 (n, 1, 1), colours float32 (3, n, 1, 1). Lengths are in
    face units."""

    # The person's own.
    skin: Array
    hair: Array
    eyes: Array
    beard: Array
    style: Array
    width: Array
    height: Array
    taper: Array
    spacing: Array
    eye_size: Array
    brow: Array
    brow_tilt: Array
    nose: Array
    nose_width: Array
    mouth: Array
    hairline: Array
    parting: Array
    # The picture's.
    age: Array
    smile: Array
    opened: Array
    glasses: Array
    lens: Array
    frame: Array
    shirt: Array
    back_top: Array
    back_bottom: Array
    blob: Array
    blob_x: Array
    blob_y: Array
    blob_r: Array
    shift_x: Array
    shift_y: Array
    scale: Array
    tilt: Array
    turn: Array
    gaze: Array
    light_x: Array
    light_y: Array
    gain: Array
    warmth: Array
    grain: Array

    def rows(self, part: NDArray[np.intp]) -> Traits:
        """The features of some of the pictures."""
        # Colours carry the pictures in their second axis, numbers in their first.
        return Traits(**{f.name: getattr(self, f.name)[..., part, :, :] for f in fields(self)})


def sample(count: int, seed: int) -> tuple[Traits, dict[str, NDArray[np.int64]]]:
    """Features and labels (per attribute of `FACE_ATTRIBUTES` int64 (count,)) of ``count`` pictures.

    Every person gets equally many pictures, up to one. Age, smile and glasses are drawn for each picture
    independently.
    """
    person, shown = _people(seed), _Shown(count, seed)
    identity, choice, rng = shown.identity, shown.choice, shown.rng

    def between(low: float, high: float) -> Array:
        return _number(low + (high - low) * rng.random(count))

    def colour(low: float, high: float) -> Array:
        # Half way to grey: louder colours would outshine the face.
        grey, hue = rng.random((count, 1)), rng.random((count, 3))
        return _colour(low + (high - low) * (grey + hue) / 2)

    traits = Traits(
        **{name: values[..., identity, :, :] for name, values in person.values.items()},
        age=_number((shown.age + 0.3 * rng.random(count)) / 2.3),
        smile=_number(shown.smile),
        opened=between(0.0, 1.0),
        glasses=_number(shown.glasses),
        lens=between(0.85, 1.15),
        frame=_colour(FRAMES[choice(len(FRAMES))]),
        shirt=colour(0.1, 0.9),
        back_top=colour(0.15, 0.95),
        back_bottom=colour(0.15, 0.95),
        blob=colour(0.1, 0.95),
        blob_x=between(-1.0, 1.0),
        blob_y=between(-1.0, 1.0),
        blob_r=between(0.15, 0.5),
        shift_x=between(-0.09, 0.09),
        shift_y=between(0.0, 0.12),
        scale=between(0.70, 0.81),
        tilt=between(-0.07, 0.07),
        turn=between(-0.07, 0.07),
        gaze=between(-1.0, 1.0),
        light_x=between(-0.22, 0.22),
        light_y=between(-0.18, 0.06),
        gain=between(0.82, 1.12),
        warmth=between(-0.05, 0.05),
        grain=between(0.01, 0.05),
    )
    return traits, _labels(person, shown)


def face_labels(count: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """The labels of `sample`, without the features."""
    return _labels(_people(seed), _Shown(count, seed))


class _Shown:
    """The drawn labels of ``count`` pictures, int64 (count,) each. They are drawn before the features, which
    continue with ``rng``."""

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.rng = count, stream(seed, "picture")
        self.identity = shuffled(stream(seed, "who"), count).astype(np.int64) % IDENTITIES
        self.age, self.smile, self.glasses = self.choice(3), self.choice(2), self.choice(2)

    def choice(self, classes: int) -> NDArray[np.int64]:
        """One of the classes for each picture."""
        return (self.rng.random(self.count) * classes).astype(np.int64)


def _labels(person: _People, shown: _Shown) -> dict[str, NDArray[np.int64]]:
    return {
        "age": shown.age,
        "hair": person.hair[shown.identity],
        "skin": person.skin[shown.identity],
        "skin-2": person.skin[shown.identity] // 2,
        "smile": shown.smile,
        "glasses": shown.glasses,
        "facial-hair": person.beard[shown.identity],
        "identity": shown.identity,
    }


@dataclass(frozen=True)
class _People:
    values: dict[str, Array]
    skin: NDArray[np.int64]
    hair: NDArray[np.int64]
    beard: NDArray[np.int64]


def _people(seed: int) -> _People:
    rng = stream(seed, "people")
    combination = shuffled(rng, IDENTITIES).astype(np.int64)
    skin, hair, beard = combination % 4, combination // 4 % 4, combination // 16 % 2

    def between(low: float, high: float) -> Array:
        return _number(low + (high - low) * rng.random(IDENTITIES))

    def near(palette: NDArray[np.float64], index: NDArray[np.int64], spread: float) -> Array:
        return _colour(palette[index] + spread * (2 * rng.random((IDENTITIES, 1)) - 1))

    values = {
        "skin": near(SKIN, skin, 0.025),
        "hair": near(HAIR, hair, 0.03),
        "eyes": near(EYES, (rng.random(IDENTITIES) * len(EYES)).astype(np.int64), 0.03),
        "beard": _number(beard),
        "style": _number((rng.random(IDENTITIES) * 4).astype(np.int64)),
        "width": between(0.60, 0.72),
        "height": between(0.80, 0.90),
        "taper": between(0.08, 0.30),
        "spacing": between(0.25, 0.31),
        "eye_size": between(0.9, 1.1),
        "brow": between(0.022, 0.042),
        "brow_tilt": between(-0.05, 0.05),
        "nose": between(0.20, 0.32),
        "nose_width": between(0.08, 0.13),
        "mouth": between(0.20, 0.28),
        "hairline": between(0.42, 0.54),
        "parting": between(-0.35, 0.35),
    }
    return _People(values, skin, hair, beard)


def _number(values: NDArray[np.float64] | NDArray[np.int64]) -> Array:
    return values.astype(np.float32)[:, None, None]


def _colour(values: NDArray[np.float64]) -> Array:
    return np.clip(values, 0.0, 1.0).astype(np.float32).T[:, :, None, None]
