"""How the launcher sees that a worker is ready, while Redis itself comes and goes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from celery import Celery

from leakrange.clients.cli.embedded.parties import Process
from leakrange.clients.cli.embedded.readiness import Readiness
from tests.conftest import start_redis
from tests.embedded import wait_for

PID = 7


@contextmanager
def answering(worker: Process) -> Iterator[None]:
    """A worker as far as its mailbox goes, until the block ends."""
    ended = threading.Event()
    with Celery(broker=worker.url, set_as_current=False) as app, app.connection() as connection:
        node = app.control.mailbox.Node(
            worker.node(PID), handlers={"ping": lambda _state: "pong"}, channel=connection.default_channel
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
    worker = Process("attacker-1", (), {}, None, "celery", f"redis://127.0.0.1:{port}/0", "probe,fit")
    ready = Readiness()
    with answering(worker):
        wait_for(lambda: ready(worker, PID), "the worker's answer", 20)
    process.kill()
    process.wait()
    assert not ready(worker, PID)
    process, _ = start_redis(tmp_path, port)
    try:
        with answering(worker):
            wait_for(lambda: ready(worker, PID), "the answer of its successor", 20)
    finally:
        process.kill()
        process.wait()
