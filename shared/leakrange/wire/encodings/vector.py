"""Numbers side by side, in no particular order."""

from __future__ import annotations

from leakrange.wire.samples import Encoding, encodings

__all__ = ["VectorEncoding"]


@encodings.register("vector")
class VectorEncoding(Encoding):
    """Entries without names; a CSV numbers them from 0."""

    summary = "numbers without names, such as the features of another net"
    axes = ("entries",)
    layout = (0, 1)
    nets = ("mlp",)
    rows = True
