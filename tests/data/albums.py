"""Drawn people's pictures in folders, as archives of photographs unpack."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from leakrange.data.faces.portrait import draw
from leakrange.data.faces.traits import sample
from leakrange.data.people import Casting

__all__ = ["CASTING", "COUNTS", "album", "lay", "shuffle_listings"]

CASTING = Casting(students=2, outsiders=3, public=4, fewest=3, plenty=6, most=7)
COUNTS = (8, 9, 6, 7, 6, 8, 6, 3, 4, 5, 3, 4, 2, 1)
"""Pictures of each person: seven have plenty, five some, two too few for `CASTING`."""


def album(folder: Path, count: int, seed: int, file: str = "{:04d}_01.jpg") -> None:
    """Put ``count`` drawn pictures, none like another, into a new folder; how ``file`` ends says which
    kind."""
    folder.mkdir(parents=True)
    traits, _ = sample(count, seed)
    for number, face in enumerate(draw(traits, 24, seed)):
        Image.fromarray(face).save(folder / file.format(number + 1))


def lay(folder: Path, people: Sequence[str], file: str = "{:04d}_01.jpg") -> None:
    """A folder for each of as many people as there are `COUNTS`; PERSON in ``file`` is the name."""
    for seed, (name, count) in enumerate(zip(people, COUNTS, strict=True)):
        album(folder / name, count, seed, file.replace("PERSON", name))


def shuffle_listings(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """As on a machine whose file system lists the same entries in another order."""
    listing = os.scandir
    order = np.random.default_rng(seed)

    class Shuffled:
        def __init__(self, path: Any) -> None:
            with listing(path) as entries:
                found = list(entries)
            self.entries = [found[i] for i in order.permutation(len(found))]

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(os, "scandir", Shuffled)
