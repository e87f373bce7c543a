"""A provider that is slow, or talks nonsense, as clients of the proxy see it: a refusal in bounded time and
memory, nothing paid, and the next model answers."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import httpx
import numpy as np
import psutil
import pytest

from leakrange.wire.tensors import NPY, decode_npy, encode_npy
from tests.conftest import start_redis
from tests.faults.garbage import ANSWERS, OK, Garbage, garbage
from tests.proxy.conftest import OPERATOR, pictures
from tests.proxy.servers import StubProvider, clean
from tests.serving import proxy_process, serving

TIMEOUT = 1.5
"""Seconds that the proxy waits for a provider's whole answer."""
MOST = 4 * 2**20
"""Bytes that it takes of one."""
ROOM = 48 * 2**20
"""Bytes by which it may grow: some such answers, and what the allocator keeps."""


@dataclass
class Standing:
    """A proxy before a provider that answers and one that does not."""

    url: str
    process: psutil.Process
    garbage: Garbage
    client: httpx.Client

    def ask(self, model: str, key: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY, "Accept": NPY}
        return self.client.post(
            f"{self.url}/v1/models/{model}/logits", content=encode_npy(pictures(3)), headers=headers
        )

    def admin(self, method: str, path: str, **body: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        answer = self.client.request(method, f"{self.url}/admin{path}", json=body or None, headers=headers)
        assert answer.is_success, answer.text
        return answer


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    server, port = start_redis(tmp_path_factory.mktemp("redis"))
    limits = {"upstream_timeout": TIMEOUT, "reservation_seconds": 30, "max_answer": MOST}
    with (
        garbage() as (bad, bad_url),
        serving(StubProvider()) as good_url,
        proxy_process(f"redis://127.0.0.1:{port}/0", OPERATOR, **limits) as (url, process),
        httpx.Client(timeout=20) as client,
    ):
        made = Standing(url, psutil.Process(process.pid), bad, client)
        made.admin("PUT", "/routes/good", upstream=good_url)
        made.admin("PUT", "/routes/bad", upstream=bad_url)
        yield made
    server.kill()
    server.wait()


SLOW = {
    "never answers": b"",
    "drips its headers": b"HTTP/1.1 200 OK\r\nX-Slow: ",
    "drips its body": OK + b"Content-Length: 5000\r\n\r\n",
}


COMPLETE = ("length too short", "no content", "a bomb")
"""What is a whole file, whatever it holds."""


@pytest.mark.parametrize("what", [*ANSWERS, *SLOW])
def test_nonsense_is_refused_in_bounded_time_and_memory_and_nothing_is_paid(
    standing: Standing, what: str
) -> None:
    standing.garbage.say = ANSWERS.get(what) or partial(_drip, standing.garbage, SLOW.get(what, b""))
    made = standing.admin("POST", "/keys", name="tester", budget=6).json()
    before, begun = standing.process.memory_info().rss, time.monotonic()
    answer = standing.ask("bad", made["key"])
    seconds, grown = time.monotonic() - begun, standing.process.memory_info().rss - before
    assert answer.status_code in (502, 503), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert ("Retry-After" in answer.headers) == (answer.status_code == 503)
    assert seconds < TIMEOUT + 1.5
    assert grown < ROOM, f"{grown / 2**20:.0f} MiB"
    after = standing.ask("good", made["key"])
    np.testing.assert_array_equal(decode_npy(after.content), clean("logits", pictures(3)))
    account = standing.admin("GET", f"/keys/{made['id']}").json()
    assert (account["spent"], account["refunded"], account["reserved"]) == (3, 3, 0)


@pytest.mark.parametrize("what", [*ANSWERS, *SLOW])
def test_a_file_of_nonsense_is_refused_or_cut_short_in_bounded_time_and_memory(
    standing: Standing, what: str
) -> None:
    """A file is passed on as it comes, so the refusal may come too late for a status."""
    standing.garbage.say = ANSWERS.get(what) or partial(_drip, standing.garbage, SLOW.get(what, b""))
    made = standing.admin("POST", "/keys", name="tester", budget=3).json()
    before, begun = standing.process.memory_info().rss, time.monotonic()
    headers = {"Authorization": f"Bearer {made['key']}"}
    url = f"{standing.url}/v1/models/bad/artifact"
    status = 0
    with suppress(httpx.RemoteProtocolError), standing.client.stream("GET", url, headers=headers) as answer:
        status = answer.status_code
        for _ in answer.iter_raw():
            continue
        assert status in (502, 503) or what in COMPLETE
    assert status in (200, 502, 503)
    assert time.monotonic() - begun < TIMEOUT + 1.5
    assert standing.process.memory_info().rss - before < ROOM
    assert standing.ask("good", made["key"]).status_code == 200


def _drip(server: Garbage, answer: bytes, connection: socket.socket) -> None:
    """Without an ``answer`` nothing is sent."""
    if answer:
        server.drip(connection, answer)
    server.over.wait(TIMEOUT + 5)
