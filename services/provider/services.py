"""The endpoints of a model, by the service that it is deployed as, and its public card."""

from __future__ import annotations

import hashlib

from leakrange.services.provider.servable import Servable
from leakrange.wire.endpoints import released_by
from leakrange.wire.errors import InvalidInput
from leakrange.wire.names import PublicNames
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Deployment, ModelCard


def public_version(names: PublicNames, name: str, deployment: Deployment) -> str:
    """The version of the model under ``name``, by which users notice another model, or the same with another
    threshold.

    The name is part of it, so that nobody can see which names are served from one artifact: two student
    services, or one and its teacher.
    """
    return names.of("version", name, deployment.answers(), str(deployment.threshold))


def model_card(
    name: str, deployment: Deployment, servable: Servable, *, version: str, max_batch: int
) -> ModelCard:
    """The facts that users may know of a model that is served as ``deployment`` says.

    The card of a student service hides its teacher's file, size, task and classes; a recognition's classes
    are the student's identities. Raises `InvalidInput` where the model cannot give what the deployment asks
    for.
    """
    service = deployment.service
    public = service == "classifier"
    own_classes = service in ("classifier", "recognition")
    released = _released(deployment, servable)
    return ModelCard(
        name=name,
        version=version,
        sha256=hashlib.sha256(servable.public).hexdigest() if servable.public else "",
        task=servable.task if own_classes else service,
        classes=list(servable.classes) if own_classes else [],
        heads=servable.heads if own_classes else None,
        input=servable.input,
        releases=released,
        default_release=deployment.release if public else released[0],
        features=servable.features if "features" in released else 0,
        max_batch=max_batch,
        parameters=servable.parameters if public else 0,
        service=service,
        normalised=deployment.normalised,
        distance=deployment.distance,
        threshold=deployment.threshold,
    )


def _released(deployment: Deployment, servable: Servable) -> list[ReleaseKind]:
    """What the model is served with: of what its service releases that which it can compute."""
    of_service = released_by(deployment.service)
    needed = {kind: "features" if kind == "score" else kind for kind in of_service}
    released = [kind for kind in of_service if kind == "sample" or needed[kind] in servable.releases]
    can = ", ".join(servable.releases)
    if not released or (deployment.service == "classifier" and not servable.classes):
        raise InvalidInput(
            f"this model gives {can}: it cannot be served as a {deployment.service}",
            hint="features are served as features or verification, classes as classifier or recognition",
        )
    if deployment.service == "classifier" and deployment.release not in released:
        raise InvalidInput(
            f"this model gives {can}, and not {deployment.release}",
            hint=f'deploy it with "release": "{released[0]}"',
        )
    return released
