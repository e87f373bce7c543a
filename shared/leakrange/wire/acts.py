"""What the operator of a range did: one entry an act, in a chain that shows whether one was changed or
removed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson
from pydantic import BaseModel

__all__ = ["Act", "ActList", "ChainedAct", "ProxyActs", "chained", "intact"]


class Act(BaseModel):
    """A request that changes something and that showed an operator's key or login, whatever its answer.

    ``id`` is given where it happened, and ``party`` is there: ``controller`` or ``proxy``. ``by`` is ``key``
    with the beginning of the key's SHA-256, or ``login``. ``change`` is what of the body may be shown,
    ``made`` the address of what was created.
    """

    id: str
    at: datetime
    party: str
    by: str
    address: str
    method: str
    path: str
    status: int
    change: dict[str, Any] | None = None
    made: str | None = None


class ProxyActs(BaseModel):
    """Acts at a proxy, in order of time."""

    acts: list[Act]


class ChainedAct(Act):
    """An act with its place in the log; ``digest`` covers it and all before it."""

    number: int
    digest: str


class ActList(BaseModel):
    """A page of the log. ``intact``: each of its digests follows from the one before."""

    acts: list[ChainedAct]
    intact: bool


def chained(before: str, act: Act) -> str:
    """Return the digest (SHA-256, hex) of ``act`` behind the act whose digest is ``before``, empty for the
    first."""
    shown = Act.model_validate(act.model_dump(include=set(Act.model_fields)))
    content = orjson.dumps(shown.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(before.encode() + content).hexdigest()


def intact(before: str, acts: Iterable[ChainedAct]) -> bool:
    """Whether the digest of each act follows from the one before it; ``before`` is that before the first."""
    for act in acts:
        if chained(before, act) != act.digest:
            return False
        before = act.digest
    return True
