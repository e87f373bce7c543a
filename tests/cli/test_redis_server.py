"""The Redis-protocol server of an embedded range, started by itself."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from leakrange.clients.cli.embedded.redis_server import redis_command, redis_url
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.service.parties import REDIS
from tests.embedded import wait_for

SPEND = "redis.call('HINCRBY', KEYS[1], 'left', ARGV[1]); redis.call('INCR', KEYS[2])"
BUDGET, SPENDINGS = "leakrange:proxy:budget", "leakrange:proxy:spendings"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(folder: StateFolder, port: int) -> Iterator[redis.Redis]:
    process = subprocess.Popen(redis_command(folder, REDIS, port), stdout=subprocess.DEVNULL)
    client = redis.Redis.from_url(redis_url(folder, port, "proxy"), decode_responses=True)

    def answers() -> bool:
        try:
            return client.exists(BUDGET) is not None
        except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
            return False

    try:
        wait_for(answers, "the server to answer", 20)
        yield client
    finally:
        client.close()
        process.terminate()
        process.wait(20)


def test_what_was_spent_together_is_still_spent_after_a_restart(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state")
    folder.prepare()
    port = free_port()
    with serving(folder, port) as proxy:
        with proxy.pipeline(transaction=True) as together:
            together.hset(BUDGET, "left", 40)
            together.set(SPENDINGS, 0)
            together.execute()
        spend = proxy.register_script(SPEND)
        spend(keys=[BUDGET, SPENDINGS], args=[-3])
        spend(keys=[BUDGET, SPENDINGS], args=[-4])

    with serving(folder, port) as proxy:
        assert proxy.hgetall(BUDGET) == {"left": "33"}
        assert proxy.get(SPENDINGS) == "2"


def test_nobody_comes_in_as_the_default_user(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state")
    folder.prepare()
    port = free_port()
    with serving(folder, port):
        for password in (None, "", "default"):
            once = Retry(NoBackoff(), 0)
            stranger = redis.Redis(port=port, username="default", password=password, retry=once)
            with stranger, pytest.raises((redis.AuthenticationError, redis.ResponseError)):
                stranger.get(BUDGET)
