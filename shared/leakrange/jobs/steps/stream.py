"""Have simulated users use an app once: what the controller asks of edge clients."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.samples import Span
from leakrange.jobs.step import Step, steps
from leakrange.strict import Strict, example
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Classes, Name

__all__ = ["STREAM", "Session", "SessionReply"]

MOST_TEXT = 4_194_304
"""Characters of the samples that a session brings."""


class Session(Strict):
    """``POST /v1/sessions`` of an edge client (operator key): let the simulated users use the app once.

    The client loads its users' samples (``span``), or takes those that a visitor of the range brings
    (``samples``: the text of an array (B, *shape), see `leakrange.wire.tensors.to_text`), and runs the model
    locally. It applies ``defence`` to
    the samples, the model and the outputs; ``obfuscators`` has the SHA-256 of the file of each trained
    obfuscator that ``defence`` names, by its digest. It uploads to ``url`` under ``api_key``, with ``upload``
    as idempotency key. The true labels go to the caller in the reply, never to the provider; of samples that
    were brought it knows none. With ``audit``
    it uses the model only if that passes.
    """

    model_config = example(
        {
            "url": "http://127.0.0.1:8701",
            "api_key": "the key of these users",
            "model": "digits",
            "release": "logits",
            "span": {"data": {"name": "digits"}, "split": "test", "start": 0, "stop": 20},
            "upload": "first-twenty",
        }
    )
    url: str
    api_key: str
    model: Name
    release: ReleaseKind
    span: Span | None = None
    samples: Annotated[str, Field(max_length=MOST_TEXT)] | None = None
    upload: str
    defence: list[dict[str, Any]] = []
    obfuscators: dict[str, str] = {}
    audit: AuditPlan | None = None
    asks: bool = False
    """Whether the users ask the model with their samples, since somebody else runs it: then nothing is
    downloaded, ``defence`` changes samples alone, and the reply brings the ``values`` that they got."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.span is None) == (self.samples is None):
            raise ValueError("a session has either a span of a data set or samples of its own")
        return self


class SessionReply(Strict):
    """What an edge client registers with the controller: the truth about its users' samples and the decisions
    they got."""

    upload: str
    samples: int
    decisions: Classes
    labels: dict[str, list[int]]
    """Per attribute of the data set, -1 where unknown; and which samples are near-copies of each other
    (`leakrange.data.resembling.NEAR_COPIES`)."""
    input_bytes: int
    sent_bytes: int
    """What stayed on the device and what left it."""
    values: str | None = None
    """The answers of a model that was asked: the text of an array (samples, N)."""


STREAM = Step("stream", label="users' uploads", rank=40, gate="sessions")
steps.register(STREAM.name, module=__name__)(STREAM)
