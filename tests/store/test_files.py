"""Files: whole or not there, named by digests alone, never unpickled."""

import gc
import os
import pickle
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from leakrange.store.files import FolderStore, get_array, get_arrays, put_array, put_arrays, whole
from leakrange.wire.errors import DamagedFile, InvalidInput, NotFound, StorageFull
from tests.disks import fill, small_disk

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


def test_what_is_put_and_its_name_are_forced_to_the_disk(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[tuple[bool, bool]] = []

    def watched(descriptor: int) -> None:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        forced.append((folder, store.exists(DIGEST)))
        fsync(descriptor)

    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", watched)
    store.put(DIGEST, b"one")
    assert forced == [(False, False), (True, True)]  # the file before it has its name, then its folder


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
    with pytest.raises(StorageFull):
        store.put(DIGEST, b"new")
    assert store.get(DIGEST) == b"old"
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
        for get in (get_array, get_arrays):
            store.put(DIGEST, body)
            with pytest.raises(InvalidInput):
                get(store, DIGEST)
    assert not Path("/tmp/leakrange-was-unpickled").exists()


NAMES = [f"{DIGEST}.npy", f"{DIGEST}.npz"]
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "zeros": lambda content: bytes(len(content)),
}


def stored(store: FolderStore, name: str) -> None:
    values = np.arange(150.0).reshape(50, 3)
    put_array(store, name, values) if name.endswith("npy") else put_arrays(store, name, {"values": values})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_and_set_aside_to_be_made_again(
    store: FolderStore, name: str, damage: str
) -> None:
    stored(store, name)
    assert whole(store, name)
    for _ in range(2):
        path = store.path(name)
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
        with pytest.raises(DamagedFile, match=f"{path} is damaged, and was set aside as {name}.damaged"):
            get_array(store, name) if name.endswith("npy") else get_arrays(store, name)
        assert not store.exists(name)
        assert (store.root / f"{name}.damaged").exists()
        stored(store, name)
    assert whole(store, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_look_is_enough_to_have_it_made_again(store: FolderStore, name: str) -> None:
    assert not whole(store, name)
    stored(store, name)
    path = store.path(name)
    path.write_bytes(path.read_bytes()[:-9])
    assert not whole(store, name)
    assert not store.exists(name)


def test_a_header_that_promises_what_is_not_there_is_damage(store: FolderStore) -> None:
    stored(store, NAMES[0])
    path = store.path(NAMES[0])
    path.write_bytes(path.read_bytes().replace(b"(50, 3)", b"(2**40,"))
    assert not whole(store, NAMES[0])


def test_a_damaged_folder_is_set_aside_as_a_whole(store: FolderStore) -> None:
    for _ in range(2):
        store.put(f"{DIGEST}/training.json", b"{")
        assert f"{store.root / DIGEST} is damaged" in store.damaged(DIGEST).detail
        assert not store.exists(DIGEST)
    assert (store.root / f"{DIGEST}.damaged" / "training.json").read_bytes() == b"{"


def linked(path: Path, elsewhere: Path) -> None:
    elsewhere.write_bytes(SECRET)
    path.symlink_to(elsewhere)


def linked_folder(path: Path, elsewhere: Path) -> None:
    elsewhere.mkdir()
    for name in (path.name, f"{DIGEST}.npy"):
        (elsewhere / name).write_bytes(SECRET)
    path.parent.rmdir()
    path.parent.symlink_to(elsewhere)


SECRET = b"what another party holds"
LURES: dict[str, Callable[[Path, Path], None]] = {
    "a link": linked,
    "a link to a folder": linked_folder,
    "a link to what has no end": lambda path, _: path.symlink_to("/dev/zero"),
    "a pipe that nobody writes to": lambda path, _: os.mkfifo(path),
}


@pytest.mark.parametrize("lure", LURES)
def test_what_another_party_lays_out_leads_nowhere(tmp_path: Path, lure: str) -> None:
    """Whoever may write to the folder may not have a reader open what lies elsewhere, or hold it up."""
    store, elsewhere = FolderStore(tmp_path / "store"), tmp_path / "elsewhere"
    name = f"{DIGEST}/{DIGEST}.npy" if "folder" in lure else f"{DIGEST}.npy"
    path = store.root / name
    path.parent.mkdir(parents=True)
    LURES[lure](path, elsewhere)
    with pytest.raises(DamagedFile, match="was set aside") as caught:
        store.get(name)
    assert SECRET.decode() not in str(caught.value)
    assert not store.exists(name)
    if elsewhere.is_file():
        assert elsewhere.read_bytes() == SECRET
    store.put(f"{DIGEST}.npy", b"made again")
    assert store.get(f"{DIGEST}.npy") == b"made again"


def test_a_folder_that_is_a_link_itself_is_its_owners_choice(tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    (tmp_path / "releases").symlink_to(tmp_path / "large disk")
    store = FolderStore(tmp_path / "releases")
    store.put(DIGEST, b"one")
    assert store.get(DIGEST) == b"one"


def test_a_full_disk_is_named_and_leaves_nothing_half(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        store = FolderStore(disk / "releases")
        stored(store, NAMES[0])
        filler = fill(disk)
        with pytest.raises(StorageFull, match=f"disk is full.*{store.root}") as caught:
            store.put(NAMES[1], bytes(100_000))
        assert "free" in str(caught.value.hint)
        assert [path.name for path in store.root.iterdir()] == [NAMES[0]]
        filler.unlink()
        store.put(NAMES[1], bytes(100_000))
        assert whole(store, NAMES[0])


def test_many_threads_read_arrays_at_once(store: FolderStore) -> None:
    """NumPy parses headers as Python, in which CPython 3.11 fails where another thread takes over: here each
    time that garbage is collected."""
    put_array(store, f"{DIGEST}.npy", np.arange(6.0))
    put_arrays(store, f"{DIGEST}.npz", {"values": np.arange(8.0)})
    sums: list[float] = []

    def read() -> None:
        for _ in range(30):
            sums.append(
                get_array(store, f"{DIGEST}.npy").sum() + get_arrays(store, f"{DIGEST}.npz")["values"].sum()
            )

    def yields(*_: object) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    threads = [threading.Thread(target=read) for _ in range(6)]
    gc.callbacks.append(yields)
    gc.set_threshold(10, 1, 1)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(yields)
    assert sums == [43.0] * 180
