"""Spans of what parties do for each other, in OpenTelemetry's terms. Off unless a process turns it on
(`use`); off, each of these functions costs a fraction of a microsecond.

A trace goes over HTTP in the header ``traceparent`` (W3C Trace Context), and by the same name in messages to
the fleet. No other header of tracing is sent or read: ``tracestate`` and ``baggage`` could hold anything.

A request to a proxy or a provider begins a trace of its own (`outward`). The id is random, and no two
requests share one, so it tells nobody whose request it is, or of which run; the link to its cause stays with
the sender. Only parties of the operator get the trace of a run (`inward`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from leakrange.tracing.spans import Spans, Value

__all__ = [
    "TRACEPARENT",
    "call",
    "carried",
    "flush",
    "inward",
    "note",
    "on",
    "outward",
    "received",
    "root",
    "span",
    "trace_id",
    "use",
]

TRACEPARENT: Final = "traceparent"
_NOTHING: Final[AbstractContextManager[None]] = nullcontext()
_NO_HEADERS: Final[Mapping[str, str]] = {}
_NOTHING_TO_SEND: Final[AbstractContextManager[Mapping[str, str]]] = nullcontext(_NO_HEADERS)
_spans: Spans | None = None


def use(spans: Spans | None) -> None:
    """Turn tracing on in this process, or off."""
    global _spans
    _spans = spans


def on() -> bool:
    """Return whether tracing is on."""
    return _spans is not None


def span(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """Open a span for a step of the present work."""
    return _NOTHING if _spans is None else _spans.child(name, attributes)


def root(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """Open a trace of its own for work that the present work begins and that goes on by itself."""
    return _NOTHING if _spans is None else _spans.root(name, attributes)


def outward(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """Open a trace of its own for requests to a proxy or a provider; every call in the block carries it."""
    return _NOTHING if _spans is None else _spans.root(name, attributes, carries=True)


def inward(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """Open a span in which every call carries this trace: for requests to parties that may know of the
    run."""
    return _NOTHING if _spans is None else _spans.child(name, attributes, carries=True)


def call(method: str, url: str) -> AbstractContextManager[Mapping[str, str]]:
    """Open a span for a request over HTTP, and yield the headers to send with it; `outward`, unless in such a
    block."""
    return _NOTHING_TO_SEND if _spans is None else _spans.call(method, url)


def carried() -> Mapping[str, str]:
    """Return the header that continues this trace elsewhere; none without a trace."""
    return _NO_HEADERS if _spans is None else _spans.carried()


def received(
    name: str,
    traceparent: str | None,
    kind: Literal["server", "consumer", "internal"] = "internal",
    **attributes: Value,
) -> AbstractContextManager[None]:
    """Continue the trace that ``traceparent`` names; begin a new one if that is missing or malformed."""
    return _NOTHING if _spans is None else _spans.received(name, traceparent, kind, attributes)


def flush() -> None:
    """Send the spans that still wait, before the process ends."""
    if _spans is not None:
        _spans.flush()


def note(**attributes: Value) -> None:
    """Add to the attributes of the span that is open."""
    if _spans is not None:
        _spans.note(attributes)


def trace_id() -> str | None:
    """Return the id of this trace, 32 hexadecimal characters; None if there is none."""
    return None if _spans is None else _spans.trace_id()
