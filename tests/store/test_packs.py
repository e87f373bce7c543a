"""Packs: many small arrays in one object, found by their identities as before."""

from __future__ import annotations

import hashlib
import io
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.store import files, packs
from leakrange.store.buckets import BucketStore
from leakrange.store.files import FolderStore, ObjectStore, get_array, joined, put_array, whole
from leakrange.wire.errors import NotFound
from tests.store.s3 import S3Server

CHUNKS = [hashlib.sha256(bytes([number])).hexdigest() for number in range(40)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server("nanio", tmp_path_factory.mktemp("nanio"))
    yield server
    server.kill()


@pytest.fixture(params=["folder", "s3"])
def store(
    request: pytest.FixtureRequest, server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ObjectStore:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return again(
        FolderStore(tmp_path) if request.param == "folder" else BucketStore("leak", tmp_path.name.lower())
    )


def again(store: ObjectStore) -> ObjectStore:
    """The same store as another process sees it."""
    return FolderStore(store.root) if isinstance(store, FolderStore) else BucketStore("leak", store.prefix)


def answers(number: int) -> NDArray[np.float32]:
    return np.full((3, 2), number, np.float32)


def fill(store: ObjectStore, numbers: range = range(40)) -> None:
    for number in numbers:
        put_array(store, f"{CHUNKS[number]}.npy", answers(number))


def single(store: ObjectStore) -> list[int]:
    return [number for number, each in enumerate(CHUNKS) if store.there(f"{each}.npy")]


def test_packed_arrays_are_read_as_before_and_lie_singly_no_more(store: ObjectStore) -> None:
    fill(store)
    other = again(store)
    before = joined(other, [[each] for each in CHUNKS])
    assert store.pack(CHUNKS) == 40
    assert single(store) == []
    for reader in (store, other, again(store)):
        assert np.array_equal(joined(reader, [[each] for each in CHUNKS]), before)
        assert whole(reader, f"{CHUNKS[7]}.npy")
        assert np.array_equal(joined(reader, [[CHUNKS[5]], [CHUNKS[3]]])[:, 0], [5, 5, 5, 3, 3, 3])
    assert store.pack(CHUNKS) == 0
    with pytest.raises(NotFound):
        get_array(store, f"{hashlib.sha256(b'never asked').hexdigest()}.npy")


def test_a_larger_budget_adds_to_what_is_packed(store: ObjectStore) -> None:
    fill(store, range(20))
    assert store.pack(CHUNKS[:20]) == 20
    fill(store, range(20, 40))
    assert store.pack(CHUNKS) == 20
    assert len([name for name in store.names("packs") if name.endswith(".npz")]) == 2
    assert joined(again(store), [[each] for each in CHUNKS]).shape == (120, 2)


def test_few_arrays_are_left_alone(store: ObjectStore) -> None:
    fill(store, range(files.FEWEST - 1))
    assert store.pack(CHUNKS[: files.FEWEST - 1]) == 0
    assert single(store) == list(range(files.FEWEST - 1))


def test_a_chunk_that_is_delivered_again_harms_nothing(store: ObjectStore) -> None:
    fill(store)
    store.pack(CHUNKS)
    fill(store, range(2, 3))
    assert np.array_equal(get_array(again(store), f"{CHUNKS[2]}.npy"), answers(2))
    assert store.pack(CHUNKS) == 0


def test_packs_have_a_bound(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST", 16)
    fill(store)
    assert store.pack(CHUNKS) == 32  # the eight that remain are too few
    assert len(single(store)) == 8
    assert joined(again(store), [[each] for each in CHUNKS]).shape == (120, 2)


def test_what_was_stored_before_there_were_packs_stays_readable(tmp_path: Path) -> None:
    fill(FolderStore(tmp_path))
    assert not (tmp_path / "packs").exists()
    assert joined(FolderStore(tmp_path), [[each] for each in CHUNKS]).shape == (120, 2)


@pytest.mark.parametrize("damage", ["cut", "bit", "bomb", "gone"])
def test_what_a_damaged_pack_held_is_made_again(tmp_path: Path, damage: str) -> None:
    store = FolderStore(tmp_path)
    fill(store)
    store.pack(CHUNKS)
    [pack] = (tmp_path / "packs").glob("*.npz")
    content = bytearray(pack.read_bytes())
    if damage == "gone":
        pack.unlink()
    elif damage == "bomb":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in CHUNKS:
                archive.writestr(f"{each}.npy", bytes(10_000))
        pack.write_bytes(stream.getvalue())
    else:
        at = content.index(answers(4).tobytes())
        content[at] ^= 1
        pack.write_bytes(content[:at] if damage == "cut" else content)
    other = again(store)
    assert not whole(other, f"{CHUNKS[4]}.npy")
    assert whole(other, f"{CHUNKS[5]}.npy") == (damage == "bit")
    put_array(other, f"{CHUNKS[4]}.npy", answers(4))
    assert np.array_equal(get_array(other, f"{CHUNKS[4]}.npy"), answers(4))


@pytest.mark.parametrize("written", [0, 1, 2])
def test_a_packer_that_is_killed_loses_nothing(tmp_path: Path, written: int) -> None:
    store = FolderStore(tmp_path)
    fill(store)
    script = (
        "import os, signal, sys; from leakrange.store.files import FolderStore\n"
        "class Dying(FolderStore):\n"
        "    left = int(sys.argv[2])\n"
        "    def put(self, name, content):\n"
        "        if not self.left: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        self.left -= 1; super().put(name, content)\n"
        "    def remove(self, names):\n"
        "        super().remove(list(names)[:3]); os.kill(os.getpid(), signal.SIGKILL)\n"
        "Dying(sys.argv[1]).pack(sys.argv[3:])"
    )
    command = [sys.executable, "-c", script, str(tmp_path), str(written), *CHUNKS]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert len(single(store)) == (37 if written == 2 else 40)
    assert joined(again(store), [[each] for each in CHUNKS]).shape == (120, 2)
    again(store).pack(CHUNKS)
    assert joined(again(store), [[each] for each in CHUNKS]).shape == (120, 2)


def test_numpy_opens_a_pack(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    fill(store)
    store.pack(CHUNKS)
    [pack] = (tmp_path / "packs").glob("*.npz")
    with np.load(pack) as arrays:
        assert list(arrays) == CHUNKS
        assert np.array_equal(arrays[CHUNKS[9]], answers(9))


def test_a_process_keeps_few_packs_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST", 16)
    store = FolderStore(tmp_path)
    fill(store)
    store.pack(CHUNKS)
    monkeypatch.setattr(packs, "KEPT", 1)
    reads: list[str] = []
    reader = FolderStore(tmp_path)
    seen = reader._packs._read
    monkeypatch.setattr(reader._packs, "_read", lambda name: (reads.append(name), seen(name))[1])
    joined(reader, [[each] for each in CHUNKS[:32]])
    assert sorted(name.rpartition(".")[2] for name in reads) == ["ids", "ids", "npz", "npz"]
