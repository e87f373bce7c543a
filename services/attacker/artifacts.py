"""The models that are trained already, and whole."""

from __future__ import annotations

from pathlib import Path

import structlog

from leakrange.providers.artifact_files import find, read_files
from leakrange.store.files import FolderStore
from leakrange.wire.errors import InvalidArtifact

__all__ = ["find_whole"]

log = structlog.get_logger("leakrange.attacker.artifacts")


def find_whole(root: Path, digest: str) -> Path | None:
    """The artifact folder of a recipe digest, or None. A damaged one is set aside, so that it is trained anew
    instead of failing every later run."""
    folder = find(root, digest)
    if folder is None:
        return None
    try:
        read_files(folder)
    except InvalidArtifact as error:
        log.warning("a damaged model is trained again", reason=error.detail)
        FolderStore(root).damaged(digest)
        return None
    return folder
