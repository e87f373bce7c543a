"""How the launcher sees that a worker is ready, while Redis itself comes and goes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from celery import Celery

from clients.cli.embedded.parties import Process
from clients.cli.embedded.readiness import Readiness
from tests.conftest import start_redis
from tests.embedded import wait_for

WORKER = Process("attacker-1", (), {}, None, "celery", "probe,fit")
PID = 7


@contextmanager
def answering(redis_url: str) -> Iterator[None]:
    """A worker as far as its mailbox goes, until the block ends."""
    ended = threading.Event()
    with Celery(broker=redis_url, set_as_current=False) as app, app.connection() as connection:
        node = app.control.mailbox.Node(
            WORKER.node(PID), handlers={"ping": lambda _state: "pong"}, channel=connection.default_channel
        )

        def answer() -> None:
            with node.listen(callback=node.handle_message):
                while not ended.is_set():
                    try:
                        connection.drain_events(timeout=0.1)
                    except TimeoutError:
                        continue

        thread = threading.Thread(target=answer)
        thread.start()
        yield
        ended.set()
        thread.join()


def test_a_worker_is_not_ready_while_redis_is_away_and_is_found_when_it_is_back(tmp_path: Path) -> None:
    process, port = start_redis(tmp_path)
    url = f"redis://127.0.0.1:{port}/0"
    ready = Readiness(url)
    with answering(url):
        wait_for(lambda: ready(WORKER, PID), "the worker's answer", 20)
    process.kill()
    process.wait()
    assert not ready(WORKER, PID)
    process, _ = start_redis(tmp_path, port)
    try:
        with answering(url):
            wait_for(lambda: ready(WORKER, PID), "the answer of its successor", 20)
    finally:
        process.kill()
        process.wait()
