"""What the controller asks of an edge client: one visit of its users."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from leakrange.jobs.job import Span
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Name

__all__ = ["Session", "SessionReply"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Session(_Strict):
    """``POST /v1/sessions`` of an edge client (operator key): let the simulated users use the app once.

    The client loads its users' samples (``span``), runs the model locally, applies ``defence`` (to the
    model before, to its outputs after), uploads to ``url`` under ``api_key`` with ``upload`` as idempotency
    key, and tells the ground truth to the caller in its reply, never to the provider.
    """

    url: str
    api_key: str
    model: Name
    release: ReleaseKind
    span: Span
    upload: str
    defence: list[dict[str, Any]] = []


class SessionReply(_Strict):
    """What an edge client registers with the controller: the truth about its users' samples and the decisions
    they got."""

    upload: str
    samples: int
    decisions: list[int]
    labels: dict[str, list[int]]
    """Per attribute of the data set; -1 where unknown."""
    input_bytes: int
    sent_bytes: int
    """What stayed on the device and what left it."""
