"""What an edge client reads from its environment."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leakrange.wire.settings import ServiceSettings

__all__ = ["EdgeSettings"]


class EdgeSettings(ServiceSettings):
    """Beside where to listen: how many samples go through a model at once, and how many threads it may
    use.
    """

    max_batch: Annotated[int, Field(ge=1)] = 256
    """Most samples of one request, and of one upload."""
    threads: Annotated[int, Field(ge=1)] = 1
