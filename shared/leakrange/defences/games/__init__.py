"""The games that devices play when they learn an extractor together: who helps it, and who is against it."""

from __future__ import annotations

from typing import Literal

__all__ = ["CriticSize"]

CriticSize = Literal["small", "paper"]
"""Which of the nets that devices keep: see `leakrange.defences.games.critics`."""
