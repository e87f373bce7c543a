"""Kinds of attack by name: one module for each.

Planner, fleet, controller and report know a kind by the interface `Kind` alone. So an attack of a new kind is
one module here (or in a package of the user's own) and the attack itself.
"""

from __future__ import annotations

from leakrange.attacks.attack import Attack
from leakrange.attacks.kinds.kind import Kind
from leakrange.metrics import Metric, described
from leakrange.registry import Registry

__all__ = ["Kind", "kind_of", "kinds", "leakage_of"]

kinds: Registry[type[Kind]] = Registry("kind of attack", "leakrange.attacks.kinds")


def kind_of(attack: type[Attack]) -> Kind:
    """The kind that an attack is of. Raises `UnknownName` where none has the name that it gives."""
    return kinds[attack.kind]()


def leakage_of(kind: str) -> Metric:
    """The metric that tells first of all how much an attack of that kind found out; of a kind that is not
    installed any more, one that no trial has."""
    entry = kinds.get(kind)
    return described(kind if entry is None else entry.leakage)
