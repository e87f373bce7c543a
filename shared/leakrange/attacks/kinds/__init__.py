"""Kinds of attack by name: one module for each.

Planner, fleet, controller and report use a kind only through the interface `Kind`. So a new kind of attack is
one module here, or in a package of the user's own, and the attack itself.
"""

from __future__ import annotations

from leakrange.attacks.attack import Attack
from leakrange.attacks.kinds.kind import Kind
from leakrange.metrics import Metric, described
from leakrange.registry import Registry

__all__ = ["Kind", "kind_of", "kinds", "leakage_of"]

kinds: Registry[type[Kind]] = Registry("kind of attack", "leakrange.attacks.kinds")


def kind_of(attack: type[Attack]) -> Kind:
    """The kind of an attack. Raises `UnknownName` where no kind has the name that the attack gives."""
    return kinds[attack.kind]()


def leakage_of(kind: str) -> Metric:
    """The name of the main leakage metric of that kind of attack; for a kind that is no longer installed, a
    name that no trial has."""
    entry = kinds.get(kind)
    return described(kind if entry is None else entry.leakage)
