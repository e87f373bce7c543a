"""What many fits need is made by one of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.store.files import FolderStore
from leakrange.store.releases import StoredReleases
from leakrange.store.uploads import put_session, session_stored
from leakrange.wire.errors import DamagedFile

NAME = "ab" * 32


def test_of_many_who_need_it_one_makes_it(tmp_path: Path) -> None:
    made: list[int] = []
    every = threading.Barrier(5)

    def make() -> dict[str, NDArray[np.float64]]:
        made.append(threading.get_ident())
        return {"mean": np.arange(3.0), "rank": np.asarray(len(made))}

    def need(_: int) -> list[float]:
        every.wait()
        found = StoredReleases(FolderStore(tmp_path)).once(NAME, make)
        return [*found["mean"].tolist(), float(found["rank"])]

    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(need, range(5))) == [[0.0, 1.0, 2.0, 1.0]] * 5
    assert len(made) == 1


@pytest.mark.parametrize("puts", [0, 1, 2, 3])
def test_a_session_is_stored_when_all_of_it_is(puts: int, tmp_path: Path) -> None:
    """Whoever stores it may be killed after any of its files."""

    class Killed(FolderStore):
        left = puts

        def put(self, name: str, content: bytes) -> None:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            super().put(name, content)

    store = Killed(tmp_path)
    with suppress(KeyboardInterrupt):
        put_session(store, NAME, np.zeros((2, 3)), [0, 1], samples=np.ones((2, 4), dtype=np.float32))
    assert session_stored(store, NAME) == (puts == 3)


def test_what_is_damaged_or_was_never_finished_is_made_again(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    releases = StoredReleases(store)

    def fails() -> dict[str, NDArray[np.float64]]:
        raise DamagedFile("the data is damaged")

    with pytest.raises(DamagedFile, match="the data"):
        releases.once(NAME, fails)
    assert releases.once(NAME, lambda: {"a": np.ones(2)})["a"].tolist() == [1.0, 1.0]
    store.path(f"{NAME}.npz").write_bytes(b"half of it")
    assert releases.once(NAME, lambda: {"a": np.zeros(1)})["a"].tolist() == [0.0]


def test_a_lock_that_leads_elsewhere_empties_nothing(tmp_path: Path) -> None:
    store, database = FolderStore(tmp_path / "releases"), tmp_path / "leakrange.db"
    store.root.mkdir()
    database.write_bytes(b"all runs")
    (store.root / f".{NAME}.lock").symlink_to(database)
    with pytest.raises(OSError, match="symbolic link"):
        StoredReleases(store).once(NAME, lambda: {"a": np.ones(2)})
    assert database.read_bytes() == b"all runs"


def test_a_fit_of_another_version_makes_its_own(tmp_path: Path) -> None:
    """Of each version once: the second time ``make`` is not asked."""
    stores = {
        version: StoredReleases(FolderStore(tmp_path), {"attack": version} if version > 1 else {})
        for version in (1, 2, 3)
    }
    for _ in range(2):
        for version, releases in stores.items():
            made = releases.once(NAME, lambda version=version: {"of": np.asarray(version)})  # type: ignore[misc]
            assert made["of"] == version
    assert len(list(tmp_path.glob("*.npz"))) == 3
