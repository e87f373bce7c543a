"""Bodies of the native API that several parties read or write."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from leakrange.strict import Strict, example
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import from_text, release_array

__all__ = [
    "MAX_BATCH",
    "MODEL_VERSION",
    "Answers",
    "Classes",
    "Decisions",
    "Deployment",
    "Distance",
    "Gallery",
    "GalleryEntry",
    "Heads",
    "IntakeRecord",
    "ModelCard",
    "Name",
    "Releases",
    "Scores",
    "Service",
    "StudentService",
    "Upload",
]

MAX_BATCH = 256
"""Most samples of one inference request, unless a provider's operator says otherwise."""
MODEL_VERSION = "X-Model-Version"
"""Header of a provider's answer to an inference: the version on the card of the model that gave it."""

Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


StudentService = Literal["features", "verification", "recognition"]
Service = Literal["classifier", StudentService]
"""What a model is served as. A classifier is its users' own: outputs, uploads, download. The other three are
student services (FACELEAKS, Section 3.1) before a teacher that nobody reaches: feature vectors, distances
between two faces, confidences over identities of their own."""
Distance = Literal["euclidean", "cosine"]
Answers = Literal["all", "labels", "top", "censored"]
"""What an answer tells of the classes: the values of all, the label of the greatest alone, the values of the
greatest few, or the values above a bound. What it does not tell is one fixed number in a release."""
Heads = Annotated[tuple[Annotated[int, Field(ge=2)], ...], Field(min_length=2, max_length=100)]
Classes = list[int] | list[list[int]]
"""Class indices: one for each sample, or for each of its attributes."""
Threshold = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class ModelCard(Strict):
    """What a provider says of a model (``GET /v1/models/{model}``). It never tells the behaviour."""

    name: Name
    version: str
    """Changes with whatever decides the answers. It tells nobody which artifact is served."""
    sha256: str
    """Of the public artifact, as ``GET /v1/models/{model}/artifact`` sends it; empty where it is sent to
    nobody."""
    task: str
    """The target attribute, or several with commas between; "features" or "verification" for these services,
    which do not tell their teacher's."""
    classes: list[str]
    """Empty for the services "features" and "verification"."""
    heads: Heads | None = None
    """Of a model that answers for several attributes: how many of the classes belong to each, in turn."""
    input: SampleSpec
    """What a sample looks like."""
    releases: list[ReleaseKind]
    default_release: ReleaseKind
    """What an edge client uploads."""
    features: int
    """Length of a ``features`` release; 0 where there is none."""
    max_batch: int
    """Most samples of one request, or pairs of them."""
    parameters: int
    """Of the net; 0 where nobody may have it."""
    service: Service = "classifier"
    normalised: bool = False
    """Whether feature vectors are scaled to Euclidean length 1 before they are released or compared."""
    distance: Distance = "euclidean"
    """Between two feature vectors: Euclidean, or 1 - cos."""
    threshold: Threshold | None = None
    """Of a verification: the same person where the distance is at most this; None: it does not decide."""
    answers: Answers = "all"
    """What the values of a release tell: see `Answers`."""

    def shape_of(self, release: ReleaseKind) -> tuple[int, ...]:
        """Return the shape of one sample's release."""
        if release == "sample":
            return self.input.shape
        return ({"score": 1, "features": self.features}.get(release, len(self.classes)),)

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        if self.heads is not None and sum(self.heads) != len(self.classes):
            raise ValueError(f"the heads have {sum(self.heads)} classes, {len(self.classes)} are named")
        return self


