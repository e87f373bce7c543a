"""Replicas of one provider, in processes of their own: any of them answers as if it were the only one."""

from __future__ import annotations

import asyncio
import itertools
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from pydantic import SecretStr, ValidationError

from leakrange.services.provider.database import PostgreSQL
from leakrange.services.provider.replicas import ReplicaGeneration
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.provider.store import Store, StoredUpload
from leakrange.services.proxy.main import proxy
from leakrange.wire.errors import Unavailable
from leakrange.wire.names import upload_name
from leakrange.wire.tensors import NPY, encode_npy
from tests.databases import Databases
from tests.patience import until
from tests.provider.conftest import KEY, OPERATOR
from tests.provider.replicas import Launcher, Replica, launcher
from tests.provider.tiny import CLASSES
from tests.proxy.conftest import OPERATOR as PROXY_OPERATOR
from tests.proxy.conftest import settings as proxy_settings
from tests.proxy.servers import HOSTS, NAME, resolving, serve

BINARY = {"Content-Type": NPY, "Accept": NPY}
OUTPUTS = encode_npy(np.eye(len(CLASSES), dtype=np.float32)[[1, 2]])
LEASE = 1.5


@pytest.fixture(scope="module")
def state_url(databases: Databases) -> str:
    return databases.empty("postgresql")


@pytest.fixture(scope="module")
def starter(models_dir: Path, state_url: str) -> Iterator[Launcher]:
    told = {"OPERATOR_KEY": KEY, "STATE_DIR": "/nonexistent", "STATE_URL": state_url, "ALLOWED_HOSTS": NAME}
    with launcher(models_dir, **told, PROVIDER_NAME="curious", REPLICA_LEASE=str(LEASE)) as started:
        yield started


@pytest.fixture(scope="module")
def three(starter: Launcher) -> list[Replica]:
    """Three replicas, which were started at once on a database without tables."""
    return starter.start(*HOSTS)


def deploy(replica: Replica, name: str, digest: str, **more: object) -> str:
    """The version that is served once the replica has answered."""
    body = {"artifact": digest, "release": "logits", **more}
    answer = replica.ask("PUT", f"/v1/operator/models/{name}", json=body, headers=OPERATOR)
    return str(answer.raise_for_status().json()["version"])


def version(replica: Replica, name: str, images: NDArray[np.uint8]) -> str:
    """The version that answers a query."""
    path = f"/v1/models/{name}/logits"
    headers = {"Content-Type": NPY, "Accept": "application/json"}
    answer = replica.ask("POST", path, content=encode_npy(images), headers=headers)
    return str(answer.raise_for_status().json()["version"])


def enrol(replica: Replica, person: str, images: NDArray[np.uint8]) -> None:
    path = f"/v1/models/faces/gallery/{person}"
    replica.ask("PUT", path, content=encode_npy(images), headers=BINARY).raise_for_status()


def test_what_one_was_told_every_other_answers_with(
    three: list[Replica], digests: dict[str, str], images: NDArray[np.uint8]
) -> None:
    versions = [
        deploy(replica, "m", digests[name])
        for replica, name in zip(three, ("honest", "other", "net"), strict=True)
    ]
    assert len(set(versions)) == 3
    assert {version(replica, "m", images) for replica in three} == {versions[-1]}
    for turn in range(4):
        newest = deploy(three[turn % 3], "m", digests["honest" if turn % 2 else "other"])
        assert {version(replica, "m", images) for replica in three} == {newest}
    three[1].ask("DELETE", "/v1/operator/models/m", headers=OPERATOR).raise_for_status()
    assert {replica.ask("GET", "/v1/models/m").status_code for replica in three} == {404}


def test_who_is_enrolled_at_one_is_known_to_all_and_no_longer_when_removed(
    three: list[Replica], digests: dict[str, str], images: NDArray[np.uint8]
) -> None:
    deploy(three[0], "faces", digests["honest"], service="verification", threshold=1.0)
    asked = "/v1/models/faces/verification?person="
    for replica, person in zip(three, ("ann", "bob", "eve"), strict=True):
        enrol(replica, person, images)
        for other in three:
            other.ask("POST", asked + person, content=encode_npy(images), headers=BINARY).raise_for_status()
    three[2].ask("DELETE", "/v1/models/faces/gallery/ann").raise_for_status()
    for replica in three:
        answer = replica.ask("POST", asked + "ann", content=encode_npy(images), headers=BINARY)
        assert answer.status_code == 404
        told = replica.ask("GET", "/v1/models/faces/gallery").json()["persons"]
        assert [entry["person"] for entry in told] == ["bob", "eve"]


