"""The bases of data sets: facts that can be listed without loading a set, and a method that reads its
content."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.columns import Columns, labels_of
from leakrange.data.samples import Attribute
from leakrange.jobs.recipe import DataSpec
from leakrange.registry import Registry
from leakrange.wire.errors import DataUnavailable, InvalidInput
from leakrange.wire.samples import SampleSpec, encodings

__all__ = ["Content", "DataSet", "GivenSet", "Outline", "PlacedSet", "datasets"]


@dataclass(frozen=True, kw_only=True)
class Outline:
    """Facts about a set's N samples without their values, before split and limit are applied.

    labels: per attribute int64 (N,), -1 where unknown. group: int64 (N,), equal for near-copies (None: every
    sample its own). official: uint8 (N,), an index into `SPLITS` where the set has an official split (train,
    validation or test), else None.
    """

    labels: Mapping[str, NDArray[np.int64]]
    group: NDArray[np.int64] | None = None
    official: NDArray[np.uint8] | None = None
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(next(iter(self.labels.values())))

    def with_values(self, values: NDArray[Any]) -> Content:
        """The outline together with the samples ``values`` (N, *shape)."""
        return Content(**vars(self), values=values)


@dataclass(frozen=True, kw_only=True)
class Content(Outline):
    """A set's samples, before size, split and limit are applied. values: (N, *shape), of the dtype and shape
    of the set's `SampleSpec`; pictures may have another size."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)


