"""The implementation of `leakrange.tracing` when it is on. Nothing else imports it: it needs
OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Literal
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, TraceFlags, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from leakrange.tracing.paths import pattern

__all__ = ["Spans", "Value"]

Value = str | int | float | bool
_PROPAGATOR = TraceContextTextMapPropagator()
_KINDS = {"server": SpanKind.SERVER, "consumer": SpanKind.CONSUMER, "internal": SpanKind.INTERNAL}
_carries: ContextVar[bool] = ContextVar("leakrange_trace_carries", default=False)
"""Whether calls carry the trace that they are made in."""


class Spans:
    """Spans of one process. With ``passes_on``, as at a proxy, the traces that it receives go on with its own
    calls."""

    def __init__(
        self, tracer: Tracer, *, passes_on: bool = False, flush: Callable[[], object] = lambda: None
    ) -> None:
        self._tracer, self._passes_on, self.flush = tracer, passes_on, flush

    def child(
        self, name: str, attributes: Mapping[str, Value], *, carries: bool | None = None
    ) -> AbstractContextManager[None]:
        """See `leakrange.tracing.span`."""
        return self._opened(name, attributes, carries=carries)

    def root(
        self, name: str, attributes: Mapping[str, Value], *, carries: bool = False
    ) -> AbstractContextManager[None]:
        """See `leakrange.tracing.root`."""
        return self._opened(name, attributes, parent=Context(), links=_here(), carries=carries)

    @contextmanager
    def call(self, method: str, url: str) -> Iterator[Mapping[str, str]]:
        """See `leakrange.tracing.call`."""
        parts = urlsplit(url)
        attributes = {"http.request.method": method, "server.address": parts.netloc}
        alone = not _carries.get()
        with self._opened(
            f"{method} {pattern(parts.path)}",
            attributes,
            kind=SpanKind.CLIENT,
            parent=Context() if alone else None,
            links=_here() if alone else (),
        ):
            yield self.carried()

    def carried(self) -> Mapping[str, str]:
        """See `leakrange.tracing.carried`."""
        here = trace.get_current_span().get_span_context()
        if not here.is_valid:
            return {}
        sampled = int(here.trace_flags.sampled)
        return {"traceparent": f"00-{here.trace_id:032x}-{here.span_id:016x}-{sampled:02x}"}

    def received(
        self,
        name: str,
        traceparent: str | None,
        kind: Literal["server", "consumer", "internal"],
        attributes: Mapping[str, Value],
    ) -> AbstractContextManager[None]:
        """See `leakrange.tracing.received`."""
        return self._opened(
            name,
            attributes,
            kind=_KINDS[kind],
            parent=_remote_context(traceparent),
            links=_here(),
            carries=self._passes_on,
        )

    def note(self, attributes: Mapping[str, Value]) -> None:
        """See `leakrange.tracing.note`."""
        trace.get_current_span().set_attributes(attributes)

    def trace_id(self) -> str | None:
        """See `leakrange.tracing.trace_id`."""
        here = trace.get_current_span().get_span_context()
        return f"{here.trace_id:032x}" if here.is_valid else None

    @contextmanager
    def _opened(
        self,
        name: str,
        attributes: Mapping[str, Value],
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        parent: Context | None = None,
        links: Sequence[Link] = (),
        carries: bool | None = None,
    ) -> Iterator[None]:
        before = None if carries is None else _carries.set(carries)
        try:
            with self._tracer.start_as_current_span(
                name, parent, kind, attributes, links, record_exception=False
            ):
                yield
        finally:
            if before is not None:
                _carries.reset(before)


def _remote_context(traceparent: str | None) -> Context:
    """Return the context with the ids of a header and no other field: not the flag whether to record, either,
    by which a provider could tell clients apart."""
    carrier = {} if traceparent is None else {"traceparent": traceparent}
    remote = trace.get_current_span(_PROPAGATOR.extract(carrier, Context())).get_span_context()
    if not remote.is_valid:
        return Context()
    sampled = SpanContext(remote.trace_id, remote.span_id, True, TraceFlags(TraceFlags.SAMPLED))
    return trace.set_span_in_context(NonRecordingSpan(sampled), Context())


def _here() -> Sequence[Link]:
    here = trace.get_current_span().get_span_context()
    return (Link(here),) if here.is_valid else ()
