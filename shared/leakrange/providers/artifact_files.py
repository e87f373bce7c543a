"""The files of a trained model's or defence's folder: writing, reading, and checking them against their
record. Imports no torch."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import orjson
import structlog
from pydantic import BaseModel, Field, ValidationError, model_validator

from leakrange.wire.disk import read_regular, room_in
from leakrange.wire.errors import InvalidArtifact

__all__ = [
    "CLASSIFIER",
    "DECODER",
    "DEFENCE",
    "RECORD",
    "ArtifactFiles",
    "Kind",
    "find",
    "find_whole",
    "installed",
    "read_files",
    "write_files",
]

log = structlog.get_logger("leakrange.providers.artifacts")

CLASSIFIER = "classifier.safetensors"
DECODER = "decoder.safetensors"
RECORD = "training.json"
DEFENCE = "defence.safetensors"
Kind = Literal["provider", "defence"]
MOST_BYTES = 2**30
"""The most bytes of one file; larger files are not read."""
MAIN: dict[Kind, str] = {"provider": CLASSIFIER, "defence": DEFENCE}
"""The kinds of artifacts, each with the file that it must have."""


@dataclass(frozen=True)
class ArtifactFiles:
    """The files of an artifact folder, by the names in its ``record``."""

    kind: Kind
    files: dict[str, bytes]
    record: dict[str, Any]

    @property
    def main(self) -> bytes:
        """The file of the trained thing itself: of a provider, the classifier's."""
        return self.files[MAIN[self.kind]]

    @property
    def decoder(self) -> bytes | None:
        """The file of a provider's decoder, if it has one."""
        return self.files.get(DECODER)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the ``main`` file."""
        digest: str = self.record["files"][MAIN[self.kind]]
        return digest


def write_files(root: Path, digest: str, kind: Kind, files: dict[str, bytes], facts: dict[str, Any]) -> Path:
    """Write the artifact folder of a recipe digest, and give its path: ``files`` by name, and a record of
    ``facts``, the kind and the files' digests.

    The folder appears under its name complete, by a rename; an existing folder is left as it is. Raises
    `StorageFull`.
    """
    folder = root / digest
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    record = {"kind": kind, "files": digests, **facts}
    with room_in(root):
        _store({**files, RECORD: orjson.dumps(record, option=orjson.OPT_INDENT_2)}, folder)
    return folder


def _store(files: dict[str, bytes], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name[:12]}-", dir=folder.parent))
    try:
        for name, content in files.items():
            _write(staging / name, content)
        try:
            staging.rename(folder)
        except OSError:
            if not (folder / RECORD).is_file():
                raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def find(root: Path, digest: str) -> Path | None:
    """The artifact folder of a recipe digest; None where there is none."""
    folder = root / digest
    return folder if (folder / RECORD).is_file() else None


def find_whole(
    root: Path, digest: str, set_aside: Callable[[str], object] = lambda _digest: None
) -> Path | None:
    """The artifact folder of a recipe digest; None where there is none or it is damaged.

    ``set_aside`` is called with the digest of a damaged one, so that it can be trained anew; otherwise every
    later run would fail on it.
    """
    folder = find(root, digest)
    if folder is None:
        return None
    try:
        read_files(folder)
    except InvalidArtifact as error:
        log.warning("a damaged model is trained again", reason=error.detail)
        set_aside(digest)
        return None
    return folder


def installed() -> dict[str, str]:
    """The versions of the software that trains, for a record."""
    versions = {"python": platform.python_version()}
    for package in ("leakrange", "torch", "numpy", "safetensors"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that was never installed
            versions[package] = "unknown"
    return versions


def read_files(folder: Path, kind: Kind | None = None) -> ArtifactFiles:
    """Read an artifact folder. Raises `InvalidArtifact`, naming the file, where one is missing or not the one
    in the record, and where the artifact is not of ``kind`` (None: any kind)."""
    try:
        parsed = orjson.loads(_read(folder, RECORD))
        if isinstance(parsed, dict) and "kind" not in parsed:
            raise InvalidArtifact(
                f"{folder}: an older Leakrange wrote this model file; train or download the model again"
            )
        record = _Record.model_validate(parsed)
        files = {name: _read(folder, name) for name in record.files}
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise _damaged(folder / RECORD, f"it cannot be read: {_reason(error)}") from error
    except OSError as error:
        # Files are opened from their folder, so that an error has the last part of the path alone.
        name = Path(error.filename or folder).name
        file = folder if name == folder.name else folder / name
        raise _damaged(file, f"it cannot be read: {error.strerror}") from error
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != record.files[name]:
            raise _damaged(folder / name, "it is not the one that its record names")
    if kind is not None and record.kind != kind:
        raise InvalidArtifact(f"{folder} holds a trained {record.kind}, and not a {kind}")
    return ArtifactFiles(record.kind, files, parsed)


def _read(folder: Path, name: str) -> bytes:
    return read_regular(folder.parent, f"{folder.name}/{name}", MOST_BYTES)


class _Record(BaseModel):
    """The part of a record that decides which files are read. A file name never leads out of the folder."""

    kind: Kind
    files: dict[Annotated[str, Field(pattern=r"^[a-z]+\.safetensors$")], str]

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if MAIN[self.kind] not in self.files:
            raise ValueError(f"a trained {self.kind} has a file {MAIN[self.kind]}")
        return self


def _reason(error: orjson.JSONDecodeError | ValidationError) -> str:
    """The mistakes in a record, without its contents."""
    if isinstance(error, ValidationError):
        mistakes = error.errors(include_input=False, include_url=False)
        return "; ".join(f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}" for mistake in mistakes)
    return str(error)


def _damaged(file: Path, reason: str) -> InvalidArtifact:
    return InvalidArtifact(
        f"{file} is damaged: {reason}",
        hint="run the scenario again: a damaged model is trained again",
    )
