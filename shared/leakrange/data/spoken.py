"""Sets of spoken digits: several takes by each of several speakers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, Outline, PlacedSet
from leakrange.data.columns import PACK_AGAIN, Columns, require_range
from leakrange.data.packed import NOTHING, Spelling, layout_of, read_arrays
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable

__all__ = ["SpokenSet", "packed_takes"]

TAKES = layout_of(digit="uint8", speaker="uint8", take="uint8")


class SpokenSet(PlacedSet):
    """Recordings by digit, speaker and take, whatever the order of the files."""

    person = "speaker"

    @classmethod
    @abstractmethod
    def takes(cls, paths: tuple[Path, ...]) -> NDArray[np.int64]:
        """Digit, number of the speaker, and take of each recording (N, 3), in the order of the files."""

    @classmethod
    @abstractmethod
    def samples(cls, paths: tuple[Path, ...], order: NDArray[np.intp]) -> NDArray[np.float32]:
        """The samples (N, *shape) in this order of the files."""

    @classmethod
    def columns(cls, takes: NDArray[np.int64], paths: tuple[Path, ...]) -> Columns:  # noqa: ARG003
        """The columns of the attributes for such takes (N, 3): ``digit`` and ``speaker``, unless a set
        overrides this."""
        return {"digit": takes[:, 0], "speaker": takes[:, 1]}

    @classmethod
    def official(cls, takes: NDArray[np.int64]) -> NDArray[np.uint8] | None:  # noqa: ARG003
        """The official split of such takes (N, 3), if there is one."""
        return None

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The recordings as samples."""
        outline, order = cls._ordered(paths)
        return outline.with_values(cls.samples(paths, order))

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The labels alone: no recording is decoded, and no package for sound is needed."""
        del spec
        return cls._ordered(cls.files())[0]

    @classmethod
    def _ordered(cls, paths: tuple[Path, ...]) -> tuple[Outline, NDArray[np.intp]]:
        takes = cls.takes(paths)
        order = np.lexsort(takes.T[::-1])
        takes = takes[order]
        labels = cls.labels(cls.columns(takes, paths))
        return Outline(labels=labels, official=cls.official(takes)), order


def packed_takes(path: Path, speakers: range, takes: int, spelling: Spelling = NOTHING) -> NDArray[np.int64]:
    """Digit, place among the file's numbers of ``speakers``, and take of each recording in a packed file,
    (N, 3). Raises `DataUnavailable` for other numbers, or arrays that differ in length."""
    arrays = read_arrays(path, TAKES, spelling)
    spans: Mapping[str, range] = {"digit": range(10), "speaker": speakers, "take": range(takes)}
    columns = [require_range(name, arrays[name], span[0], span[-1]) - span[0] for name, span in spans.items()]
    if len({len(column) for column in columns}) != 1 or not len(columns[0]):
        raise DataUnavailable(
            f"{path}: digit, speaker and take are not one each a recording", hint=PACK_AGAIN
        )
    return np.stack(columns, axis=1)