class DataSet(ABC):
    """A registered data set. The class itself is the entry: it is never instantiated, and importing it
    loads nothing.

    To add one, put a file into ``leakrange/data/sets`` with a subclass under ``@datasets.register(name)``. A
    table (`leakrange.data.tables.TableSet`), a packed file (`leakrange.data.packed.PackedSet`) and a set on
    the Hugging Face hub (`leakrange.data.hub.HubSet`) are declared, by attributes that name their columns
    (`leakrange.data.columns`), and need no code of their own.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised when the set gives other samples or labels than before: see `leakrange.jobs.versions`."""
    description: ClassVar[str]
    attributes: ClassVar[Mapping[str, Attribute]]
    spec: ClassVar[SampleSpec]
    """Form of a sample. A specification may ask for pictures of another size."""
    source: ClassVar[str]
    """Origin and licence of the set."""
    official_split: ClassVar[bool] = False
    person: ClassVar[str | None] = None
    """The attribute that names the person of a sample, where people have several samples."""
    bundled: ClassVar[bool] = False
    """Whether an installed package brings the samples of a given set."""
    undivided: ClassVar[bool] = False
    """Whether no person is in two splits; otherwise splits only keep near-copies together."""
    default_count: ClassVar[int | None] = None
    """Samples drawn when the specification names no count; None for given sets, which refuse a count."""
    notes: ClassVar[tuple[str, ...]] = ()
    """Facts that readers of results have to know; `Samples.notes` begins with these."""

    @classmethod
    def sized(cls, size: int | None) -> SampleSpec:
        """What a sample of this size looks like (None: the set's own size). Raises `InvalidInput` where
        samples are not `resizable`."""
        try:
            return cls.spec if size is None else cls.spec.resized(size)
        except ValueError as error:
            raise InvalidInput(f"data set {cls.name!r}: {error}", hint="leave out 'size'") from error

    @classmethod
    def resizable(cls) -> bool:
        """Whether a specification may choose the size of the samples."""
        return encodings[cls.spec.encoding].resizable

    @classmethod
    def sample(cls, spec: DataSpec) -> SampleSpec:
        """What a sample of the specification looks like, whose size counts where samples are `resizable`."""
        return cls.sized(spec.size if cls.resizable() else None)

    @classmethod
    def procedural(cls) -> bool:
        """Whether the samples are drawn (then ``count`` and ``seed`` decide the content) or given."""
        return cls.default_count is not None

    @classmethod
    def identities(cls) -> bool:
        """Whether the set names the person shown (attribute ``identity``)."""
        return "identity" in cls.attributes

    @classmethod
    def available(cls) -> str | None:
        """None where the set can be loaded here, as a drawn set always can, else the reason and a remedy.
        Reads no content."""
        return None

    @classmethod
    def drawn(cls, drawing: NDArray[np.uint8], digit: int) -> Content | None:  # noqa: ARG003
        """The sample of a visitor's drawing, (H, W) of 0 (no ink) to 255, with its labels if it shows that
        ``digit``; None where samples are not drawn by hand. Raises `InvalidInput` for an empty drawing."""
        return None

    @classmethod
    @abstractmethod
    def read(cls, spec: DataSpec) -> Content:
        """Read the content at the native size, or at ``spec.size`` if that is how it is drawn.

        Raises `DataUnavailable` when a file is missing, broken or not of the documented layout.
        """

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The content of `read` without the values; for planning, which needs the number of samples. Raises
        as `read` does. A set overrides this if it need not draw or decode its samples for it."""
        return cls.read(spec)


class GivenSet(DataSet):
    """A set whose content does not depend on the specification."""

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """`content`, whatever the specification."""
        del spec
        return cls.content()

    @classmethod
    @abstractmethod
    def content(cls) -> Content:
        """All samples at the native size. Raises `DataUnavailable` as `read` does."""

    @classmethod
    def labels(cls, columns: Columns) -> dict[str, NDArray[np.int64]]:
        """Labels per attribute, int64 (N,), from the columns of the set's files, as the attributes declare
        it. Raises `DataUnavailable` for values that a column cannot have."""
        return labels_of(cls.attributes, columns)


class PlacedSet(GivenSet):
    """A set whose files lie in ``$LEAKRANGE_DATA/<folder>``, in one of several layouts.

    Every layout gives the same samples in the same order, so the fingerprint does not show which was read.
    """

    folder: ClassVar[str]
    layouts: ClassVar[tuple[tuple[str, ...], ...]]
    """The layouts of the set's files, each a tuple of file or folder names. The first complete one is
    read."""

    @classmethod
    def available(cls) -> str | None:
        """None where the files of a layout exist (whether they are whole shows when they are loaded)."""
        if cls._present() is not None:
            return None
        files = " or ".join(" and ".join(f"{cls.folder}/{name}" for name in names) for names in cls.layouts)
        root = os.environ.get("LEAKRANGE_DATA")
        if not root:
            return f"set LEAKRANGE_DATA to the folder that holds {files}"
        return (
            f"there is no {files} in {root}; put it there, or point LEAKRANGE_DATA at the folder that has it"
        )

    @classmethod
    def content(cls) -> Content:
        """The samples, cached until the files change."""
        paths = cls.files()
        status = [path.stat() for path in paths]
        return _opened(cls, paths, tuple((each.st_mtime_ns, each.st_size) for each in status))

    @classmethod
    def files(cls) -> tuple[Path, ...]:
        """The files to read. Raises `DataUnavailable` where no layout is complete."""
        paths = cls._present()
        if paths is None:
            raise DataUnavailable(f"data set {cls.name!r} cannot be loaded: {cls.available()}")
        return paths

    @classmethod
    def _present(cls) -> tuple[Path, ...] | None:
        root = os.environ.get("LEAKRANGE_DATA")
        if not root:
            return None
        candidates = (tuple(Path(root) / cls.folder / name for name in names) for names in cls.layouts)
        return next((paths for paths in candidates if all(path.exists() for path in paths)), None)

    @classmethod
    @abstractmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The samples in these files of one layout. Raises `DataUnavailable` for a file that is broken or of
        another layout."""


@lru_cache(maxsize=2)
def _opened(entry: type[PlacedSet], paths: tuple[Path, ...], _state: tuple[tuple[int, int], ...]) -> Content:
    return entry.opened(paths)


datasets: Registry[type[DataSet]] = Registry("data set", "leakrange.data.sets")
