"""Who reaches what in the Redis servers of a range: they are started as the launcher starts them."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError
from redis.retry import Retry

from leakrange.clients.cli.embedded.ports import assign
from leakrange.clients.cli.embedded.redis_server import redis_command, redis_url
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.service.parties import FLEET_REDIS, REDIS, SERVERS, RedisUser
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from tests.embedded import wait_for
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
    """The servers of a state folder, and their ports."""

    folder: StateFolder
    ports: dict[str, int]

    def url(self, user: RedisUser, server: str) -> str:
        return redis_url(self.folder, self.ports[server], user)

    def client(self, user: RedisUser, server: str) -> redis.Redis:
        return redis.Redis.from_url(self.url(user, server), socket_timeout=20)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    folder = StateFolder(tmp_path_factory.mktemp("state"))
    folder.prepare()
    ports = {server: port for server, port in assign(0).items() if server in SERVERS}
    processes = {}
    for server, port in ports.items():
        with folder.log(server).open("wb") as log:
            command = redis_command(folder, server, port)
            processes[server] = subprocess.Popen(command, stdout=log, stderr=log)
    both = Standing(folder, ports)
    try:
        for server, process in processes.items():
            with both.client("operator", server) as client:
                wait_for(lambda: answers(client, process), f"{server} to answer", 20)  # noqa: B023
        yield both
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def answers(client: redis.Redis, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "the server has ended"
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


@pytest.fixture(scope="module")
def ledger(standing: Standing) -> list[bytes]:
    """Every key that a proxy has made which knows a policy, a binding, a route and an API key, and has
    counted."""
    with serving(proxy(ProxySettings(redis_url=standing.url("proxy", REDIS), operator_key=OPERATOR))) as url:
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
    with standing.client("operator", REDIS) as client:
        return sorted(client.keys("leakrange:proxy:*"))


def test_the_ledger_is_the_proxys_alone(standing: Standing, ledger: list[bytes]) -> None:
    """Neither fleet nor controller come in, and no key of the proxy's is where they are."""
    assert len(ledger) >= 6
    once = Retry(NoBackoff(), 0)
    strangers: list[tuple[RedisUser, str]] = [("fleet", REDIS), ("controller", REDIS), ("proxy", FLEET_REDIS)]
    for user, server in strangers:
        url = standing.url(user, server)
        with redis.Redis.from_url(url, retry=once) as client, pytest.raises(redis.AuthenticationError):
            client.ping()
    with standing.client("operator", FLEET_REDIS) as client:
        assert client.keys("*proxy*") == []


@pytest.mark.parametrize("user", ["fleet", "controller"])
def test_keys_of_a_ledger_in_the_same_server_cannot_be_read_or_written_by(
    standing: Standing, user: RedisUser
) -> None:
    """Who has one server for both is protected by its users alone."""
    key = b"leakrange:proxy:key:a"
    with standing.client("operator", FLEET_REDIS) as operator, standing.client(user, FLEET_REDIS) as client:
        operator.hset("leakrange:proxy:key:a", "budget", 3)
        try:
            before = operator.dump(key)
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
            if user == "fleet":
                sha = client.script_load(f"return redis.call('HSET', '{key.decode()}', 'budget', 1000000)")
                commands.append(("EVALSHA", sha, "0"))
            for command in commands:
                with pytest.raises(redis.ResponseError, match=r"(?i)noperm|acl|permission|can't access"):
                    client.execute_command(*command)
            assert operator.dump(key) == before
        finally:
            operator.delete(key)


USERS = [(server, user) for server, users in SERVERS.items() for user in users if user != "operator"]


@pytest.mark.parametrize(("server", "user"), USERS)
@pytest.mark.parametrize("command", REFUSED, ids=lambda command: " ".join(command[:2]))
def test_nobody_but_the_operator_rules_a_server(
    standing: Standing, server: str, user: RedisUser, command: tuple[str, ...]
) -> None:
    with standing.client(user, server) as client, pytest.raises(NoPermissionError):
        client.execute_command(*command)


