"""Updates of which a part was not shared."""

from __future__ import annotations

import numpy as np

from leakrange.federation.updates import Arrays

__all__ = ["filled"]


def filled(sent: Arrays, received: Arrays) -> Arrays:
    """The update with what was ``sent`` wherever exactly 0 was ``received``: as good as no parameter is 0 by
    training, so a device that prunes has not shared it, and its move is unknown."""
    return {name: np.where(array == 0, sent[name], array) for name, array in received.items()}
