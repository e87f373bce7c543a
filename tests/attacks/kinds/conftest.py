"""Stored releases, and their reader."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from leakrange.attacks.kinds.kind import Releases
from leakrange.store.files import FolderStore, joined


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(str(tmp_path))


@pytest.fixture
def releases(store: FolderStore) -> Releases:
    return partial(joined, store)
