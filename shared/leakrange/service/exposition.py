"""The metrics of a service: each worker behind its port answers with those of all workers.

Each worker keeps its own, and lets the others read them over a Unix socket. Their samples are told apart by
a label ``worker``: so a worker that is replaced is a counter that begins anew, and no sum that goes back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from leakrange.service.workers import Worker, this_worker

__all__ = ["Exposition"]

WITHIN = 1.0
"""Seconds in which another worker tells its metrics; else they are left out."""


class Exposition:
    """The content of ``/metrics``; within `shared` the other workers can read it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry, self._me = registry, this_worker()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Let the other workers read, if there are any."""
        if self._me is None:
            yield
            return
        place = _socket(self._me.folder, self._me.number)
        place.unlink(missing_ok=True)  # of the one that this worker replaces
        async with await asyncio.start_unix_server(self._tell, place):
            yield

    async def text(self) -> bytes:
        """The samples in Prometheus' text format."""
        if self._me is None:
            return generate_latest(self._registry)
        return generate_latest(_Gathered(dict(await self._all(self._me))))

    async def _all(self, me: Worker) -> Iterable[tuple[int, str]]:
        others = sorted(int(place.stem) for place in me.folder.glob("*.sock") if place.stem != str(me.number))
        answers = await asyncio.gather(*(_ask(_socket(me.folder, number)) for number in others))
        texts = [(me.number, generate_latest(self._registry)), *zip(others, answers, strict=True)]
        return sorted((number, text.decode()) for number, text in texts if text is not None)

    async def _tell(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(generate_latest(self._registry))
            await writer.drain()
        writer.close()


class _Gathered(Collector):
    def __init__(self, texts: dict[int, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for number, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                metric = Metric(family.name, family.documentation, family.type)
                into = families.setdefault(family.name, metric)
                for name, labels, value, *_ in family.samples:
                    into.add_sample(name, {**labels, "worker": str(number)}, value)
        return families.values()


def _socket(folder: Path, number: int) -> Path:
    return folder / f"{number}.sock"


async def _ask(place: Path) -> bytes | None:
    try:
        async with asyncio.timeout(WITHIN):
            reader, writer = await asyncio.open_unix_connection(place)
            try:
                return await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return None  # it has just died, or is not up yet
