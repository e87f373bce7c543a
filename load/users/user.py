"""The base of all load users: they take a chunk of questions, ask the proxy, and hand in its answers."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any, ClassVar

import gevent
from locust import FastHttpUser, constant, task

from leakrange.defences.chain import DefenceChain, questions
from leakrange.load.users.desk import Desk
from leakrange.scenario.load import UserKind
from leakrange.services.controller.load.schemas import OfferedChunk
from leakrange.wire.tensors import NPY, encode_npy

__all__ = ["IDLE", "LoadUser", "desk_of"]

IDLE = 0.25
"""Seconds that a user without a question waits."""
TRIES = 30
"""Attempts at a chunk that the proxy fails to answer: a restart takes a few."""
PASSING = (0, 408, 409, 425, 500, 502, 503, 504)
"""Statuses of failures that may pass: nobody answered, the answer is on its way to somebody else, or a party
restarts."""


@lru_cache(maxsize=4)
def _desk(controller: str, key: str, run: str) -> Desk:
    return Desk(controller, key, run)


def desk_of(run: str) -> Desk:
    """The desk of a run, at the controller of ``LEAKRANGE_URL``. Ends the process where that variable, or the
    operator key, is missing."""
    controller, key = os.environ.get("LEAKRANGE_URL"), os.environ.get("LEAKRANGE_OPERATOR_KEY")
    if not (run and controller and key):
        raise SystemExit(
            "load users need --leakrange-run, LEAKRANGE_URL and LEAKRANGE_OPERATOR_KEY, as 'leakrange load'"
            " gives them"
        )
    return _desk(controller, key, run)


class LoadUser(FastHttpUser):
    """Asks as fast as it is answered. Requests appear in the statistics under the defence's name and the
    user's ``kind``; those that were refused (429) or failed are counted apart."""

    abstract = True
    kind: ClassVar[UserKind]
    host = "http://the-proxy.invalid"  # never used: offers come with whole addresses
    wait_time = constant(0)
    network_timeout = connection_timeout = 60.0

    def on_start(self) -> None:
        """Find the desk."""
        self.desk = desk_of(self.environment.parsed_options.leakrange_run)

    @task
    def ask(self) -> None:
        """Ask one chunk, or wait for one."""
        chunk = self.desk.take(self.kind)
        if chunk is None:
            gevent.sleep(IDLE)
        else:
            self.carry_out(chunk)

    def carry_out(self, chunk: OfferedChunk) -> None:
        """Ask a chunk until it is answered, or refused for good, and hand the outcome in."""
        job, over = chunk.job, False
        url = f"{job.url.rstrip('/')}/v1/models/{job.model}/{job.endpoint}"
        headers = {
            "Authorization": f"Bearer {chunk.key}",
            "Content-Type": NPY,
            "Accept": NPY,
            "Idempotency-Key": chunk.identity,
        }
        try:
            body = encode_npy(questions(job, DefenceChain.parse(job.defence)))
            for turn in range(TRIES):
                pause = self._once(chunk, url, headers, body, last=turn == TRIES - 1)
                if pause is None:
                    over = True
                    return
                gevent.sleep(pause)
        finally:
            if not over:
                self.desk.give_back(self.kind, chunk)

    def _once(
        self, chunk: OfferedChunk, url: str, headers: dict[str, str], body: Any, *, last: bool
    ) -> float | None:
        """Ask once with a ``body`` of bytes, of which Locust's types do not know. Returns None where that was
        the end of it, else the seconds until the next attempt."""
        with self.client.post(
            url,
            data=body,
            headers=headers,
            name=chunk.defence,
            catch_response=True,
        ) as answer:
            status, content = answer.status_code, answer.content or b""
            self.note(answer, status)
            waits = answer.headers.get("Retry-After") if answer.headers else None
        if status == 200:
            self.desk.hand_in(chunk.identity, content)
            return None
        if status == 429 and waits is not None:
            return float(waits)
        if status in PASSING and not last:
            return float(waits or 1.0)
        reason = content.decode(errors="replace")[:500] or "no answer"
        limit = _limit(content) if status == 429 else None
        self.desk.refuse(chunk.identity, f"HTTP {status}: {reason}", limit)
        return None

    def note(self, answer: Any, status: int, wrong: str = "") -> None:
        """Count a request as answered, refused or failed; ``wrong`` is the mistake of an answer that came."""
        outcome = "" if status in (200, 204) and not wrong else " refused" if status == 429 else " failed"
        answer.request_meta["request_type"] = f"{self.kind}{outcome}"
        if outcome == " failed":
            answer.failure(wrong or f"HTTP {status}")
        else:
            answer.success()


def _limit(content: bytes) -> str | None:
    """The limit that a refusal names; None where it names none."""
    try:
        problem = json.loads(content)
    except ValueError:
        return None
    return problem.get("limit") if isinstance(problem, dict) else None
