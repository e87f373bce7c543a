"""Redis that loses what it held, or is started again: jobs are found again from SQL, no answer goes out
unpaid, and nobody is refused for a connection that has died.
"""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
import pytest
import redis

from leakrange.clients.cli.embedded.process import kill_group
from leakrange.clients.cli.embedded.redis_server import redis_url
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.services.proxy.main import proxy
from leakrange.wire.tensors import encode_npy
from tests.cli.test_redis_server import free_port
from tests.cli.test_redis_server import serving as redis_serving
from tests.embedded import EmbeddedRange, wait_for
from tests.proxy.conftest import OPERATOR, Range, pictures, problem, settings, values
from tests.proxy.servers import Gate, clean, serve
from tests.range.conftest import Controller, job, scenario, significant


@pytest.mark.timeout(900)
def test_a_run_whose_queues_and_orders_are_lost_is_done_all_the_same(embedded_range: EmbeddedRange) -> None:
    controller = Controller(embedded_range)
    run = controller.start(scenario("queues-lost", defences=significant(4), chunk=4))
    controller.until(run, job("probe"))
    attacker = embedded_range.pid("attacker-1")
    assert attacker is not None
    with redis.Redis.from_url(embedded_range.redis_url("operator")) as broker:
        kill_group(attacker, signal.SIGSTOP)
        try:
            wait_for(lambda: broker.llen("probe") > 0, "a chunk to wait in the queue", 30)
            assert broker.keys("leakrange:order:*")
            broker.flushall()
        finally:
            kill_group(attacker, signal.SIGCONT)
    over = controller.finished(run)
    over.check(2)
    assert over.view["jobs"]["probe"]["total"] == 48
    assert over.account("attacker", "honest-s0.figures-4.q0")["spent"] == 192
    controller.client.close()


def test_an_answer_whose_account_was_lost_meanwhile_is_not_given_out(live: Range) -> None:
    """It could not be paid any more; asked again with a new account, it is paid once."""
    key, gate = live.key(10), Gate()
    live.provider.before = gate
    answers: list[httpx.Response] = []
    sent = encode_npy(pictures(3))
    asking = threading.Thread(
        target=lambda: answers.append(live.post(key, "logits", sent, Idempotency_Key="a"))
    )
    asking.start()
    assert gate.waiting.acquire(timeout=10)
    with redis.Redis.from_url(live.redis_url) as client:
        client.flushall()
    gate.open()
    asking.join()
    problem(answers[0], 503, "unavailable")
    live.admin("PUT", "/routes/digits", {"upstream": live.provider_url})
    live.key(10, key=key)
    again = live.post(key, "logits", sent, Idempotency_Key="a")
    np.testing.assert_array_equal(values(again), clean("logits", pictures(3)))
    account = live.account()
    assert (account["spent"], account["reserved"]) == (3, 0)


def test_nobody_is_refused_when_redis_is_back(tmp_path: Path) -> None:
    """Whoever asks first uses connections of before."""
    folder = StateFolder(tmp_path)
    folder.prepare()
    port = free_port()
    with ExitStack() as stack:
        with redis_serving(folder, port):
            url = stack.enter_context(serve(proxy(settings(redis_url(folder, port, "proxy")))))
            operator = {"Authorization": f"Bearer {OPERATOR}"}
            client = stack.enter_context(httpx.Client(base_url=url, headers=operator, timeout=20))
            with ThreadPoolExecutor(16) as pool:  # many at a time: many connections
                answers = list(pool.map(lambda _: client.get("/admin/keys"), range(160)))
            assert {answer.status_code for answer in answers} == {200}
        with redis_serving(folder, port):
            assert {client.get("/admin/keys").status_code for _ in range(40)} == {200}