def test_the_proxy_reaches_neither_jobs_nor_reports(standing: Standing) -> None:
    with standing.client("proxy", REDIS) as client:
        for command in (
            ("LPUSH", "train", "job"),
            ("GET", "leakrange:lease:x"),
            ("XADD", "leakrange:reports", "*", "json", "{}"),
            ("PUBLISH", "/0.celery.pidbox", "shutdown"),
        ):
            with pytest.raises(NoPermissionError):
                client.execute_command(*command)


def test_nothing_that_a_worker_runs_in_its_redis_holds_up_the_ledger(standing: Standing) -> None:
    """A script that never ends, under the fleet's own password, while a proxy changes and counts keys."""
    settings = ProxySettings(redis_url=standing.url("proxy", REDIS), redis_timeout=1, operator_key=OPERATOR)
    ended: list[Exception] = []

    def spin() -> None:
        with redis.Redis.from_url(standing.url("fleet", FLEET_REDIS), socket_timeout=60) as client:
            try:
                client.evalsha(client.script_load("while true do end"), 0)
            except redis.ResponseError as error:
                ended.append(error)

    spinning = threading.Thread(target=spin)
    with (
        serving(proxy(settings)) as url,
        standing.client("operator", FLEET_REDIS) as operator,
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {OPERATOR}"}) as client,
    ):
        spinning.start()
        try:
            wait_for(lambda: busy(standing), "the fleet's Redis to be busy", 20)
            for number in range(5):
                key = {"name": "b", "id": f"b{number}", "budget": 3}
                assert client.post("/admin/keys", json=key).status_code == 201
                assert client.get(f"/admin/keys/b{number}").json()["remaining"] == 3
            assert busy(standing)
        finally:
            wait_for(lambda: killed(operator), "the script to be killed", 20)
            spinning.join()
    assert ended


def busy(standing: Standing) -> bool:
    """Whether the fleet's Redis answers nobody else now."""
    url = standing.url("controller", FLEET_REDIS)
    with redis.Redis.from_url(url, socket_timeout=0.5, retry=Retry(NoBackoff(), 0)) as client:
        try:
            client.exists("train")
        except (redis.TimeoutError, redis.exceptions.BusyLoadingError, redis.ResponseError):
            return True
        return False


def killed(operator: redis.Redis) -> bool:
    """End the script that runs; a server lets that be done when it has been busy for five seconds."""
    try:
        operator.script_kill()
    except redis.TimeoutError:
        return False
    except redis.ResponseError as error:
        return "NOTBUSY" in str(error)
    return True


@pytest.mark.parametrize("server", SERVERS)
def test_nobody_comes_in_without_a_name_and_its_password(standing: Standing, server: str) -> None:
    once, port = Retry(NoBackoff(), 0), standing.ports[server]
    with redis.Redis(port=port, retry=once) as client, pytest.raises(redis.AuthenticationError):
        client.ping()
    password = standing.folder.secret("redis-fleet" if server == FLEET_REDIS else "redis-proxy")
    for name in ("default", "controller", "operator"):
        with (
            redis.Redis(port=port, username=name, password=password, retry=once) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            client.ping()


def test_no_password_stands_in_the_servers_files(standing: Standing) -> None:
    passwords = [
        standing.folder.secret(f"redis-{user}") for user in ("operator", "proxy", "controller", "fleet")
    ]
    files = [path for server in SERVERS for path in standing.folder.of_redis(server).rglob("*")]
    assert len([path for path in files if path.suffix == ".conf"]) == 4
    for path in files:
        if path.is_file():
            assert not [password for password in passwords if password.encode() in path.read_bytes()]
            if path.suffix == ".conf":
                assert path.stat().st_mode & 0o077 == 0
