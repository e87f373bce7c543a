"""Data sets that a user imported: a packed file and a description, without code.

Each is a folder ``$LEAKRANGE_DATA/imported/<name>`` with ``description.json`` and ``samples.npz``, written by
`leakrange.data.importing`. They are listed by their descriptions alone, and come and go while a process runs.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from leakrange.data.catalogue import Content, DataSet, Outline, PlacedSet, datasets
from leakrange.data.packed import Arrays, Layout, layout_of, read_arrays
from leakrange.data.samples import Attribute, by_name
from leakrange.jobs.recipe import DataSpec
from leakrange.registry import Supply
from leakrange.strict import Strict
from leakrange.wire.disk import read_regular
from leakrange.wire.samples import SampleSpec

__all__ = ["DESCRIPTION", "FOLDER", "NAME", "SAMPLES", "Described", "Description", "ImportedSet", "label"]

FOLDER = "imported"
DESCRIPTION = "description.json"
SAMPLES = "samples.npz"
NAME = r"[a-z][a-z0-9_-]{0,62}"
MOST_BYTES = 32 * 2**20
"""Largest size of a description."""

Text = Annotated[str, Field(max_length=1024)]


class Described(Strict):
    """An attribute of an imported set."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    classes: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=256)], ...], Field(min_length=2)]
    description: Text = ""


class Description(Strict):
    """Facts about an imported set, its samples aside. ``digest``: SHA-256 (hex) of all that the packed file
    holds, and of the form of its samples and attributes."""

    format: Literal[1] = 1
    name: Annotated[str, Field(pattern=f"^{NAME}$")]
    description: Text
    source: Text
    sample: SampleSpec
    attributes: Annotated[tuple[Described, ...], Field(min_length=1)]
    rows: Annotated[int, Field(ge=1)]
    notes: tuple[Text, ...] = ()
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len({each.name for each in self.attributes}) != len(self.attributes):
            raise ValueError("two attributes have one name")
        return self


class ImportedSet(PlacedSet):
    """A set that was imported; each has a class of its own, made from its description."""

    official_split = True
    layouts = ((SAMPLES,),)
    rows: ClassVar[int]

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The unpacked file."""
        values: Layout = {"values": (cls.spec.dtype, 1 + len(cls.spec.shape))}
        arrays = read_arrays(paths[0], {**cls._layout(), **values})
        return cls._outline(arrays).with_values(arrays["values"])

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The file without its samples, which are not even read."""
        del spec
        return cls._outline(read_arrays(cls.files()[0], cls._layout()))

    @classmethod
    def _layout(cls) -> Layout:
        labels = dict.fromkeys(map(label, range(len(cls.attributes))), "int64")
        return layout_of(group="int64", official="uint8", **labels)

    @classmethod
    def _outline(cls, arrays: Arrays) -> Outline:
        labels = {name: arrays[label(number)] for number, name in enumerate(cls.attributes)}
        return Outline(labels=labels, group=arrays["group"], official=arrays["official"].astype(np.uint8))


def label(number: int) -> str:
    """The array of a packed file with the labels of its attribute of that number."""
    return f"label_{number}"


@datasets.source
def imported_sets() -> Supply[type[DataSet]]:
    """The imported sets of this machine by name, and what is broken of those that cannot be used."""
    root = os.environ.get("LEAKRANGE_DATA")
    entries: dict[str, type[DataSet]] = {}
    broken: list[str] = []
    for name, state in _folders(Path(root) / FOLDER) if root else ():
        try:
            entries[name] = _entry(str(root), name, state)
        except (OSError, ValueError) as error:
            broken.append(
                f"imported data set {name!r}: {DESCRIPTION} {_first_mistake(error)}; "
                f"remove the set (leakrange data remove {name}) and import it again"
            )
    return Supply(entries, tuple(broken))


def _folders(folder: Path) -> list[tuple[str, tuple[int, int]]]:
    """The names of sets in the folder, with time and size of their descriptions (zeros where there is
    none)."""
    try:
        with os.scandir(folder) as listed:
            names = sorted(each.name for each in listed if re.fullmatch(NAME, each.name) and each.is_dir())
    except OSError:  # nothing was imported, or nobody may look
        return []
    return [(name, _state(folder / name / DESCRIPTION)) for name in names]


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _entry(root: str, name: str, _state: tuple[int, int]) -> type[DataSet]:
    """The class of a set. Raises `OSError` or `ValueError` for a description that is missing or broken."""
    written = read_regular(Path(root) / FOLDER, f"{name}/{DESCRIPTION}", MOST_BYTES)
    described = Description.model_validate_json(written)
    if described.name != name:
        raise ValueError(f"describes a set named {described.name!r}")
    attributes = (Attribute(each.name, each.classes, each.description) for each in described.attributes)
    facts = {
        "__doc__": described.description,
        "__module__": __name__,
        "name": name,
        "folder": f"{FOLDER}/{name}",
        # Another content has another identity, so that nothing learnt from the old one is used again.
        "version": int(described.digest[:12], 16),
        "description": described.description,
        "attributes": by_name(*attributes),
        "spec": described.sample,
        "source": described.source,
        "notes": described.notes,
        "rows": described.rows,
    }
    return type(name, (ImportedSet,), facts)


def _first_mistake(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror or error})"
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"is broken ({place + ': ' if place else ''}{first['msg']})"
