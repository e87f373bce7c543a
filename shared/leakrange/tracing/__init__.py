"""Spans of what parties do for each other, in OpenTelemetry's terms. Off unless a process turns it on
(`use`); off, each of these functions costs a fraction of a microsecond.

A trace goes over HTTP in the header ``traceparent`` (W3C Trace Context), and by the same name in messages to
the fleet. No other header of tracing is sent or read: ``tracestate`` and ``baggage`` could hold anything.

What a proxy or a provider is sent begins a trace of its own (`outward`). The id is random, and no two
requests share one, so it tells nobody whose request it is, or of which run; the link to what caused it stays
with who asks. Only parties of the operator get the trace of a run (`inward`).
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
    """Whether it is on."""
    return _spans is not None


def span(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """A step of what is being done."""
    return _NOTHING if _spans is None else _spans.child(name, attributes)


def root(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """Something that was begun by what is being done, and goes on by itself: a trace of its own."""
    return _NOTHING if _spans is None else _spans.root(name, attributes)


def outward(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """What is asked of a proxy or a provider: a trace of its own, which every call in the block carries."""
    return _NOTHING if _spans is None else _spans.root(name, attributes, carries=True)


def inward(name: str, **attributes: Value) -> AbstractContextManager[None]:
    """What is asked of a party that may know of the run: every call in the block carries this trace."""
    return _NOTHING if _spans is None else _spans.child(name, attributes, carries=True)


def call(method: str, url: str) -> AbstractContextManager[Mapping[str, str]]:
    """A request over HTTP, and the headers to send with it; `outward`, unless it is part of such a block."""
    return _NOTHING_TO_SEND if _spans is None else _spans.call(method, url)


def carried() -> Mapping[str, str]:
    """The header that continues this trace elsewhere; none where there is no trace."""
    return _NO_HEADERS if _spans is None else _spans.carried()


def received(
    name: str,
    traceparent: str | None,
    kind: Literal["server", "consumer", "internal"] = "internal",
    **attributes: Value,
) -> AbstractContextManager[None]:
    """What somebody else began, as ``traceparent`` tells; a trace of its own where that is missing or
    nonsense."""
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
    """The id of this trace, 32 hexadecimal characters; None where there is none."""
    return None if _spans is None else _spans.trace_id()
