"""Pictures of 8 bits a channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.pictures import PICTURES, read_picture, resized
from leakrange.wire.samples import Encoding, SampleSpec, encodings

__all__ = ["PictureEncoding"]

SHIFTS = ((0, 1), (0, -1), (1, 0), (-1, 0))
MOVES = ((True, 0, 0), *((mirrored, *shift) for shift in SHIFTS for mirrored in (False, True)))
"""Whether a variant is mirrored, and how many pixels it is moved down and to the right."""


@encodings.register("picture")
class PictureEncoding(Encoding):
    """Rows of pixels from above, of one to three channels; as files PNG or JPEG."""

    summary = "a picture of 8 bits a channel"
    axes = ("height", "width", "channels")
    layout = (0, 3, 1, 2)
    nets = ("hbc", "conv-2d", "mlp")
    small_nets = ("conv-2d", "mlp")
    federated_nets = ("tappfl-small", "tappfl-mlp")
    side = "pixels a side"
    files = PICTURES
    resizable = True
    pictured = True

    @classmethod
    def mistake(cls, spec: SampleSpec) -> str | None:
        """See `Encoding.mistake`: other types and more channels than a file of pixels holds."""
        if spec.dtype == "uint8" and spec.shape[2] <= 3:
            return None
        return "a picture has one to three channels of uint8"

    @classmethod
    def read_file(cls, file: bytes | memoryview, number: int, spec: SampleSpec) -> NDArray[np.uint8]:
        """See `leakrange.wire.pictures.read_picture`."""
        return read_picture(file, number, spec)

    @classmethod
    def fitted(cls, values: NDArray[Any], spec: SampleSpec) -> NDArray[Any]:
        """See `Encoding.fitted`."""
        return resized(values, spec.shape[0])

    @classmethod
    def variant(
        cls, sample: NDArray[Any], spec: SampleSpec, number: int, draw: np.random.Generator
    ) -> NDArray[Any]:
        """See `Encoding.variant`: the picture mirrored; then moved by one pixel, as it is and mirrored; then
        with noise."""
        if number > len(MOVES):
            return super().variant(sample, spec, number - len(MOVES), draw)
        mirrored, down, right = MOVES[number - 1]
        height, width, _ = sample.shape
        rows = np.clip(np.arange(height) - down, 0, height - 1)  # the edge is repeated
        columns = np.clip(np.arange(width) - right, 0, width - 1)
        return sample[rows][:, columns[::-1] if mirrored else columns]
