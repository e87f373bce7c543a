"""Server-sent events, read as a browser does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import orjson

__all__ = ["events"]


def events(client: httpx.Client, run: str, query: str = "", **more: Any) -> Iterator[dict[str, Any]]:
    """The events of a run as they come, each ``{id, event, data}``, until the server ends the stream."""
    with client.stream("GET", f"/v1/runs/{run}/events{query}", **more) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            if line.startswith(":"):
                continue
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                data = orjson.loads(fields["data"])
                assert data["at"]
                yield {"id": int(fields["id"]), "event": fields["event"], "data": data}
                fields = {}
