"""Messages whose topic a provider is asked for, and whose writers give away where they live."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from leakrange.data.catalogue import Content, DataSet, datasets
from leakrange.data.samples import Attribute
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec
from messages.encoding import WORDS

LENGTH = 12
FILLERS = ("the", "a", "was", "and", "we", "today")
TOPICS = (("goal", "match", "team", "race"), ("soup", "bread", "dinner", "cheese"))
DIALECTS = (("lift", "biscuit"), ("elevator", "cookie"))


@datasets.register("messages")
class Messages(DataSet):
    """Six to ten fillers, one word of the topic, and one of the writer's dialect, in any order."""

    name = "messages"
    description = "short messages, drawn word by word"
    attributes = MappingProxyType(
        {"topic": Attribute("topic", ("sport", "food")), "writer": Attribute("writer", ("Leeds", "Boston"))}
    )
    spec = SampleSpec(encoding="tokens", shape=(LENGTH,), dtype="uint8")
    source = "drawn by a plugin"
    default_count = 1200

    @classmethod
    def available(cls) -> str | None:
        return None

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        rng = np.random.default_rng(spec.seed)
        count = spec.count or cls.default_count
        labels = {name: rng.integers(2, size=count) for name in cls.attributes}
        values = np.zeros((count, LENGTH), np.uint8)
        for ids, topic, writer in zip(values, labels["topic"], labels["writer"], strict=True):
            words = [rng.choice(TOPICS[topic]), rng.choice(DIALECTS[writer])]
            words += list(rng.choice(FILLERS, rng.integers(6, 11)))
            rng.shuffle(words)
            ids[: len(words)] = [WORDS.index(word) for word in words]
        return Content(values=values, labels=labels)
