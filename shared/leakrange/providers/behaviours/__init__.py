"""Behaviours of a provider by name: the ways to train the model that it serves. One file per registered
behaviour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakrange.registry import Registry

if TYPE_CHECKING:
    from leakrange.providers.behaviour import Behaviour

__all__ = ["behaviours"]

behaviours: Registry[type[Behaviour]] = Registry("behaviour", "leakrange.providers.behaviours")
