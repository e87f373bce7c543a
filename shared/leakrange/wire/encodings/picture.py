"""Pictures of 8 bits a channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.pictures import PICTURES, read_picture, resized
from leakrange.wire.samples import Encoding, SampleSpec, encodings

__all__ = ["PictureEncoding"]


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
