"""The games that devices play when they learn an extractor together: nets that help it, and one against
it."""

from __future__ import annotations

from typing import Literal

__all__ = ["CriticSize"]

CriticSize = Literal["small", "paper"]
"""Size of the nets that devices keep: see `leakrange.defences.games.critics`."""
