"""Attacks by name. A new one is one file, here or in a package of the user's own."""

from __future__ import annotations

from leakrange.attacks.attack import Attack, Evidence, Inference
from leakrange.registry import Registry

__all__ = ["Attack", "Evidence", "Inference", "attacks"]

attacks: Registry[type[Attack]] = Registry("attack", "leakrange.attacks")
