"""Bodies of the native API that more than one party reads or writes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from leakrange.wire.jobs import ReleaseKind, Span

__all__ = [
    "MAX_BATCH",
    "Decisions",
    "Deployment",
    "IntakeRecord",
    "ModelCard",
    "Releases",
    "Round",
    "RoundReply",
    "Upload",
]

MAX_BATCH = 256
"""Most samples of one inference request, unless a provider's operator says otherwise."""

Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class ModelCard(_Strict):
    """What a provider says of a model (``GET /v1/models/{model}``). It never tells the behaviour."""

    name: Name
    version: str
    sha256: str
    """Of the public artifact, as ``GET /v1/models/{model}/artifact`` sends it."""
    task: str
    """The target attribute."""
    classes: list[str]
    input_shape: tuple[int, int, int]
    """Height, width, channels; uint8 0..255, or float32 in [0, 1]."""
    releases: list[ReleaseKind]
    default_release: ReleaseKind
    """What an edge client uploads."""
    features: int
    """Length of a ``features`` release."""
    max_batch: int
    parameters: int


class Deployment(_Strict):
    """``PUT /v1/operator/models/{model}`` (operator key): serve the artifact of that recipe digest under this
    name."""

    artifact: str = Field(pattern=r"^[0-9a-f]{64}$")
    release: ReleaseKind = "logits"


class Releases(_Strict):
    """JSON answer of ``logits``, ``softmax`` and ``features``: ``values`` is (samples, N). As npy: float32 of
    that shape."""

    model: str
    version: str
    release: ReleaseKind
    values: list[list[float]]


class Upload(_Strict):
    """``POST /v1/models/{model}/outputs``: what an edge client sends, and nothing else; also as npy, then
    ``X-Release`` names the kind."""

    release: ReleaseKind
    values: list[list[float]]


class Decisions(_Strict):
    """The provider's answer to an upload: per sample the class index of the target attribute."""

    model: str
    version: str
    decisions: list[int]


class IntakeRecord(_Strict):
    """``GET /v1/operator/models/{model}/intake/{upload}`` (operator key): what a provider received and what
    it made of it.

    ``upload`` is the request's ``Idempotency-Key`` (made up by the provider where there was none).
    ``inferred`` and ``scores`` are None for a provider without a decoder; ``scores`` is (samples, S), higher
    means more likely.
    """

    upload: str
    model: str
    release: ReleaseKind
    values: list[list[float]]
    decisions: list[int]
    inferred: list[int] | None
    scores: list[list[float]] | None


class Round(_Strict):
    """``POST /v1/rounds`` of an edge client (operator key): let the simulated users use the app once.

    The client loads its own images (``span``), runs the model locally, applies ``defence`` (to the model
    before, to its outputs after), uploads to
    ``url`` under ``api_key`` with ``upload`` as idempotency key, and registers the ground truth with the
    caller by its reply, never with the provider.
    """

    url: str
    api_key: str
    model: Name
    release: ReleaseKind
    span: Span
    upload: str
    defence: list[dict[str, Any]] = []


class RoundReply(_Strict):
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


class Health(_Strict):
    """``GET /healthz``."""

    status: Literal["ok"] = "ok"
    party: str
    version: str
