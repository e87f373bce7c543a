"""Declared versions: the part of an identity that stands for the code that makes a result.

Every registered data set, net, behaviour, trained defence, attack, kind of attack and metric declares
``version``; `LOOP_VERSION` is that of the shared training loop. Raise an entry's version when its results
change: what it made is then made again, and all else keeps its name. Golden tests fail where results changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from leakrange.registry import registry_at

__all__ = ["DEFENCE", "LOOP_VERSION", "Versions", "raised"]

LOOP_VERSION = 1
"""Of all that every training shares: the loop, the splits and scaling of data, losses, optimiser, layers."""

KINDS = {
    "data": ("leakrange.data.catalogue", "datasets"),
    "net": ("leakrange.nets", "nets"),
    "trainer": ("leakrange.providers.behaviours", "behaviours"),
}
"""Where the entries that a recipe names are registered."""
DEFENCE = "defence/"
"""What the trainer's name begins with where a defence is trained."""
DEFENCES = (
    ("leakrange.defences.input", "input_defences"),
    ("leakrange.defences.representation", "representation_defences"),
)
"""Where those are registered."""
ATTACKS = ("leakrange.attacks", "attacks")
ATTACK_KINDS = ("leakrange.attacks.kinds", "kinds")


class Versions(BaseModel):
    """The versions behind one recipe; 0 for an unregistered entry, whose parameters contain its version."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: int
    net: int
    trainer: int
    loop: int

    @classmethod
    def declared(cls, data: str, net: str, trainer: str) -> Versions:
        """The versions that the installed code declares for a data set, a net, and a behaviour or defence."""
        named = {"data": data, "net": net, "trainer": trainer.removeprefix(DEFENCE)}
        places: Mapping[str, Sequence[tuple[str, str]]] = {kind: (place,) for kind, place in KINDS.items()}
        if trainer.startswith(DEFENCE):
            places = {**places, "trainer": DEFENCES}
        found = {kind: _version(name, places[kind]) for kind, name in named.items()}
        return cls(**found, loop=LOOP_VERSION)


def raised(attack: str) -> dict[str, int]:
    """The versions above 1 of an attack and of its kind (``attack``, ``kind``), as the installed code
    declares them. First versions are left out: what was named before attacks had versions keeps its name."""
    entry = registry_at(*ATTACKS).get(attack)
    kind = None if entry is None else registry_at(*ATTACK_KINDS).get(entry.kind)
    declared = {"attack": entry, "kind": kind}
    return {part: each.version for part, each in declared.items() if each is not None and each.version > 1}


def _version(name: str, places: Sequence[tuple[str, str]]) -> int:
    """That of the entry, which is registered in one of these places; 0 where it is in none."""
    entries = (registry_at(*place).get(name) for place in places)
    return next((int(getattr(entry, "version", 0)) for entry in entries if entry is not None), 0)
