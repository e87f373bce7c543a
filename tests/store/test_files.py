"""Files: whole or not there, named by digests alone, never unpickled."""

import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from leakrange.store.files import FolderStore, get_array, get_arrays, put_array, put_arrays
from leakrange.wire.errors import InvalidInput, NotFound

DIGEST = "ab" * 32


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "made" / "when needed")


def test_what_was_put_is_what_one_gets(store: FolderStore) -> None:
    assert not store.exists(DIGEST)
    with pytest.raises(NotFound):
        store.get(DIGEST)
    store.put(DIGEST, b"one")
    store.put(DIGEST, b"two")
    store.put(f"{DIGEST}.npz", b"three")
    store.put(f"{DIGEST[:40]}/model.safetensors", b"four")
    assert store.get(DIGEST) == b"two"
    assert store.get(f"{DIGEST[:40]}/model.safetensors") == b"four"
    assert store.exists(DIGEST[:40])
    with pytest.raises(NotFound):
        store.get(DIGEST[:40])  # a folder
    with pytest.raises(NotFound):
        store.get(f"{DIGEST}/below-a-file")
    assert sorted(p.name for p in store.root.iterdir()) == [DIGEST[:40], DIGEST, f"{DIGEST}.npz"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "model",
        "abcdef",
        "../" + DIGEST,
        f"{DIGEST}/../../etc/passwd",
        f"/{DIGEST}",
        f"{DIGEST}/..",
        f"{DIGEST}/.hidden",
        f"{DIGEST}/a/b",
        f"{DIGEST}\n",
        f"{DIGEST}\0.npy",
        DIGEST.upper(),
        f"{DIGEST}.npy/",
        f"{DIGEST}0",
        "a\\b",
    ],
)
def test_names_that_are_no_digests_are_refused(store: FolderStore, name: str) -> None:
    for refused in (store.path, store.get, store.exists, lambda n: store.put(n, b"")):
        with pytest.raises(InvalidInput):
            refused(name)
    assert not store.root.exists()


@given(name=st.text(max_size=90))
@settings(max_examples=200)
def test_no_name_leaves_the_folder(name: str) -> None:
    root = Path("/nowhere/root")
    try:
        path = FolderStore(root).path(name)
    except InvalidInput:
        return
    assert Path(os.path.normpath(path)).is_relative_to(root)
    assert path != root


def test_a_reader_never_sees_half_a_file(store: FolderStore) -> None:
    contents = [bytes([i]) * 300_000 for i in range(4)]
    store.put(DIGEST, contents[0])
    stop = threading.Event()
    torn: list[bytes] = []

    def read() -> None:
        while not stop.is_set():
            found = store.get(DIGEST)
            if found not in contents:
                torn.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(60):
        store.put(DIGEST, contents[number % 4])
    stop.set()
    for reader in readers:
        reader.join()
    assert torn == []


def test_a_write_that_fails_leaves_the_old_and_no_litter(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(DIGEST, b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.put(DIGEST, b"new")
    with pytest.raises(OSError, match="No space"):
        store.put_folder(DIGEST[:32], {"model.safetensors": b"new"})
    assert store.get(DIGEST) == b"old"
    assert [p.name for p in store.root.iterdir()] == [DIGEST]


def test_a_folder_appears_whole_and_the_first_stays(store: FolderStore) -> None:
    store.put_folder(DIGEST, {"config.json": b"{}", "model.safetensors": b"weights"})
    store.put_folder(DIGEST, {"config.json": b"other"})
    assert store.get(f"{DIGEST}/config.json") == b"{}"
    assert store.get(f"{DIGEST}/model.safetensors") == b"weights"
    with pytest.raises(InvalidInput):
        store.put_folder(DIGEST[:32], {"../escaped": b""})
    assert [p.name for p in store.root.iterdir()] == [DIGEST]


@given(
    array=hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.int64, np.uint8, np.bool_]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    )
)
@settings(max_examples=50, deadline=None)
def test_arrays_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray) -> None:
    store = FolderStore(tmp_path_factory.getbasetemp() / "arrays")
    put_array(store, f"{DIGEST}.npy", array)
    put_arrays(store, f"{DIGEST}.npz", {"a": array, "b": array[..., None]})
    found = get_array(store, f"{DIGEST}.npy")
    many = get_arrays(store, f"{DIGEST}.npz")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    assert sorted(many) == ["a", "b"]
    np.testing.assert_array_equal(many["a"], array)
    np.testing.assert_array_equal(many["b"], array[..., None])


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("/tmp/leakrange-was-unpickled",)


def test_objects_are_neither_written_nor_read(store: FolderStore, tmp_path: Path) -> None:
    objects = np.array([Bomb()], dtype=object)
    for write in (
        lambda: put_array(store, f"{DIGEST}.npy", objects),
        lambda: put_arrays(store, f"{DIGEST}.npz", {"a": objects}),
    ):
        with pytest.raises(ValueError, match="allow_pickle"):
            write()
    np.save(tmp_path / "bomb.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "bomb.npz", a=objects, allow_pickle=True)
    bodies = [(tmp_path / "bomb.npy").read_bytes(), (tmp_path / "bomb.npz").read_bytes()]
    for body in [*bodies, pickle.dumps(Bomb()), b"", b"nonsense", b"PK\x03\x04"]:
        store.put(DIGEST, body)
        with pytest.raises(InvalidInput):
            get_array(store, DIGEST)
        with pytest.raises(InvalidInput):
            get_arrays(store, DIGEST)
    assert not Path("/tmp/leakrange-was-unpickled").exists()
