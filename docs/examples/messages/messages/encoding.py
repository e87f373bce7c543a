"""An encoding that the range does not have: short texts, as the numbers of their words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput, MalformedBody
from leakrange.wire.samples import Encoding, SampleSpec, encodings

__all__ = ["WORDS", "Tokens"]

WORDS = (
    *("", "<unknown>", "the", "a", "was", "and", "we", "today", "goal", "match", "team", "race"),
    *("soup", "bread", "dinner", "cheese", "lift", "biscuit", "elevator", "cookie"),
)
"""A token id is a place in this vocabulary. The first fills texts up, the second is any other word."""


@encodings.register("tokens")
class Tokens(Encoding):
    """Token ids in a row, filled up with zeros; as files plain text."""

    summary = "a short text as token ids"
    axes = ("tokens",)
    layout = (0, 1)
    side = "tokens"
    nets = ("bag-of-words",)
    files = ("text/plain",)

    @classmethod
    def mistake(cls, spec: SampleSpec) -> str | None:
        if spec.dtype == "uint8" and (spec.scale, spec.offset) == (1.0, 0.0):
            return None
        return "token ids are uint8, and a net gets them as they are"

    @classmethod
    def read_file(cls, file: bytes | memoryview, number: int, spec: SampleSpec) -> NDArray[Any]:
        try:
            words = bytes(file).decode().lower().split()
        except UnicodeDecodeError as error:
            raise MalformedBody(f"text {number} is not UTF-8", hint="save it as UTF-8") from error
        if len(words) > spec.shape[0]:
            raise InvalidInput(
                f"text {number} has {len(words)} words; the model takes {spec.shape[0]} at most",
                hint="shorten it",
            )
        ids = np.zeros(spec.shape, np.uint8)
        ids[: len(words)] = [WORDS.index(word) if word in WORDS else 1 for word in words]
        return ids
