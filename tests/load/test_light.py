from __future__ import annotations

from typing import Any

import pytest

from leakrange.load.bench.light import ask
from tests.serving import serving


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Echoes; what is not asked rightly is refused."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message["body"]
        more = message["more_body"]
    right = scope["method"] == "POST" and body == 70_000 * b"a" and (b"x-it", b"1") in scope["headers"]
    app.asked += 1  # type: ignore[attr-defined]
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200 if right else 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def test_every_answer_is_timed_and_a_refusal_ends_the_measurement() -> None:
    app.asked = 0  # type: ignore[attr-defined]
    with serving(app) as url:
        times, took = ask(f"{url}/path", {"X-It": "1"}, 70_000 * b"a", 4, 0.3)
        assert len(times) == app.asked  # type: ignore[attr-defined]
        assert 0 < min(times) <= max(times) < took
        assert took > 0.29  # timers are early by less than a tick
        assert sum(times) <= 4 * took
        with pytest.raises(SystemExit, match="no success"):
            ask(f"{url}/path", {}, b"b", 4, 0.1)
