"""Pictures with facts about them, given one by one, whatever they lie in: folders, tars, columns of a table.

No picture is opened before its turn, and none is kept open.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.folders import decoded

__all__ = ["ENDINGS", "LARGEST", "Album", "AlbumPicture"]

ENDINGS = (".jpeg", ".jpg", ".png", ".webp")
FORMATS = ("JPEG", "PNG", "WEBP")
LARGEST = 64 * 2**20
"""Bytes in one picture's file."""


@dataclass(frozen=True)
class AlbumPicture:
    """A picture that is not opened yet. name: for messages. file: where it lies, or its bytes. label: its
    class as its place says, "" for none. facts: cells of the columns that it has, by name."""

    name: str
    file: Path | bytes
    facts: Mapping[str, str]
    label: str = ""

    def pixels(self) -> NDArray[np.uint8]:
        """uint8 (H, W, 3). Raises `DataUnavailable` for a broken file."""
        file = io.BytesIO(self.file) if isinstance(self.file, bytes) else self.file
        return decoded(file, self.name, FORMATS)


class Album(ABC):
    """Pictures in an order that does not vary. kind: what they lie in. labelled: whether a picture's place
    says a class."""

    kind: str
    labelled: ClassVar[bool] = True

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The columns that pictures have facts in, as far as they are known: when all pictures were given,
        all of them."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know beside the preview's figures."""
        return ()

    @abstractmethod
    def pictures(self) -> Iterator[AlbumPicture]:
        """All pictures. Raises `InvalidInput` for what is broken, and, in the end at the latest, for columns
        that are asked for and are not there."""
