"""A data set of a shape that no built-in set has: twenty steps of five buoys."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from leakrange.data.catalogue import Content, DataSet, datasets
from leakrange.data.samples import Attribute
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec

SHAPE = (20, 5)


@datasets.register("buoys")
class Buoys(DataSet):
    """One wave at all buoys, higher or lower; the tide is called high above the middle height."""

    name = "buoys"
    description = "the height of the sea at five buoys"
    attributes = MappingProxyType({"tide": Attribute("tide", ("low", "high"))})
    spec = SampleSpec(encoding="series", shape=SHAPE, dtype="float32", rate=0.5)
    source = "drawn by a plugin"
    default_count = 600

    @classmethod
    def available(cls) -> str | None:
        return None

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        rng = np.random.default_rng(spec.seed)
        height = rng.uniform(-1.0, 1.0, spec.count or cls.default_count)
        wave = np.sin(np.arange(SHAPE[0])[:, None] / 3 + np.arange(SHAPE[1]))
        values = height[:, None, None] * (2 + wave) + rng.normal(0.0, 0.1, (len(height), *SHAPE))
        return Content(values=values.astype(np.float32), labels={"tide": (height > 0).astype(np.int64)})
