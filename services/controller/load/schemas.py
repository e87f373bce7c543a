"""Schemas of what load users and the controller tell each other."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.scenario.load import LoadSpec, UserKind
from leakrange.strict import Strict, example
from leakrange.wire.releases import ReleaseKind


class Wish(Strict):
    """What users of a ``kind`` want: up to so many chunks."""

    model_config = example({"kind": "membership", "most": 2})
    kind: UserKind
    most: Annotated[int, Field(ge=1, le=100)] = 1


class OfferedChunk(Strict):
    """Questions of an attack: the ``job`` says where, about what, and at which endpoint, ``key`` with which
    API key. ``identity`` is to be sent as ``Idempotency-Key``, and names the answers."""

    identity: str
    job: ProbeJob
    key: Annotated[str, Field(repr=False)]
    defence: str


class OfferedVisit(Strict):
    """A model that honest users download and run on samples of ``data``, and to whose provider they upload
    the outputs; or that they ask at its ``endpoint``, where nobody may have it."""

    url: str
    key: Annotated[str, Field(repr=False)]
    model: str
    release: ReleaseKind
    defence: str
    data: DataSpec
    plain: bool
    """Whether the decision on outputs is the class of their greatest value."""
    endpoint: str | None = None


class OfferedQuestions(Strict):
    """The chunks that were taken, and for honest users all models that they may visit. ``over``: nothing will
    be offered any more."""

    chunks: list[OfferedChunk] = []
    visits: list[OfferedVisit] = []
    over: bool


class LoadView(Strict):
    """A run under load, as whoever makes the load sees it: ``waiting`` are the chunks that nobody has
    taken."""

    spec: LoadSpec
    waiting: int
    over: bool


class Refusal(Strict):
    """Why a chunk gets no answers, and the ``limit`` of the proxy that gives none for good."""

    model_config = example({"reason": "the budget of the key is spent", "limit": "a-hundred-a-minute"})
    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    limit: Annotated[str, Field(min_length=1, max_length=128)] | None = None