def test_an_upload_to_one_is_seen_at_all_and_repeated_at_another_gets_the_first_decision(
    three: list[Replica], digests: dict[str, str]
) -> None:
    deploy(three[0], "m", digests["honest"])
    headers = {"Content-Type": NPY, "X-Release": "logits", "Idempotency-Key": "mine"}
    others = [OUTPUTS, encode_npy(np.eye(len(CLASSES), dtype=np.float32)[[0, 0]]), OUTPUTS]
    for replica, body in zip(three, others, strict=True):
        answer = replica.ask("POST", "/v1/models/m/outputs", content=body, headers=headers)
        assert answer.raise_for_status().json()["decisions"] == [1, 2]
    three[1].ask("POST", "/v1/models/m/outputs", content=OUTPUTS, headers=headers | {"Idempotency-Key": "x"})
    for replica in three:
        page = replica.ask("GET", "/v1/operator/models/m/intake", headers=OPERATOR).json()["records"]
        assert [record["upload"] for record in page] == ["mine", "x"]
        for stranger in ("%00", "nobody%00"):
            path = f"/v1/operator/models/m/intake/{stranger}"
            assert replica.ask("GET", path, headers=OPERATOR).status_code == 404
    records = [replica.ask("GET", "/v1/operator/models/m/intake/mine", headers=OPERATOR) for replica in three]
    assert [record.json()["decisions"] for record in records] == [[1, 2]] * 3


def test_a_change_waits_for_one_that_has_stopped_no_longer_than_its_lease_and_it_then_answers_nothing_old(
    three: list[Replica], digests: dict[str, str], images: NDArray[np.uint8]
) -> None:
    old = deploy(three[0], "m", digests["honest"])
    assert version(three[2], "m", images) == old
    three[2].send(signal.SIGSTOP)
    try:
        began = time.monotonic()
        new = deploy(three[0], "m", digests["other"])
        assert time.monotonic() - began >= LEASE / 2  # it may have renewed its lease at most half of it ago
        assert version(three[1], "m", images) == new != old
    finally:
        three[2].send(signal.SIGCONT)
    path, headers = "/v1/models/m/logits", {"Content-Type": NPY, "Accept": "application/json"}
    answers = [three[2].ask("POST", path, content=encode_npy(images), headers=headers) for _ in range(5)]
    assert {a.json()["version"] for a in answers if a.status_code == 200} <= {new}
    assert {a.status_code for a in answers} <= {200, 503}


