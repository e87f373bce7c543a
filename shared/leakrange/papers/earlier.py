"""Figures of earlier versions of attacks: each of them is marked, and none is compared with one of another
version of the same attack.

Cells take hours of a GPU. Where an attack tells what its later versions changed, a page goes on showing the
cells that an earlier one has measured, as long as today's has not measured any of their row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from leakrange.jobs.versions import AttackVersion
from leakrange.papers.cells import Cell

__all__ = ["COLUMN", "VERSION", "marks", "sentences", "versions_differ"]

VERSION = "attack_version"
"""The name in a cell of the `AttackVersion` that measured it."""
COLUMN = "of an earlier version"
"""The title of the column that marks lines."""


def marks(cells: Iterable[Cell]) -> str:
    """The attacks whose earlier versions measured some of those cells, with these versions; empty where none
    did."""
    return ", ".join(sorted({f"{each.attack} {each.number}" for each in _earlier(cells)}))


def versions_differ(ahead: Sequence[Cell], behind: Sequence[Cell]) -> bool:
    """Whether an earlier version of an attack and another of the same attack measured the cells of two
    rows."""
    both = (*ahead, *behind)
    attacks = {each.attack for each in _earlier(both)}
    versions = {(each.attack, each.number) for each in _versions(both) if each.attack in attacks}
    return len(versions) > len(attacks)


def sentences(cells: Iterable[Cell]) -> list[str]:
    """What a page says of ``cells`` that earlier versions measured, each once: how many there are, what has
    been changed, and how to measure them anew. Empty without such cells."""
    counted = Counter(_earlier(cells))
    if not counted:
        return []
    texts = [
        f"{number} {'trial was' if number == 1 else 'trials were'} measured with version {each.number} of "
        f"{each.attack}, which is not today’s: since then {'; '.join(each.since)}"
        for each, number in sorted(counted.items(), key=lambda item: (item[0].attack, item[0].number))
    ]
    return [
        *texts,
        f"lines that hold such figures name the attack and its version under “{COLUMN}”, and pictures are "
        "drawn from these lines; this page’s command without --show measures them anew",
    ]


def _versions(cells: Iterable[Cell]) -> list[AttackVersion]:
    return [cell[VERSION] for cell in cells if VERSION in cell]


def _earlier(cells: Iterable[Cell]) -> list[AttackVersion]:
    return [each for each in _versions(cells) if each.since]
