"""Attacks by name. A new one is one file, here or in a package of the user's own."""

from __future__ import annotations

from typing import Any

from leakrange.attacks.arrays import inferred
from leakrange.attacks.attack import Attack, Evidence, Inference
from leakrange.registry import Registry

__all__ = ["Attack", "Evidence", "Inference", "attack_with", "attacks"]

attacks: Registry[type[Attack]] = Registry("attack", "leakrange.attacks")


def attack_with(name: str, /, **given: Any) -> Any:
    """Make the registered attack ``name`` from arrays, without a range, and return what it infers: scores
    (N,), higher for members, or what else its ``on_arrays`` says.

    ``given`` are the fields of its ``arrays``, as far as it reads them, and its parameters. What follows from
    the others may be left out: the number of classes, what samples look like, the axis of a single query.
    ``help(attacks["lira"].arrays)`` says what each argument is.

    Raises `InvalidInput`, with what to do, for an unknown attack or argument, for one that is missing, for
    arrays that do not fit, and for values that are not finite.
    """
    return inferred(attacks, name, given)