class Deployment(Strict):
    """``PUT /v1/operator/models/{model}`` (operator key): serve the artifact of that recipe digest under this
    name, as one ``service``.

    ``release`` matters for a classifier alone, ``normalised`` for features and verification, ``distance`` and
    ``threshold`` for verification; see `ModelCard`. ``for_runs``: it is withdrawn when no run needs it.
    """

    model_config = example({"artifact": "0c1e" * 16, "release": "softmax"})
    artifact: str = Field(pattern=r"^[0-9a-f]{64}$")
    release: ReleaseKind = "logits"
    service: Service = "classifier"
    normalised: bool = False
    distance: Distance = "euclidean"
    threshold: Threshold | None = None
    for_runs: bool = False

    @model_validator(mode="after")
    def _meant(self) -> Self:
        if self.normalised and self.service not in ("features", "verification"):
            raise ValueError(f"a {self.service} service has no feature vectors to normalise")
        if self.service != "verification" and (self.distance != "euclidean" or self.threshold is not None):
            raise ValueError(f"a {self.service} service compares nothing: no distance, no threshold")
        return self

    def answers(self) -> str:
        """A digest (64 hexadecimal characters) of what decides this deployment's answers: the artifact and,
        unless it is served as a classifier, how it is served. Two deployments of one artifact so have
        different probes (`ProbeJob.artifact`).
        """
        if self.service == "classifier":
            return self.artifact
        return digest([self.artifact, self.service, self.normalised, self.distance])


Values = list[list[Any]]
"""Releases as nested lists of numbers: (samples, ...), one axis or more for each sample."""


class Releases(Strict):
    """JSON answer of every endpoint but ``verification`` that releases something. As npy: float32 of the same
    shape."""

    model: str
    version: str
    release: ReleaseKind
    values: Values


class Scores(Strict):
    """JSON answer of ``verification``: ``values`` is (pairs, 1), the distances. As npy: float32 of that
    shape, without ``same``.

    ``same`` says of each distance whether it is within the card's threshold; absent where the card has none.
    """

    model: str
    version: str
    release: Literal["score"] = "score"
    values: list[list[float]]
    same: list[bool] | None = None


class GalleryEntry(Strict):
    """``PUT /v1/models/{model}/gallery/{person}``: the person is enrolled by so many different images."""

    person: Name
    images: int


class Gallery(Strict):
    """``GET /v1/models/{model}/gallery``: who is enrolled, by name. All keys of a model share its gallery."""

    model: str
    version: str
    persons: list[GalleryEntry]


class Upload(Strict):
    """``POST /v1/models/{model}/outputs``: what an edge client sends, and nothing else; also as npy, then
    ``X-Release`` names the kind."""

    model_config = example({"release": "softmax", "values": [[0.91, 0.09], [0.2, 0.8]]})
    release: ReleaseKind
    values: Values


class Decisions(Strict):
    """The provider's answer to an upload: per sample the class index of the target attribute, or a list with
    one for each."""

    model: str
    version: str
    decisions: Classes


class IntakeRecord(Strict):
    """``GET /v1/operator/models/{model}/intake/{upload}`` (operator key): what a provider received and what
    it made of it.

    ``upload`` is the request's ``Idempotency-Key`` (made up by the provider where there was none).
    ``inferred`` and ``scores`` are None for a provider without a decoder. ``inferred`` is a class for each
    sample, or a list with one for each hidden attribute. ``scores`` is (samples, S), higher means more
    likely; those of several attributes lie side by side. ``reconstructed`` is what a decoder of samples has
    read: an npy of float32 (samples, ...) in base64, see `samples`. Pages leave it out.
    """

    upload: str
    model: str
    release: ReleaseKind
    values: Values
    decisions: Classes
    inferred: Classes | None
    scores: list[list[float]] | None
    reconstructed: str | None = None

    def samples(self) -> NDArray[np.float32] | None:
        """Return the samples that a decoder has read; None if there are none.

        Raises `MalformedBody` and `InvalidInput` unless they are as many samples as `values`, of finite
        numbers.
        """
        if self.reconstructed is None:
            return None
        array = release_array(from_text(self.reconstructed), max_samples=len(self.values))
        if len(array) != len(self.values):
            raise InvalidInput(f"{len(array)} samples were reconstructed from {len(self.values)} releases")
        return array


class Health(Strict):
    """``GET /healthz``."""

    status: Literal["ok"] = "ok"
    party: str
    version: str
