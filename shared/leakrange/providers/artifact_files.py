"""The files of a trained model's folder, read and held against its record. Imports no torch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import structlog

from leakrange.wire.errors import InvalidArtifact

__all__ = ["CLASSIFIER", "DECODER", "DIGESTS", "RECORD", "ArtifactFiles", "find", "find_whole", "read_files"]

log = structlog.get_logger("leakrange.providers.artifacts")

CLASSIFIER = "classifier.safetensors"
DECODER = "decoder.safetensors"
RECORD = "training.json"
DIGESTS = {"sha256": CLASSIFIER, "decoder_sha256": DECODER}
"""Of which file each digest of a record is."""


@dataclass(frozen=True)
class ArtifactFiles:
    """What lies in an artifact folder. ``sha256`` is that of the ``classifier``."""

    classifier: bytes
    decoder: bytes | None
    record: dict[str, Any]
    sha256: str


def find(root: Path, digest: str) -> Path | None:
    """The artifact folder of a recipe digest, or None."""
    folder = root / digest
    return folder if (folder / RECORD).is_file() else None


def find_whole(
    root: Path, digest: str, set_aside: Callable[[str], object] = lambda _digest: None
) -> Path | None:
    """As `find`, but None for a damaged artifact too: ``set_aside`` is called with its digest, so that it can
    be trained anew instead of failing every later run."""
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


def read_files(folder: Path) -> ArtifactFiles:
    """Read an artifact folder; raises `InvalidArtifact`, naming the file, where one is missing or not what
    the record says."""
    try:
        record = orjson.loads((folder / RECORD).read_bytes())
        if not isinstance(record, dict):
            raise _damaged(folder / RECORD, "it is no record")
        public = (folder / CLASSIFIER).read_bytes()
        private = (folder / DECODER).read_bytes() if (folder / DECODER).exists() else None
    except orjson.JSONDecodeError as error:
        raise _damaged(folder / RECORD, f"it cannot be read: {error}") from error
    except OSError as error:
        raise _damaged(Path(error.filename or folder), f"it cannot be read: {error.strerror}") from error
    sha256 = hashlib.sha256(public).hexdigest()
    if record.get("sha256") != sha256:
        raise _damaged(folder / CLASSIFIER, "it is not the one that its record names")
    # Records of earlier versions say nothing of the decoder.
    known = record.get("decoder_sha256")
    if known is not None and (private is None or hashlib.sha256(private).hexdigest() != known):
        raise _damaged(folder / DECODER, "it is not the one that its record names")
    return ArtifactFiles(public, private, record, sha256)


def _damaged(file: Path, reason: str) -> InvalidArtifact:
    return InvalidArtifact(
        f"{file} is damaged: {reason}",
        hint="run the scenario again: a damaged model is trained again",
    )
