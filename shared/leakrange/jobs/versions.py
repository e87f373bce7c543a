"""Declared versions: the part of an identity that stands for the code that makes a result.

Every registered data set, net, behaviour, trained defence, attack, kind of attack and metric declares
``version``; `LOOP_VERSION` is that of the shared training loop. Raise an entry's version when its results
change: its results are then made again, and all others keep their names. Golden tests fail where results
changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leakrange.registry import registry_at
from leakrange.strict import Strict

__all__ = ["DEFENCE", "LOOP_VERSION", "Versions", "raised"]

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


def raised(attack: str) -> dict[str, int]:
    """Return the versions above 1 of an attack and of its kind (``attack``, ``kind``), as the installed code
    declares them. First versions are left out: what was named before attacks had versions keeps its name."""
    entry = registry_at(*ATTACKS).get(attack)
    kind = None if entry is None else registry_at(*ATTACK_KINDS).get(entry.kind)
    declared = {"attack": entry, "kind": kind}
    return {part: each.version for part, each in declared.items() if each is not None and each.version > 1}


def _version(name: str, places: Sequence[tuple[str, str]]) -> int:
    """Return the version of the entry that is registered in one of these places; 0 if it is in none."""
    entries = (registry_at(*place).get(name) for place in places)
    return next((int(getattr(entry, "version", 0)) for entry in entries if entry is not None), 0)
