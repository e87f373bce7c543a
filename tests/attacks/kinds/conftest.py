"""Stored releases, and their reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.store.files import FolderStore
from leakrange.store.releases import StoredReleases


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(str(tmp_path))


@pytest.fixture
def releases(store: FolderStore) -> ReleaseStore:
    return StoredReleases(store)
