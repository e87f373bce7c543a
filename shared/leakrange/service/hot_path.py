"""Requests to models, answered in raw ASGI before the framework."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from dataclasses import dataclass, field

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leakrange.service.bodies import switches_protocol
from leakrange.service.exchange import CompleteAnswer, Disconnected, Request
from leakrange.service.memory import give_back_memory
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.turns import LARGE

__all__ = ["HUNG_UP", "Ending", "HotPath", "PiecewiseAnswer"]

log = structlog.get_logger("leakrange.service.hot_path")

HUNG_UP = 499
"""Status, in logs and metrics, of a request whose client went away before it was complete."""


@dataclass(slots=True)
class Ending:
    """The end of a request, for metrics and logs. It ``began`` then, by `time.perf_counter`."""

    request: Request
    endpoint: str = "(none)"
    outcome: str = "internal-error"
    status: int = 500
    began: float = field(default_factory=time.perf_counter)


class PiecewiseAnswer:
    """An answer that is passed on piece by piece; it knows whether it has ``started``."""

    __slots__ = ("_send", "started")

    def __init__(self, send: Send) -> None:
        self._send, self.started = send, False

    def to(self, request: Request) -> Send:
        """The function to send it with."""
        send = request.answering(self._send)

        async def passing(message: Message) -> None:
            self.started = True
            await send(message)

        return passing


class HotPath(ABC):
    """Answers the requests that it takes; everything else goes to ``app``.

    Most requests to a range are for a model's outputs. Such a request costs less than the framework's
    layers, dependency solving, request and response objects. Errors of `leakrange.wire.errors` become
    problem details here, too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    @abstractmethod
    def takes(self, scope: Scope) -> bool:
        """Whether it answers this HTTP request."""

    @abstractmethod
    def handler(
        self, request: Request, pieces: PiecewiseAnswer
    ) -> tuple[str, Awaitable[CompleteAnswer | None]]:
        """The endpoint of a request, and what answers it: None where ``pieces`` was the answer. Raises
        `LeakrangeError` for a path or a method that it does not know."""

    def _problem(self, error: LeakrangeError, request: Request) -> CompleteAnswer:
        """The answer of an error. Clients of the Open Inference Protocol read the member ``error``."""
        more = {"error": error.detail} if request.path.startswith("/v2") else {}
        return CompleteAnswer.problem(error, request.path[:500], more)

    @abstractmethod
    def ended(self, ending: Ending) -> None:
        """Count a request whose answer has been sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] != "http" or not self.takes(scope):
            return await self.app(scope, receive, send)
        request, pieces = Request(scope, receive), PiecewiseAnswer(send)
        ending = Ending(request)
        try:
            if (upgrade := switches_protocol(request.headers.raw)) is not None:
                raise upgrade
            ending.endpoint, handle = self.handler(request, pieces)
            answer = await handle
            ending.outcome, ending.status = (answer.outcome, answer.status) if answer else ("answered", 200)
            if answer:
                await answer.send(request.answering(send))
                if answer.after is not None:
                    answer.after()
        except Disconnected:
            ending.outcome, ending.status = "disconnected", HUNG_UP
        except LeakrangeError as error:
            ending.outcome, ending.status = error.slug, error.status
            await self._problem(error, request).send(request.answering(send))
        except Exception as error:
            ending.outcome, ending.status = "internal-error", 500
            if _closed(error):
                ending.outcome, ending.status = "disconnected", HUNG_UP
                return
            if pieces.started:
                raise  # the server closes the connection: the client sees that the answer is cut short
            log.error("unhandled error", path=request.path[:500], exc_info=error)
            bug = LeakrangeError("an error that nobody foresaw; the service's log tells more")
            await self._problem(bug, request).send(request.answering(send))
        finally:
            if request.size >= LARGE:
                give_back_memory()
            self.ended(ending)


def _closed(error: Exception) -> bool:
    """Whether the connection was closed a moment ago, so that the server does not know it yet."""
    return isinstance(error, RuntimeError) and "the handler is closed" in str(error)  # uvloop
