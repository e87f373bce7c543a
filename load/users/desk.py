"""The source of questions for the users of one process, and the place for their answers: the controller."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import gevent
import httpx

from leakrange.scenario.load import UserKind
from leakrange.scenario.under_load import LoadPart
from leakrange.services.controller.load.schemas import LoadView, OfferedChunk, OfferedQuestions, OfferedVisit
from leakrange.wire.tensors import NPY

__all__ = ["Desk"]

log = logging.getLogger("load")
AT_ONCE = 4
"""Chunks that one request fetches."""
PAUSE = 0.5
T = TypeVar("T")


class Desk:
    """The controller's offers of one run. Each request is repeated until it is answered, since the controller
    may be restarting."""

    def __init__(self, controller: str, operator_key: str, run: str) -> None:
        headers = {"Authorization": f"Bearer {operator_key}"}
        base = f"{controller.rstrip('/')}/v1/runs/{run}"
        self._client = httpx.Client(base_url=base, headers=headers, timeout=60, trust_env=False)
        self._chunks: dict[UserKind, deque[OfferedChunk]] = {}
        self.visits: list[OfferedVisit] = []
        """Models that honest users may visit, as far as they were offered."""

    def view(self) -> LoadView:
        """Which users the run wants, and whether it is over."""
        return self._ask("GET", "/load", LoadView.model_validate_json)

    def take(self, kind: UserKind) -> OfferedChunk | None:
        """A chunk for a user of that kind; None where there is nothing to ask at the moment."""
        chunks = self._chunks.setdefault(kind, deque())
        if not chunks:
            wish = {"kind": kind, "most": AT_ONCE}
            offered = self._ask("POST", "/offers", OfferedQuestions.model_validate_json, json=wish)
            chunks.extend(offered.chunks)
            self.visits = offered.visits or self.visits
        return chunks.popleft() if chunks else None

    def give_back(self, kind: UserKind, chunk: OfferedChunk) -> None:
        """Return the chunk of a stopped user, for another user of this process."""
        self._chunks.setdefault(kind, deque()).appendleft(chunk)

    def hand_in(self, identity: str, answers: bytes) -> None:
        """Hand in the answers to a chunk, as npy."""
        self._ask("PUT", f"/releases/{identity}", bytes, content=answers, headers={"Content-Type": NPY})

    def refuse(self, identity: str, reason: str, limit: str | None = None) -> None:
        """Report why a chunk gets no answers, and the limit of the proxy that refuses for good, if any."""
        self._ask("PUT", f"/refusals/{identity}", bytes, json={"reason": reason[:2000], "limit": limit})

    def report(self, part: str, figures: LoadPart) -> None:
        """Report the statistics of this load test so far."""
        self._ask("PUT", f"/load/{part}", bytes, json=figures.model_dump(mode="json"))

    def _ask(self, method: str, path: str, read: Callable[[bytes], T], **more: Any) -> T:
        while True:
            try:
                answer = self._client.request(method, path, **more)
                if answer.status_code < 500:
                    answer.raise_for_status()
                    return read(answer.content)
                log.warning("the controller answered %s to %s", answer.status_code, path)
            except httpx.TransportError as error:
                log.warning("the controller does not answer: %s", error)
            gevent.sleep(PAUSE)
