"""The form of a format of model files: how it is recognised, checked and run."""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.foreign.card import FileCard
from leakrange.wire.errors import InvalidArtifact

__all__ = ["MOST_BYTES", "FileFormat", "FileNet", "as_numbers", "first_line", "members"]

MOST_BYTES = 2**30
"""The most bytes of a file, and of everything in it when it is unpacked."""
MOST_MEMBERS = 20_000
"""The most files in an archive."""

FileNet = Callable[[NDArray[Any]], NDArray[Any]]
"""Maps what a file takes (B, ...) to what it gives, (B, ...) numbers of any floating type. May raise
anything."""


class FileFormat(ABC):
    """A format of model files. The class itself is used: it is never instantiated."""

    name: ClassVar[str]
    title: ClassVar[str]
    file: ClassVar[str]
    """The name of such a file in the folder where it is kept."""
    packages: ClassVar[tuple[str, ...]]
    """The modules that must be importable to read it."""

    @classmethod
    @abstractmethod
    def holds(cls, content: bytes) -> bool:
        """Return whether ``content`` looks like this format."""

    @classmethod
    def needs_trust(cls, content: bytes) -> bool:  # noqa: ARG003
        """Return whether opening ``content`` can run code of its maker; raises `InvalidArtifact` for a
        damaged file."""
        return False

    @classmethod
    def sealed(cls, content: bytes, folder: Path) -> bytes:  # noqa: ARG003
        """Return the file with everything in it that lies beside it in ``folder``; raises
        `InvalidArtifact`."""
        return content

    @classmethod
    @abstractmethod
    def net(cls, content: bytes, card: FileCard, *, trusted: bool, threads: int) -> FileNet:
        """Open a sealed file for so many ``threads``. Raises `InvalidArtifact` for a file that does not fit
        the ``card``, and for one that needs trust and is not ``trusted``: that one is not opened."""

    @classmethod
    def require(cls) -> None:
        """Raise `InvalidArtifact` where a package of the format is missing."""
        missing = [package for package in cls.packages if find_spec(package) is None]
        if missing:
            raise InvalidArtifact(
                f"a model in {cls.title} needs {' and '.join(missing)}, which this environment does not have",
                hint="pip install 'leakrange[model-files]' where the model is added and where it is served",
            )


def members(content: bytes) -> list[str]:
    """The names in a zip archive; none where ``content`` is no archive. Raises `InvalidArtifact` for one that
    is damaged or unpacks to more than a model may have."""
    if not content.startswith(b"PK"):
        return []
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise InvalidArtifact(
            f"the file is a damaged or truncated archive: {first_line(error)}", hint="copy or save it again"
        ) from error
    size = sum(entry.file_size for entry in entries)
    if size > MOST_BYTES or len(entries) > MOST_MEMBERS:
        raise InvalidArtifact(
            f"the file unpacks to {size:,} bytes in {len(entries):,} parts; at most {MOST_BYTES:,} bytes in"
            f" {MOST_MEMBERS:,} parts are read",
            hint="take a smaller model",
        )
    return [entry.filename for entry in entries]


def first_line(error: BaseException) -> str:
    """The first line of an error's message, of at most 300 characters, else its type."""
    return (str(error).strip().partition("\n")[0] or type(error).__name__)[:300]


def as_numbers(value: Any, what: str) -> NDArray[np.float32]:
    """The float32 array of what a file has given; raises `InvalidArtifact` for anything but numbers with
    a first axis of samples. ``what`` names it."""
    array = np.asarray(value)
    if array.dtype.kind != "f" or array.ndim < 1:
        raise InvalidArtifact(
            f"{what} gives {array.dtype} of shape {array.shape}, and not numbers with a fraction",
            hint="name an output that gives scores or vectors, not labels",
        )
    return array.astype(np.float32)
