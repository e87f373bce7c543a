"""The models that a provider serves, by name: loaded, replaced and withdrawn while requests go on."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

from leakrange.providers import artifact as artifacts
from leakrange.providers.inference import outputs
from leakrange.wire.errors import InvalidArtifact, InvalidInput, LeakrangeError, NotFound, UnknownModel
from leakrange.wire.jobs import ReleaseKind
from leakrange.wire.schemas import Deployment, ModelCard
from services.provider.batching import Batcher
from services.provider.device import Device
from services.provider.metrics import ProviderMetrics
from services.provider.settings import ProviderSettings
from services.provider.store import Store

__all__ = ["UPLOADED", "Models", "ServedModel"]

log = structlog.get_logger("services.provider.models")
UPLOADED: tuple[ReleaseKind, ...] = ("logits", "softmax")
"""Releases on which a decision can be made."""


class ServedModel:
    """One version of a model in memory: its card, its public file, and a queue for each release.

    Whoever holds it may go on using it after another version has taken its name.
    """

    def __init__(
        self,
        name: str,
        deployment: Deployment,
        artifact: artifacts.Artifact,
        device: Device,
        settings: ProviderSettings,
        metrics: ProviderMetrics,
    ) -> None:
        config = artifact.config
        self.deployment = deployment
        self.decoder = artifact.decoder
        self.public = (artifact.folder / artifacts.CLASSIFIER).read_bytes()
        if hashlib.sha256(self.public).hexdigest() != artifact.sha256:
            raise InvalidArtifact("the classifier changed while it was loaded")
        self.card = ModelCard(
            name=name,
            version=deployment.artifact[:12],
            sha256=artifact.sha256,
            task=config.target,
            classes=list(config.classes),
            input_shape=config.shape,
            releases=list(config.releases),
            default_release=deployment.release,
            features=config.features,
            max_batch=settings.max_batch,
            parameters=sum(p.numel() for p in artifact.classifier.parameters()),
        )
        self._queues: dict[str, Batcher] = {}
        for kind in config.releases:
            net = partial(outputs, artifact.classifier, kind=kind)
            net(np.zeros((1, *config.shape), np.uint8))  # the first pass is slow; nobody shall wait for it
            self._queues[kind] = Batcher(
                partial(device.run, net),
                cap=settings.batch,
                limit=settings.queue,
                metrics=metrics,
                model=name,
                release=kind,
            )

    async def release(self, kind: str, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Releases (B, N) of uint8 images (B, H, W, C) of the model's shape; `Unavailable` when full."""
        return await self._queues[kind].answer(images)


class Models:
    """All served models. Deployments are kept in the store and served again after a restart."""

    def __init__(
        self, settings: ProviderSettings, store: Store, device: Device, metrics: ProviderMetrics
    ) -> None:
        self._settings, self._store, self._device, self._metrics = settings, store, device, metrics
        self._served: dict[str, ServedModel] = {}
        self._changing = asyncio.Lock()

    def __iter__(self) -> Iterator[ServedModel]:
        return iter([self._served[name] for name in sorted(self._served)])

    def __getitem__(self, name: str) -> ServedModel:
        """The version that has that name now; raises `UnknownModel`."""
        try:
            return self._served[name]
        except KeyError:
            raise UnknownModel(f"no model {name[:128]!r} is served here") from None

    def folder(self, digest: str) -> Path:
        """The folder of an artifact; raises `NotFound`."""
        folder = artifacts.find(self._settings.models_dir, digest)
        if folder is None:
            raise NotFound(
                f"there is no artifact {digest}", hint="train it first, or mount the folder of the artifacts"
            )
        return folder

    async def restore(self) -> None:
        """Serve again what was served before; what cannot be loaded any more is logged and left out."""
        for name, deployment in (await self._store.deployments()).items():
            try:
                await self._put(name, deployment)
            except LeakrangeError as error:
                log.error("not served again", model=name, artifact=deployment.artifact, reason=error.detail)

    async def deploy(self, name: str, deployment: Deployment) -> ModelCard:
        """Serve an artifact under ``name`` instead of whatever is served there; again is no change.

        Requests in flight are answered by the version that they found. Raises `NotFound` or
        `InvalidArtifact`, and then the old version stays.
        """
        if deployment.release not in UPLOADED:
            raise InvalidInput(
                f"no decision can be made on {deployment.release!r}; it can be on: {', '.join(UPLOADED)}"
            )
        async with self._changing:
            served = self._served.get(name)
            if served is None or served.deployment != deployment:
                await self._put(name, deployment)
                await self._store.put_deployment(name, deployment)
                log.info("model deployed", model=name, artifact=deployment.artifact)
            return self._served[name].card

    async def withdraw(self, name: str) -> None:
        """Serve nothing under ``name``; again is no change."""
        async with self._changing:
            await self._store.delete_deployment(name)
            if self._served.pop(name, None) is not None:
                log.info("model withdrawn", model=name)
            self._metrics.models.set(len(self._served))

    async def _put(self, name: str, deployment: Deployment) -> None:
        def load() -> ServedModel:
            artifact = artifacts.load(self.folder(deployment.artifact))
            return ServedModel(name, deployment, artifact, self._device, self._settings, self._metrics)

        self._served[name] = await asyncio.to_thread(load)
        self._metrics.models.set(len(self._served))
