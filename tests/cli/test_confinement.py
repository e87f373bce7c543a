"""What the parties of an embedded range know, and who can reach them."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from leakrange.service.parties import SERVERS, RedisUser
from tests.embedded import EmbeddedRange


def known(pid: int, secrets: Iterable[str]) -> set[str]:
    """Which of the secrets stand somewhere in what a process has written to its memory. Parties that were
    forked show the environment of whoever forked them, so it is not enough to read that."""
    secrets, seen = set(secrets), set[str]()
    page = os.sysconf("SC_PAGE_SIZE")
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory, open(f"/proc/{pid}/pagemap", "rb") as places:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            start, end = (int(place, 16) // page for place in span.split("-"))
            if rights.startswith("rw"):
                places.seek(8 * start)
                present = np.frombuffer(places.read(8 * (end - start)), np.uint64) >> np.uint64(63)
                edges = np.flatnonzero(np.diff(present, prepend=0, append=0).astype(bool)) + start
                for first, behind in edges.reshape(-1, 2).tolist():
                    memory.seek(first * page)
                    written = memory.read((behind - first) * page)
                    seen |= {secret for secret in secrets - seen if secret.encode() in written}
    return seen


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_attackers_know_neither_the_operator_key_nor_where_the_database_is(
    embedded_range: EmbeddedRange,
) -> None:
    folder, key = embedded_range.folder, embedded_range.record.operator_key
    database, models = f"sqlite+aiosqlite:///{folder.database}", str(folder.models)
    for party in embedded_range.record.parties:
        assert party.pid is not None
        told = known(party.pid, [key, database, models])
        if party.name in SERVERS or party.name.startswith("attacker"):
            assert told == set(), party.name
        elif party.name == "trainer":
            assert told == {models}
        elif party.name == "controller":
            assert told == {key, database, models}
        else:
            assert told == ({key, models} if party.name.startswith("provider") else {key}), party.name


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_whoever_forks_the_parties_knows_no_secret(embedded_range: EmbeddedRange) -> None:
    """What it knew, every party that it forks later would know."""
    launcher = psutil.Process(embedded_range.record.launcher)
    [server] = [
        each for each in launcher.children() if "leakrange.clients.cli.embedded.fork_server" in each.cmdline()
    ]
    forked = {each.pid for each in server.children()}
    assert {party.name for party in embedded_range.record.parties if party.pid in forked} >= {
        "provider-honest",
        "edge",
        "attacker-1",
        "trainer",
    }
    secrets = json.loads((embedded_range.root / "secrets.json").read_bytes()).values()
    assert known(server.pid, secrets) == set()
    assert server.num_threads() == 1  # what another held at a fork would stay locked


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_every_party_listens_on_this_machine_alone(embedded_range: EmbeddedRange) -> None:
    ports = {party.port for party in embedded_range.record.parties if party.port}
    listening = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if line.split()[3] == "0A" and int(port, 16) in ports:
                listening.add((address, int(port, 16)))
    assert listening == {("0100007F", port) for port in ports}


@pytest.mark.parametrize("name", ["controller", "proxy", "provider-honest", "provider-curious", "edge"])
def test_no_server_answers_under_a_name_that_was_led_to_it(embedded_range: EmbeddedRange, name: str) -> None:
    url = f"http://127.0.0.1:{embedded_range.record.port(name)}"
    for path in ("/", "/readyz", "/metrics", "/v1/models", "/v1/runs", "/openapi.json"):
        rebound = httpx.get(url + path, headers={"Host": "evil.example"})
        assert (rebound.status_code, rebound.json()["title"]) == (421, "Wrong host")
        page = httpx.get(url + path, headers={"Origin": "http://evil.example"})
        assert (page.status_code, page.json()["title"]) == (403, "Foreign origin")
    assert httpx.get(url + "/readyz").status_code == 200
    assert httpx.get(url.replace("127.0.0.1", "localhost") + "/readyz").status_code == 200


@pytest.mark.parametrize("name", ["controller", "proxy", "provider-honest", "edge"])
def test_no_server_reads_a_body_that_another_would_read_differently(
    embedded_range: EmbeddedRange, name: str
) -> None:
    with socket.create_connection(("127.0.0.1", embedded_range.record.port(name)), timeout=60) as connection:
        head = b"POST /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
        connection.sendall(head + b"0\r\n\r\nGET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"connection: close\r\n") == answer.count(b"\r\n\r\n") == 1  # no second answer


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_each_party_comes_to_redis_as_itself(embedded_range: EmbeddedRange) -> None:
    """And knows no other's password."""
    for server, users in SERVERS.items():
        port = embedded_range.record.port(server)
        with (
            redis.Redis(port=port, retry=Retry(NoBackoff(), 0)) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            client.ping()
        with redis.Redis.from_url(embedded_range.redis_url("operator", server)) as client:
            assert client.config_get("appendonly") == {"appendonly": "yes"}
            assert {line.split()[1] for line in client.acl_list()} == {"default", *users}
    roles: dict[str, RedisUser] = {"proxy": "proxy", "controller": "controller", "attacker-1": "fleet"}
    passwords = {
        embedded_range.folder.secret(f"redis-{user}"): user for users in SERVERS.values() for user in users
    }
    for party in embedded_range.record.parties:
        assert party.pid is not None
        if party.name not in SERVERS:
            users = {passwords[password] for password in known(party.pid, passwords)}
            own = roles.get(party.name) or ("fleet" if party.name == "trainer" else None)
            assert users == ({own} if own else set()), party.name


def test_whatever_lies_in_the_state_folder_is_its_owners_alone(embedded_range: EmbeddedRange) -> None:
    """Ledger, database, uploads, logs, models, releases, secrets: no other user sees any."""
    root = embedded_range.root
    lying = [path for path in root.rglob("*") if path.is_file() or path.is_dir()]
    names = {path.name for path in lying}
    assert {"range.json", "leakrange.db", "provider.sqlite", "users.conf", "redis.log"} <= names
    assert any(name.startswith("appendonly.aof") for name in names)
    assert not [path for path in lying if path.stat().st_mode & 0o077]


def test_no_log_holds_a_secret(embedded_range: EmbeddedRange) -> None:
    secrets = json.loads((embedded_range.root / "secrets.json").read_bytes()).values()
    assert len(secrets) >= 6
    for log in (embedded_range.root / "logs").iterdir():
        assert not [secret for secret in secrets if secret.encode() in log.read_bytes()], log
