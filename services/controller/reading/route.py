"""Routes whose requests another process answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

from leakrange.services.controller.reading.process import ReadingProcess

__all__ = ["Expensive"]


class Expensive(APIRoute):
    """A route that takes long. The controller passes its requests to the process that reads for it, once it
    knows that the visitor may read; that process runs the endpoint."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Overrides FastAPI's method."""
        here = super().get_route_handler()

        async def handle(request: Request) -> Response:
            process: ReadingProcess | None = getattr(request.app.state, "reading", None)
            if process is None:  # this is that process
                return await _here(here(request))
            return await process.answer(request)

        return handle


async def _here(answering: Coroutine[Any, Any, Response]) -> Response:
    """The answer. If it takes more memory than there is, the process ends, and another is begun: freed memory
    is scattered, and the next large read would find none either."""
    try:
        return await answering
    except MemoryError:
        os._exit(1)
    except orjson.JSONDecodeError as error:
        if "memory" not in str(error):  # orjson's error when it gets no memory
            raise
        os._exit(1)
