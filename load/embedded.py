"""An embedded range for a benchmark or a drill, as its operator sees it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from leakrange.client.embedded import RangeRecord
from leakrange.clients.cli.embedded.launcher import Settings, detach, stop
from leakrange.clients.cli.embedded.state import StateFolder

__all__ = ["PATIENCE", "EmbeddedRange", "embedded_range"]

PATIENCE = 600.0
"""Seconds that a party may take to answer."""


@dataclass(frozen=True)
class EmbeddedRange:
    """A range in ``folder``; ``first`` is its record when it was ready for the first time."""

    folder: StateFolder
    first: RangeRecord

    def ask(self, method: str, url: str, **more: Any) -> Any:
        """The answer of a party to its operator. The question is repeated, since the party may be
        restarting."""
        headers = {"Authorization": f"Bearer {self.first.operator_key}"}
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer = httpx.request(method, url, headers=headers, timeout=60, trust_env=False, **more)
                if answer.status_code < 500 or time.monotonic() > deadline:
                    answer.raise_for_status()
                    return answer.json()
            except httpx.TransportError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)


@contextmanager
def embedded_range(workers: int) -> Iterator[EmbeddedRange]:
    """Run a range with so many attackers in a temporary folder; it is stopped at the end."""
    with TemporaryDirectory(prefix="leakrange-load-") as root:
        folder = StateFolder(Path(root))
        record = detach(Settings(folder, base=0, workers=workers), starting=lambda _: None)
        try:
            yield EmbeddedRange(folder, record)
        finally:
            stop(folder, print)