def test_a_rolling_replacement_behind_a_proxy_loses_no_request_and_nobody_who_is_enrolled(
    starter: Launcher,
    three: list[Replica],
    digests: dict[str, str],
    images: NDArray[np.uint8],
    empty_redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolving(monkeypatch)
    deploy(three[0], "m", digests["honest"])
    deploy(three[0], "faces", digests["honest"], service="verification", threshold=1.0)
    ended, asked = threading.Event(), itertools.count(1)
    taken: list[str] = []
    with serve(proxy(proxy_settings(empty_redis_url))) as url, httpx.Client(base_url=url) as client:
        client.headers["Authorization"] = f"Bearer {PROXY_OPERATOR}"
        for model in ("m", "faces"):
            upstream = {"upstream": f"http://{NAME}:{starter.port}"}
            client.put(f"/admin/routes/{model}", json=upstream).raise_for_status()
        wanted = {"name": "phones", "id": "phones", "budget": 1_000_000}
        made = client.post("/admin/keys", json=wanted).raise_for_status()
        key = {"Authorization": f"Bearer {made.json()['key']}", "Content-Type": NPY}

        def stream() -> None:
            while not ended.is_set():
                number = next(asked)
                of_upload = key | {"X-Release": "logits", "Idempotency-Key": f"roll-{number}"}
                path = f"/v1/models/faces/gallery/person-{number}"
                client.post("/v1/models/m/outputs", content=OUTPUTS, headers=of_upload).raise_for_status()
                client.put(path, content=encode_npy(images), headers=key).raise_for_status()
                taken.append(str(number))

        with ThreadPoolExecutor(2) as pool:
            streams = [pool.submit(stream) for _ in range(2)]
            try:
                for place, replica in enumerate(three):
                    before = len(taken)
                    until(lambda before=before: len(taken) > before + 2 or streams[0].done())  # type: ignore[misc]
                    replica.send(signal.SIGTERM)
                    until(lambda pid=replica.pid: starter.over(pid))  # type: ignore[misc]
                    [three[place]] = starter.start(replica.host)
            finally:
                ended.set()
            for each in streams:
                each.result()
        account = client.get("/admin/keys/phones").json()
    assert len(taken) > 9
    assert account["spent"] == len(taken) * (2 + len(images))
    for replica in three:
        page = "/v1/operator/models/m/intake?limit=1000"
        records = replica.ask("GET", page, headers=OPERATOR).json()["records"]
        assert {upload_name("phones", f"roll-{n}") for n in taken} == {r["upload"] for r in records} - {
            "mine",
            "x",
        }
        persons = {e["person"] for e in replica.ask("GET", "/v1/models/faces/gallery").json()["persons"]}
        assert persons >= {f"person-{number}" for number in taken}


async def test_a_replica_without_its_database_answers_no_longer_than_its_lease(databases: Databases) -> None:
    url = databases.empty("postgresql")
    database = PostgreSQL(url, "cut")
    await database.open()
    generation = ReplicaGeneration(database, 0.5)
    followed = asyncio.Event()

    async def follow() -> None:
        generation.followed(await generation.settled())
        followed.set()

    await generation.open(follow)
    await followed.wait()
    assert not generation.stale
    name = url.partition("?")[0].rpartition("/")[2]
    databases.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    databases.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    async with asyncio.timeout(20):
        while not generation.stale:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    with pytest.raises(Unavailable, match=r"not reached its database for 0\.5 s"):
        await generation.settled()
    databases.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    async with asyncio.timeout(20):
        while generation.stale:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await generation.close()
    await database.close()


async def test_a_provider_that_its_database_does_not_know_says_what_to_do(databases: Databases) -> None:
    stranger = databases.empty("postgresql").replace("postgres:@", "stranger:secret@")
    with pytest.raises(Unavailable, match='role "stranger" does not exist') as caught:
        await PostgreSQL(stranger, "m").open()
    assert caught.value.hint == (
        "LEAKRANGE_STATE_URL names it; 'python -m leakrange.store.migrate' makes its users"
    )


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("sqlite:///state.sqlite", "only PostgreSQL is shared by replicas"),
        ("state.sqlite", "it is no address of a database: postgresql://user:password@host/base"),
    ],
)
def test_only_postgresql_is_taken_for_shared_state(url: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        ProviderSettings(operator_key=SecretStr(KEY), models_dir="m", state_dir="s", state_url=url)


async def test_an_upload_is_stored_though_the_server_has_cut_the_connection(databases: Databases) -> None:
    url = databases.empty("postgresql")
    name = url.partition("?")[0].rpartition("/")[2]
    database = PostgreSQL(url, "m")
    await database.open()
    store = Store(database)
    cut = f"SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = '{name}'"
    for number in range(3):
        databases.execute(cut)
        assert len(await store.uploads("m", None, 9)) == number  # meanwhile the end is heard of
        values = np.full((1, 2), number, np.float32)
        await store.take_in(StoredUpload(str(number), "m", "a", "logits", values, np.zeros(1, np.int64)))
    assert [float(each.values[0, 0]) for each in await store.uploads("m", None, 9)] == [0, 1, 2]
    await database.close()


async def test_a_page_waits_for_an_upload_that_is_being_stored(databases: Databases) -> None:
    url = databases.empty("postgresql")
    database = PostgreSQL(url, "m")
    await database.open()
    store = Store(database)
    values, decisions = np.ones((1, 2), np.float32), np.zeros(1, np.int64)
    with psycopg.connect(url) as slow:
        slow.execute(
            'insert into "provider_m".uploads (model, upload, artifact, release, shape, given, decisions) '
            "values ('m', 'slow', 'a', 'logits', '1 2', %s, %s)",
            (values.tobytes(), decisions.tobytes()),
        )
        _, new = await store.take_in(StoredUpload("fast", "m", "a", "logits", values, decisions))
        assert new
        page = asyncio.create_task(store.uploads("m", None, 9))
        await asyncio.sleep(0.1)
        assert not page.done()
        slow.commit()
    assert [upload.upload for upload in await page] == ["slow", "fast"]
    assert not (await store.take_in(StoredUpload("fast", "m", "a", "logits", values, decisions)))[1]
    await database.close()
