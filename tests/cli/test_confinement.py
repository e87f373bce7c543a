"""What the parties of an embedded range know, and who can reach them."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
import redis

from tests.embedded import EmbeddedRange


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_attackers_know_neither_the_operator_key_nor_where_the_database_is(
    embedded_range: EmbeddedRange,
) -> None:
    for party in embedded_range.record.parties:
        environment = Path(f"/proc/{party.pid}/environ").read_text()
        if party.name.startswith(("attacker", "trainer", "redis")):
            assert embedded_range.record.operator_key not in environment, party.name
            assert "LEAKRANGE_DATABASE_URL" not in environment, party.name
        else:
            assert embedded_range.record.operator_key in environment, party.name
        if party.name.startswith(("attacker", "edge")):
            assert "LEAKRANGE_MODELS_DIR" not in environment, party.name


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


def test_redis_wants_a_password(embedded_range: EmbeddedRange) -> None:
    port = embedded_range.record.port("redis")
    with redis.Redis(port=port) as client, pytest.raises(redis.AuthenticationError):
        client.ping()
    password = embedded_range.folder.secret("redis")
    with redis.Redis(port=port, password=password) as client:
        assert client.config_get("appendonly") == {"appendonly": "yes"}


def test_files_with_secrets_are_their_owners_alone(embedded_range: EmbeddedRange) -> None:
    root = embedded_range.root
    secrets = {embedded_range.record.operator_key, embedded_range.folder.secret("redis")}
    holding = [
        path
        for path in root.rglob("*")
        if path.is_file() and any(secret.encode() in path.read_bytes() for secret in secrets)
    ]
    assert root / "range.json" in holding
    for path in holding:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert not [path for path in holding if path.suffix == ".log"]
