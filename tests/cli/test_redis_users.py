"""Who reaches what in the Redis of a range: the server is started as the launcher starts it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError
from redis.retry import Retry

from clients.cli.embedded.ports import assign
from clients.cli.embedded.redis_server import redis_command, redis_url
from clients.cli.embedded.state import StateFolder
from leakrange.service.parties import RedisUser
from services.proxy.main import proxy
from services.proxy.settings import ProxySettings
from tests.serving import serving

OPERATOR = "0123456789abcdef-operator-of-the-tests"
REFUSED = [
    ("FLUSHALL",),
    ("FLUSHDB",),
    ("CONFIG", "GET", "*"),
    ("CONFIG", "SET", "dir", "/tmp"),
    ("ACL", "LIST"),
    ("ACL", "SETUSER", "fleet", "allkeys"),
    ("SHUTDOWN",),
    ("SAVE",),
    ("REPLICAOF", "127.0.0.1", "1"),
    ("MONITOR",),
    ("KEYS", "*"),
    ("SCAN", "0"),
    ("RANDOMKEY",),
    ("DBSIZE",),
    ("INFO",),
    ("SCRIPT", "FLUSH"),
    ("CLIENT", "LIST"),
    ("CLIENT", "KILL", "TYPE", "normal"),
    ("SWAPDB", "0", "1"),
    ("PSUBSCRIBE", "*"),
    ("EVAL", "return 1", "0"),
]


@dataclass
class Standing:
    """The server of a state folder."""

    folder: StateFolder
    port: int

    def url(self, user: RedisUser) -> str:
        return redis_url(self.folder, self.port, user)

    def client(self, user: RedisUser) -> redis.Redis:
        return redis.Redis.from_url(self.url(user))


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    folder = StateFolder(tmp_path_factory.mktemp("state"))
    folder.prepare()
    port = assign(0)["redis"]
    with (folder.root / "redis.log").open("wb") as log:
        process = subprocess.Popen(redis_command(folder, port), stdout=log, stderr=log)
    made = Standing(folder, port)
    try:
        with made.client("operator") as client:
            deadline = time.monotonic() + 20
            while True:
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    assert process.poll() is None, (folder.root / "redis.log").read_text()
                    assert time.monotonic() < deadline
        yield made
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def ledger(standing: Standing) -> list[bytes]:
    """Every key that a proxy has made which knows a policy, a binding, a route and an API key, and has
    counted."""
    with serving(proxy(ProxySettings(redis_url=standing.url("proxy"), operator_key=OPERATOR))) as url:
        client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {OPERATOR}"})
        for path, body in (
            ("policies/label-only", {"chain": ["argmax"]}),
            ("routes/model", {"upstream": "http://127.0.0.1:9"}),
        ):
            assert client.put(f"/admin/{path}", json=body).is_success
        made = client.post("/admin/keys", json={"name": "a", "id": "a", "budget": 3, "policy": "label-only"})
        assert made.status_code == 201, made.text
        asked = client.post(
            "/v1/models/model/logits",
            json={"inputs": [[0.0]]},
            headers={"Authorization": f"Bearer {made.json()['key']}"},
        )
        assert asked.status_code in (502, 503), asked.text  # reserved, and refunded: nobody answers there
        assert client.get("/admin/keys/a").json()["refunded"] == 1
        client.close()
    with standing.client("operator") as client:
        return sorted(client.keys("leakrange:proxy:*"))


@pytest.mark.parametrize("user", ["fleet", "controller"])
def test_no_key_of_the_ledger_can_be_read_or_written_by(
    standing: Standing, ledger: list[bytes], user: RedisUser
) -> None:
    assert len(ledger) >= 6
    with standing.client("operator") as all_knowing, standing.client(user) as client:
        before = {key: all_knowing.dump(key) for key in ledger}
        script = client.script_load if user == "fleet" else None
        for key in [*ledger, b"leakrange:proxy:auth:new", b"leakrange:proxy:new"]:
            commands: list[tuple[str | bytes, ...]] = [
                ("GET", key),
                ("SET", key, "x"),
                ("HGETALL", key),
                ("HSET", key, "budget", "1000000"),
                ("DEL", key),
                ("TYPE", key),
                ("DUMP", key),
                ("EXPIRE", key, "1"),
                ("RENAME", key, "train"),
                ("COPY", key, "train"),
                ("SMEMBERS", key),
                ("SINTERSTORE", "train", key),
                ("OBJECT", "ENCODING", key),
                ("WATCH", key),
            ]
            if script is not None:
                sha = script(f"return redis.call('HSET', '{key.decode()}', 'budget', 1000000)")
                commands.append(("EVALSHA", sha, "0"))
            for command in commands:
                with pytest.raises(redis.ResponseError, match=r"(?i)noperm|acl|permission"):
                    client.execute_command(*command)
        assert {key: all_knowing.dump(key) for key in ledger} == before
        assert sorted(all_knowing.keys("leakrange:proxy:*")) == ledger


@pytest.mark.parametrize("user", ["proxy", "fleet", "controller"])
@pytest.mark.parametrize("command", REFUSED, ids=lambda command: " ".join(command[:2]))
def test_nobody_but_the_operator_rules_the_server(
    standing: Standing, user: RedisUser, command: tuple[str, ...]
) -> None:
    with standing.client(user) as client, pytest.raises(NoPermissionError):
        client.execute_command(*command)


def test_the_proxy_reaches_neither_jobs_nor_reports(standing: Standing) -> None:
    with standing.client("proxy") as client:
        for command in (
            ("LPUSH", "train", "job"),
            ("GET", "leakrange:lease:x"),
            ("XADD", "leakrange:reports", "*", "json", "{}"),
            ("PUBLISH", "/0.celery.pidbox", "shutdown"),
        ):
            with pytest.raises(NoPermissionError):
                client.execute_command(*command)


def test_nobody_comes_in_without_a_name_and_its_password(standing: Standing) -> None:
    once = Retry(NoBackoff(), 0)
    with redis.Redis(port=standing.port, retry=once) as client, pytest.raises(redis.AuthenticationError):
        client.ping()
    password = standing.folder.secret("redis-fleet")
    for name in ("default", "proxy", "operator"):
        with (
            redis.Redis(port=standing.port, username=name, password=password, retry=once) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            client.ping()


def test_no_password_stands_in_the_servers_files(standing: Standing) -> None:
    passwords = [
        standing.folder.secret(f"redis-{user}") for user in ("operator", "proxy", "controller", "fleet")
    ]
    for path in Path(standing.folder.redis).rglob("*"):
        if path.is_file():
            assert not [password for password in passwords if password.encode() in path.read_bytes()]
            if path.suffix == ".conf":
                assert path.stat().st_mode & 0o077 == 0
