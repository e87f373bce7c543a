"""The endpoints of a model, by the service that it is deployed as, and its public card."""

from __future__ import annotations

from leakrange.providers.artifact import Artifact
from leakrange.wire.endpoints import released_by
from leakrange.wire.names import PublicNames
from leakrange.wire.schemas import Deployment, ModelCard


def public_version(names: PublicNames, name: str, deployment: Deployment) -> str:
    """The version of the model under ``name``, by which users notice another model, or the same with another
    threshold.

    The name is part of it, so that nobody can see which names are served from one artifact: two student
    services, or one and its teacher.
    """
    return names.of("version", name, deployment.answers(), str(deployment.threshold))


def model_card(
    name: str, deployment: Deployment, artifact: Artifact, *, version: str, sha256: str, max_batch: int
) -> ModelCard:
    """The facts that users may know of an artifact that is served as ``deployment`` says.

    ``sha256`` is that of the file that users may download. The card of a student service hides its teacher's
    file, size, task and classes; a recognition's classes are the student's identities.
    """
    config, service = artifact.config, deployment.service
    public = service == "classifier"
    own_classes = service in ("classifier", "recognition")
    released = list(released_by(service))
    return ModelCard(
        name=name,
        version=version,
        sha256=sha256 if public else "",
        task=config.target if own_classes else service,
        classes=list(config.classes) if own_classes else [],
        heads=config.heads if own_classes else None,
        input=config.input,
        releases=released,
        default_release=deployment.release if public else released[0],
        features=config.features if "features" in released else 0,
        max_batch=max_batch,
        parameters=artifact.classifier.parameter_count() if public else 0,
        service=service,
        normalised=deployment.normalised,
        distance=deployment.distance,
        threshold=deployment.threshold,
    )
