"""Declared versions: the part of an identity that stands for the code that makes a result.

Every registered data set, net, behaviour, trained defence, attack, kind of attack and metric declares
``version``; `LOOP_VERSION` is that of the shared training loop. Raise an entry's version when its results
change: its results are then made again, and all others keep their names. Golden tests fail where results
changed. An attack may tell of a version what it changed (see `VersionChange`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leakrange.registry import registry_at
from leakrange.strict import Strict

__all__ = [
    "DEFENCE",
    "LOOP_VERSION",
    "AttackVersion",
    "VersionChange",
    "Versions",
    "attack_versions",
    "raised",
]

LOOP_VERSION = 1
"""Of all that every training shares: the loop, the splits and scaling of data, losses, optimiser, layers."""

KINDS = {
    "data": ("leakrange.data.catalogue", "datasets"),
    "net": ("leakrange.nets", "nets"),
    "trainer": ("leakrange.providers.behaviours", "behaviours"),
}
"""The registries of the entries that a recipe names."""
DEFENCE = "defence/"
"""The prefix of the trainer's name if a defence is trained."""
DEFENCES = (
    ("leakrange.defences.input", "input_defences"),
    ("leakrange.defences.representation", "representation_defences"),
)
"""The registries of trained defences."""
ATTACKS = ("leakrange.attacks", "attacks")
ATTACK_KINDS = ("leakrange.attacks.kinds", "kinds")


class Versions(Strict):
    """The versions behind one recipe; 0 for an unregistered entry, whose parameters contain its version."""

    data: int
    net: int
    trainer: int
    loop: int

    @classmethod
    def declared(cls, data: str, net: str, trainer: str) -> Versions:
        """Return the versions that the installed code declares for a data set, a net, and a behaviour or
        defence."""
        named = {"data": data, "net": net, "trainer": trainer.removeprefix(DEFENCE)}
        places: Mapping[str, Sequence[tuple[str, str]]] = {kind: (place,) for kind, place in KINDS.items()}
        if trainer.startswith(DEFENCE):
            places = {**places, "trainer": DEFENCES}
        versions = {kind: _version(name, places[kind]) for kind, name in named.items()}
        return cls(**versions, loop=LOOP_VERSION)


@dataclass(frozen=True)
class VersionChange:
    """What a version of an attack changed, so that a page may go on showing figures of the version before.

    ``text`` is a clause that follows "since then": "it reads ...". ``where`` are the trials whose figures
    can differ: the values of parameters, and of ``release``, that these have; None stands for one that a
    trial leaves at its default. Without ``where`` all figures can differ.
    """

    text: str
    where: Mapping[str, Collection[Any]] = field(default_factory=dict)

    def concerns(self, given: Mapping[str, Any]) -> bool:
        """Whether figures of a trial with the ``given`` parameters and ``release`` can differ."""
        return all(given.get(name) in values for name, values in self.where.items())


@dataclass(frozen=True)
class AttackVersion:
    """The version ``number``, at least 1, of an ``attack``, and what has been changed ``since``: nothing
    where its figures are those of the installed code."""

    attack: str
    number: int
    since: tuple[str, ...] = ()


def attack_versions(attack: str, given: Mapping[str, Any]) -> list[AttackVersion]:
    """Return the versions of an attack whose figures of a trial may be shown, the latest first, where the
    trial has the ``given`` parameters and ``release``.

    The first one gives the figures of the installed code: the latest version that changed such a trial's. The
    others are all before it, down to the first change that was not told.
    """
    entry = registry_at(*ATTACKS).get(attack)
    shown: list[AttackVersion] = []
    since: tuple[str, ...] = ()
    for number in range(1 if entry is None else entry.version, 0, -1):
        change = None if entry is None else entry.changes.get(number)
        if change is None or change.concerns(given):
            shown.append(AttackVersion(attack, number, since))
        if change is None:
            break
        if change.concerns(given):
            since = (change.text, *since)
    return shown


def raised(attack: str, version: int | None = None) -> dict[str, int]:
    """Return the versions above 1 of an attack and of its kind (``attack``, ``kind``), as the installed code
    declares them, or with another ``version`` of the attack. First versions are left out: what was named
    before attacks had versions keeps its name."""
    entry = registry_at(*ATTACKS).get(attack)
    if entry is None:
        return {}
    kind = registry_at(*ATTACK_KINDS).get(entry.kind)
    numbers = {"attack": version or entry.version, "kind": 1 if kind is None else kind.version}
    return {part: number for part, number in numbers.items() if number > 1}


def _version(name: str, places: Sequence[tuple[str, str]]) -> int:
    """Return the version of the entry that is registered in one of these places; 0 if it is in none."""
    entries = (registry_at(*place).get(name) for place in places)
    return next((int(getattr(entry, "version", 0)) for entry in entries if entry is not None), 0)
