"""Objects in the buckets of real S3 servers: see `tests.store.s3` for which, and what they do not prove."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from leakrange.providers.artifact_files import CLASSIFIER, RECORD, read_files, write_files
from leakrange.store import buckets, folders
from leakrange.store.buckets import BucketStore
from leakrange.store.files import get_array, put_array, whole
from leakrange.store.folders import fetched, publish, whole_folder
from leakrange.store.places import store_at
from leakrange.wire.errors import DamagedFile, InvalidInput, LeakrangeError, NotFound, Unavailable
from tests.store.s3 import S3Server, cutting

NAME = hashlib.sha256(b"a name").hexdigest()
OTHER = hashlib.sha256(b"another").hexdigest()


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server("nanio", tmp_path_factory.mktemp("nanio"))
    yield server
    server.kill()


@pytest.fixture(scope="module")
def conditional(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server("localbucket", tmp_path_factory.mktemp("localbucket"))
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "SILENT", timedelta(seconds=0.5))
    monkeypatch.setattr(buckets, "RETRIES", 1)


def at(
    server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bucket: str = "leak", **changes: str
) -> BucketStore:
    """A store of this test alone."""
    for name, value in (server.environment(**changes) | {"LEAKRANGE_CACHE": str(tmp_path / "cache")}).items():
        monkeypatch.setenv(name, value)
    return BucketStore(bucket, hashlib.sha256(str(tmp_path).encode()).hexdigest())


@pytest.fixture
def store(signed: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> BucketStore:
    return at(signed, monkeypatch, tmp_path)


@pytest.mark.parametrize("size", [1, 1000, 2 * buckets.PART + 17])
def test_what_was_put_is_what_one_gets(store: BucketStore, size: int) -> None:
    content = os.urandom(size)
    assert not store.exists(NAME)
    with pytest.raises(NotFound):
        store.get(NAME)
    store.put(NAME, content)
    assert store.get(NAME) == content
    assert store.exists(NAME)
    store.remove([NAME, OTHER])
    assert not store.exists(NAME)


def test_folders_are_listed_without_their_neighbours(store: BucketStore) -> None:
    store.put(f"{NAME}/{RECORD}", b"{}")
    store.put(f"{OTHER}/{RECORD}", b"{}")
    store.put(f"{NAME}.npy", b"x")
    assert store.names(NAME) == [f"{NAME}/{RECORD}"]
    assert store.exists(NAME)
    assert store.names(hashlib.sha256(b"nobody").hexdigest()) == []


def test_the_first_of_two_writers_stays(
    conditional: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = at(conditional, monkeypatch, tmp_path)
    store.put(NAME, b"the first")
    store.put(NAME, b"the second")
    assert store.get(NAME) == b"the first"


@pytest.mark.parametrize("name", ["../x", f"{NAME}/../{OTHER}", "s3://leak", f"{NAME}/a/b", "packs/x", ""])
def test_hostile_names_are_refused(store: BucketStore, name: str) -> None:
    for ask in (store.get, store.exists, store.names, lambda name: store.put(name, b"")):
        with pytest.raises(InvalidInput):
            ask(name)


def test_a_damaged_array_is_set_aside_and_can_be_made_again(store: BucketStore) -> None:
    store.put(f"{NAME}.npy", b"no array")
    with pytest.raises(DamagedFile, match="set aside"):
        get_array(store, f"{NAME}.npy")
    assert not whole(store, f"{NAME}.npy")
    put_array(store, f"{NAME}.npy", np.arange(3))
    assert get_array(store, f"{NAME}.npy").tolist() == [0, 1, 2]
    assert store.get(f"{NAME}.npy.damaged") == b"no array"


@pytest.mark.parametrize(
    ("changes", "bucket", "word"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "leak", "refuses"),
        ({"AWS_ACCESS_KEY_ID": "nobody"}, "leak", "refuses"),
        ({"AWS_ALLOW_HTTP": "false"}, "leak", "does not answer"),
        ({}, "absent", "there is no bucket 'absent'"),
    ],
)
def test_what_is_set_up_wrongly_is_no_missing_object(
    signed: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    changes: dict[str, str],
    bucket: str,
    word: str,
) -> None:
    store = at(signed, monkeypatch, tmp_path, bucket, **changes)
    for ask in (
        store.ping,
        lambda: store.get(NAME),
        lambda: store.put(NAME, b"x"),
        lambda: store.names(NAME),
    ):
        with pytest.raises(Unavailable, match=word) as caught:
            ask()
        assert caught.value.hint


def test_a_server_that_is_stopped_or_gone_is_unavailable_soon(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = S3Server("nanio", tmp_path / "server")
    store = at(server, monkeypatch, tmp_path)
    store.put(NAME, b"kept")
    for ask in (lambda: store.get(NAME), store.ping, lambda: store.put(OTHER, b"x")):
        begun = time.monotonic()
        with server.stopped(), pytest.raises(Unavailable):
            ask()
        assert time.monotonic() - begun < 5
    server.kill()
    with pytest.raises(Unavailable):
        store.get(NAME)
    server.start()
    assert store.get(NAME) == b"kept"  # the same store, once the server is back
    server.kill()


def test_a_writer_or_a_server_killed_in_the_middle_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = S3Server("nanio", tmp_path / "server")
    store = at(server, monkeypatch, tmp_path)
    script = (
        "import sys, os; from leakrange.store.buckets import BucketStore\n"
        "store = BucketStore('leak', sys.argv[1]); content = bytes(2**27); print(flush=True)\n"
        "store.put(sys.argv[2], content)"
    )
    for victim in ("writer", "server"):
        command = [sys.executable, "-c", script, store.prefix, NAME]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            while not any(Path(server.folder).rglob("*part*")) and writer.poll() is None:
                time.sleep(0.002)
            assert writer.poll() is None, "it was written before it could be killed"
            (writer.kill if victim == "writer" else server.kill)()
            writer.kill()
        if victim == "server":
            server.start()
        assert not store.exists(NAME)
        with pytest.raises(NotFound):
            store.get(NAME)
    store.put(NAME, b"written again")
    assert store.get(NAME) == b"written again"
    server.kill()


def test_an_answer_that_ends_early_is_never_taken_for_the_whole(
    store: BucketStore, signed: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content = os.urandom(300_000)
    store.put(NAME, content)
    with cutting(signed.port, 50_000) as port:
        cut = at(signed, monkeypatch, tmp_path, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
        with pytest.raises(Unavailable):
            cut.get(NAME)
    assert store.get(NAME) == content


def test_addresses(tmp_path: Path) -> None:
    assert store_at(tmp_path) is store_at(str(tmp_path))
    for address in ("s3://", "s3://Bucket/x", "s3://a..b/../c", "https://host/bucket", "s3://bucket/../x"):
        with pytest.raises(InvalidInput, match="neither a folder nor s3://"):
            store_at(address)


def model(store: BucketStore, kind: bytes = b"weights") -> Path:
    folder = write_files(store.local, NAME, "provider", {CLASSIFIER: kind}, {"recipe": {}})
    publish(store, folder)
    return folder


def test_a_model_is_fetched_once_and_found_whole(store: BucketStore, tmp_path: Path) -> None:
    assert whole_folder(store, NAME) is None
    model(store)
    store.local = tmp_path / "another machine"
    folder = fetched(store, NAME)
    assert read_files(folder).files == {CLASSIFIER: b"weights"}
    store.remove(store.names(NAME))
    assert whole_folder(store, NAME) == folder == store.local / NAME


def test_half_a_model_is_no_model_and_is_written_again(store: BucketStore, tmp_path: Path) -> None:
    store.put(f"{NAME}/{CLASSIFIER}", b"of another training")
    assert not fetched(store, NAME).exists()
    assert whole_folder(store, NAME) is None
    model(store)
    store.local = tmp_path / "another machine"
    there = whole_folder(store, NAME)
    assert there is not None
    assert read_files(there).files == {CLASSIFIER: b"weights"}


def test_a_damaged_copy_is_fetched_again_and_a_damaged_model_set_aside(store: BucketStore) -> None:
    folder = model(store)
    (folder / CLASSIFIER).write_bytes(b"bits of dust")
    assert whole_folder(store, NAME) == folder
    assert (folder / CLASSIFIER).read_bytes() == b"weights"
    store.remove([f"{NAME}/{CLASSIFIER}"])
    store.put(f"{NAME}/{CLASSIFIER}", b"bits of dust")
    (folder / CLASSIFIER).write_bytes(b"bits of dust")
    assert whole_folder(store, NAME) is None  # who may not write leaves it
    assert store.names(NAME)
    assert whole_folder(store, NAME, set_aside=True) is None
    assert store.names(NAME) == []
    assert len(store.names(f"{NAME}.damaged")) == 2


def test_models_that_were_not_used_for_long_make_room(
    store: BucketStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (NAME, OTHER):
        publish(store, write_files(store.local, name, "provider", {CLASSIFIER: bytes(5000)}, {}))
    store.local = tmp_path / "small machine"
    monkeypatch.setattr(folders, "MOST_BYTES", 7000)
    first = fetched(store, NAME)
    fetched(store, OTHER)
    assert first.exists()  # somebody may be reading it
    os.utime(first, (1, 1))
    (store.local / OTHER).rename(tmp_path / "gone")
    fetched(store, OTHER)
    assert not first.exists()
    assert fetched(store, NAME).exists()  # and it comes back when it is wanted


def test_a_model_that_does_not_come_is_unavailable_and_no_half_of_it_stays(
    store: BucketStore, signed: S3Server, tmp_path: Path
) -> None:
    model(store)
    store.local = tmp_path / "another machine"
    with signed.stopped(), pytest.raises(LeakrangeError, match="does not answer"):
        fetched(store, NAME)
    assert not list(tmp_path.joinpath("another machine").glob("*"))
    assert fetched(store, NAME).exists()
