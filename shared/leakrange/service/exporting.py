"""Exports spans: to a collector over OTLP, or to a folder as JSON lines. Needs OpenTelemetry's SDK."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import StatusCode

from leakrange.tracing.spans import Spans

__all__ = ["JsonLines", "spans_of"]

log = structlog.get_logger("leakrange.service.exporting")


class _Ids(IdGenerator):
    """Ids from the operating system: those of `random` repeat in forked processes, and with its seeds."""

    def generate_span_id(self) -> int:
        return secrets.randbits(64) or 1

    def generate_trace_id(self) -> int:
        return secrets.randbits(128) or 1

    def is_trace_id_random(self) -> bool:
        return True


class JsonLines(SpanExporter):
    """Appends each span to ``{party}-{process id}.jsonl`` in a folder, when it ends; one line each.

    ``trace``, ``span``, ``parent`` and ``links`` are ids in hexadecimal, ``at`` is the Unix time of its
    beginning. A line is one write, so that forked processes cannot mix theirs.
    """

    def __init__(self, folder: Path, party: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._party = folder, party
        self._file: tuple[int, int] | None = None
        """The process that opened it, and its descriptor."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append spans."""
        try:
            for span in spans:
                os.write(self._open(), orjson.dumps(_record(span, self._party)) + b"\n")
        except OSError as error:
            log.warning("a span cannot be stored", error=str(error))
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def _open(self) -> int:
        me = os.getpid()
        if self._file is None or self._file[0] != me:
            place = self._folder / f"{self._party}-{me}.jsonl"
            self._file = me, os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return self._file[1]


def _record(span: ReadableSpan, party: str) -> dict[str, Any]:
    here = span.get_span_context()
    assert here is not None
    begun, ended = span.start_time or 0, span.end_time or 0
    record: dict[str, Any] = {
        "trace": f"{here.trace_id:032x}",
        "span": f"{here.span_id:016x}",
        "parent": None if span.parent is None else f"{span.parent.span_id:016x}",
        "party": party,
        "name": span.name,
        "kind": span.kind.name.lower(),
        "at": begun / 1e9,
        "seconds": round((ended - begun) / 1e9, 6),
        "attributes": dict(span.attributes or {}),
        "links": [
            {"trace": f"{link.context.trace_id:032x}", "span": f"{link.context.span_id:016x}"}
            for link in span.links
        ],
    }
    if span.status.status_code is StatusCode.ERROR:
        record["error"] = (span.status.description or "")[:300]
    return record


def spans_of(party: str, folder: Path | None, *, collector: bool, passes_on: bool) -> Spans:
    """The spans of a process that plays ``party``."""
    named = Resource.create({"service.name": party, "service.namespace": "leakrange"})
    provider = TracerProvider(resource=named, id_generator=_Ids())
    if folder is not None:
        provider.add_span_processor(SimpleSpanProcessor(JsonLines(folder, party)))
    if collector:
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Spans(
        provider.get_tracer("leakrange"), passes_on=passes_on, flush=lambda: provider.force_flush(3000)
    )
