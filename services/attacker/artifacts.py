"""Models that are trained already, with all of their files intact."""

from __future__ import annotations

from pathlib import Path

from leakrange.providers import artifact_files
from leakrange.store.files import FolderStore


def find_whole(root: Path, digest: str) -> Path | None:
    """The artifact folder of a recipe digest, or None. A damaged one is set aside."""
    return artifact_files.find_whole(root, digest, FolderStore(root).damaged)
