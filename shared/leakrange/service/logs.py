"""Structured logs: one JSON object a line on standard error, never with keys or bodies."""

from __future__ import annotations

import logging
import sys

import structlog

from leakrange import tracing

__all__ = ["configure_logs"]


def configure_logs(party: str, level: str = "info") -> None:
    """Send all logs to standard error, one JSON object a line, each carrying ``party``, and the id of its
    ``trace`` if there is one."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]

    def name_party(
        _logger: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        event.setdefault("party", party)
        if (trace := tracing.trace_id()) is not None:
            event.setdefault("trace", trace)
        return event

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        processors=[*shared, name_party, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, name_party],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for noisy in ("uvicorn.access", "httpx", "httpcore", "aiosqlite"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # warns of every malformed body
