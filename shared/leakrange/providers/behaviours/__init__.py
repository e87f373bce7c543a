"""Behaviours of a provider by name: how it trains the model that it serves. One file per registered behaviour."""

from __future__ import annotations

from leakrange.providers.behaviour import Behaviour
from leakrange.registry import Registry

__all__ = ["behaviours"]

behaviours: Registry[type[Behaviour]] = Registry("behaviour", "leakrange.providers.behaviours")
