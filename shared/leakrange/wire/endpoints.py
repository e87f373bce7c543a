"""The endpoints of the native API below a model: the services that have each, and the release in its answer
or request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput, NotFound
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Distance, ModelCard, Service, StudentService

__all__ = [
    "ARTIFACT",
    "ENDPOINTS",
    "GALLERY",
    "OBFUSCATORS",
    "RELEASES",
    "UPLOADED",
    "UPLOADS",
    "Endpoint",
    "ServiceSpec",
    "check_endpoint",
    "check_upload",
    "endpoint_of",
    "endpoints_of",
    "released_by",
]


@dataclass(frozen=True)
class Endpoint:
    """One endpoint: the ``services`` that have it, the kind of release in its answer (None: the answer is
    no release), and the kinds of release that it ``takes`` in its request."""

    services: tuple[Service, ...]
    release: ReleaseKind | None = None
    takes: tuple[ReleaseKind, ...] = ()


UPLOADS: Final = "outputs"
"""The endpoint whose request, not answer, is the release."""
ARTIFACT: Final = "artifact"
"""The endpoint that sends the model's file. Whoever has the file can compute every release without asking."""
OBFUSCATORS: Final = "obfuscators"
"""``GET /v1/obfuscators/{digest}``, beside the models: the file that a device runs on its user's samples."""
GALLERY: Final = "gallery"
"""The endpoint of who is enrolled with a verification; it releases nothing."""

ENDPOINTS: Mapping[str, Endpoint] = {
    "logits": Endpoint(("classifier",), "logits"),
    "softmax": Endpoint(("classifier",), "softmax"),
    "features": Endpoint(("classifier", "features"), "features"),
    "sample": Endpoint(("classifier",), "sample"),
    "verification": Endpoint(("verification",), "score"),
    "recognition": Endpoint(("recognition",), "softmax"),
    UPLOADS: Endpoint(("classifier",), takes=("logits", "softmax", "features", "sample")),
    ARTIFACT: Endpoint(("classifier",)),
    GALLERY: Endpoint(("verification",)),
}
"""All endpoints by name. A service answers at its own only: nothing else of its net leaves it, and nobody
reaches the teacher behind a student service."""

RELEASES: Mapping[str, ReleaseKind] = {
    name: endpoint.release for name, endpoint in ENDPOINTS.items() if endpoint.release is not None
}
"""The kind of release that each answering endpoint gives out."""
UPLOADED: tuple[ReleaseKind, ...] = ENDPOINTS[UPLOADS].takes
"""The kinds that a device uploads, since a provider can decide on them."""


@cache
def endpoints_of(service: Service) -> tuple[str, ...]:
    """The names of a service's endpoints."""
    return tuple(name for name, endpoint in ENDPOINTS.items() if service in endpoint.services)


def released_by(service: Service) -> tuple[ReleaseKind, ...]:
    """Return the kinds of release that a service answers with."""
    return tuple(RELEASES[name] for name in endpoints_of(service) if name in RELEASES)


class ServiceSpec(Strict):
    """A student service that a provider puts before its teacher (FACELEAKS Section 3.1).

    ``normalised`` scales feature vectors to length 1 before they are released or compared; ``distance`` is
    what a verification answers with.
    """

    kind: StudentService
    normalised: bool = True
    distance: Distance = "euclidean"

    @property
    def release(self) -> ReleaseKind:
        """What it answers with."""
        return released_by(self.kind)[0]


def endpoint_of(service: Service, release: ReleaseKind) -> str:
    """The endpoint at which a service answers with that release; raises `NotFound` if it has none."""
    for name in endpoints_of(service):
        if RELEASES.get(name) == release:
            return name
    raise NotFound(
        f"no endpoint of a {service} service releases {release}",
        hint=f"it releases: {', '.join(released_by(service))}",
    )


def check_endpoint(card: ModelCard, endpoint: str) -> None:
    """Raise `NotFound`, naming the endpoints that exist, if the model of that card has no such endpoint: its
    service has none, or the model itself has no such release, or no file for its users."""
    if endpoint not in endpoints_of(card.service) or not _has(card, endpoint):
        answered = [name for name in endpoints_of(card.service) if _has(card, name)]
        raise NotFound(
            f"the model {card.name!r} has no endpoint {endpoint!r}",
            hint=f"it is a {card.service} service, which answers: {', '.join(answered)}",
        )


def _has(card: ModelCard, endpoint: str) -> bool:
    """Whether a model has what an endpoint of its service sends."""
    if endpoint == ARTIFACT:
        return card.sha256 != ""
    return endpoint not in RELEASES or RELEASES[endpoint] in card.releases


def check_upload(card: ModelCard, release: ReleaseKind, values: NDArray[np.float32]) -> None:
    """Raise `InvalidInput` if the model of that card cannot decide on ``values`` (samples, ...)."""
    if release not in UPLOADED:
        raise InvalidInput(f"an upload is {' or '.join(UPLOADED)}, not {release}")
    if release == "features" and release not in card.releases:
        raise InvalidInput(f"the model {card.name!r} decides on no features: it releases none")
    if values.shape[1:] != (wanted := card.shape_of(release)):
        raise InvalidInput(
            f"the {release} of this model have the shape {('samples', *wanted)}; this upload has "
            f"{values.shape}".replace("'", ""),
            hint="send one entry for each sample; the model's card tells classes and sample",
        )
