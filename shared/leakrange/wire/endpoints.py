"""The endpoints of the native API below a model, and which of them each service answers."""

from __future__ import annotations

from collections.abc import Mapping

from leakrange.wire.errors import NotFound
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import ModelCard, Service

__all__ = ["ANSWERS", "ARTIFACT", "ENDPOINTS", "GALLERY", "RELEASES", "UPLOADS", "check_endpoint"]

RELEASES: Mapping[str, ReleaseKind] = {
    "logits": "logits",
    "softmax": "softmax",
    "features": "features",
    "verification": "score",
    "recognition": "softmax",
}
"""The release kind that each answering endpoint gives out."""
UPLOADS = "outputs"
"""The endpoint whose request, not answer, is the release."""
ARTIFACT = "artifact"
"""The endpoint that gives out the model's file: whoever has it computes every release without asking."""
GALLERY = "gallery"
"""The endpoint of who is enrolled with a verification; it releases nothing."""
ENDPOINTS = (*RELEASES, UPLOADS, ARTIFACT, GALLERY)
ANSWERS: Mapping[Service, tuple[str, ...]] = {
    "classifier": ("logits", "softmax", "features", UPLOADS, ARTIFACT),
    "features": ("features",),
    "verification": ("verification", GALLERY),
    "recognition": ("recognition",),
}
"""The endpoints of each service. Whatever else its net could say stays inside: through a student service
nobody reaches the teacher."""


def check_endpoint(card: ModelCard, endpoint: str) -> None:
    """Raise `NotFound`, which names what there is, where the model of that card has no such endpoint."""
    answered = ANSWERS[card.service]
    if endpoint not in answered:
        raise NotFound(
            f"the model {card.name!r} has no endpoint {endpoint!r}",
            hint=f"it is a {card.service} service, which answers: {', '.join(answered)}",
        )
