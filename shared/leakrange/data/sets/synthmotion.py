"""Drawn motion: a series with something to ask and something to hide, without any file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, DataSet, Outline, datasets
from leakrange.data.samples import Attribute, by_name
from leakrange.data.splits import stream
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec

__all__ = ["SynthMotion"]

STEPS = 64
RATE = 32.0
LEVEL = 1 / 64
"""Step to which accelerations are rounded, as a sensor does."""
TEMPO = np.array([0.5, 1.5, 2.5, 4.0])
"""Tempo of each activity, in Hz."""
SHARPNESS = np.array([0.0, 0.6])
"""Strength of the second harmonic for each gait."""
NOISE = 0.25


@datasets.register("synthmotion")
class SynthMotion(DataSet):
    """Three axes of an invented wrist. The activity is the tempo; the hand turns the second axis round; the
    gait is the shape of the wave. The three are independent, and each sample has a phase, tempo, strength and
    noise of its own."""

    name = "synthmotion"
    description = "drawn motion of a wrist: activity, hand and gait are independent"
    attributes = by_name(
        Attribute("activity", ("rest", "walk", "climb", "run"), "told by the tempo"),
        Attribute("hand", ("left", "right"), "told by the direction of the second axis"),
        Attribute("gait", ("smooth", "sharp"), "told by the shape of the wave"),
    )
    spec = SampleSpec(encoding="series", shape=(STEPS, 3), dtype="float32", rate=RATE)
    source = "drawn by Leakrange from a seed; nobody moved"
    default_count = 4000
    notes = ("drawn motion: much easier than a sensor's",)

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """``spec.count`` series, the same for the same ``spec.seed``."""
        labels = _labels(spec)
        return Content(values=_drawn(labels, spec.seed), labels=labels)

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The labels of these series; nothing is drawn."""
        return Outline(labels=_labels(spec))


def _labels(spec: DataSpec) -> dict[str, NDArray[np.int64]]:
    count = spec.count or SynthMotion.default_count
    return {
        name: (stream(spec.seed, f"synthmotion {name}").random(count) * len(attribute.classes)).astype(
            np.int64
        )
        for name, attribute in SynthMotion.attributes.items()
    }


def _drawn(labels: dict[str, NDArray[np.int64]], seed: int) -> NDArray[np.float32]:
    """The series, (N, `STEPS`, 3)."""
    rng = stream(seed, "synthmotion waves")
    count = len(labels["activity"])
    phase, tempo, strength = (rng.random((count, 1)) for _ in range(3))
    noise = NOISE * (rng.random((count, STEPS, 3, 4)).sum(axis=-1) - 2)
    turns = TEMPO[labels["activity"]][:, None] * (0.85 + 0.3 * tempo) * np.arange(STEPS) / RATE + phase
    sharp = SHARPNESS[labels["gait"]][:, None]
    first = np.sin(2 * np.pi * turns) + sharp * np.sin(4 * np.pi * turns)
    second = np.sin(2 * np.pi * (turns + 0.25)) * np.where(labels["hand"] == 1, 1.0, -1.0)[:, None]
    third = 1.0 + 0.3 * np.sin(2 * np.pi * (turns + 0.4))
    series = (0.7 + 0.6 * strength)[..., None] * np.stack([first, second, third], axis=-1) + noise
    return np.asarray(np.round(series / LEVEL) * LEVEL, dtype=np.float32)
