"""What many fits need is made by one of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.store.files import FolderStore
from leakrange.store.releases import StoredReleases
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
