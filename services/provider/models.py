"""The models that a provider serves, by name: loaded, replaced and withdrawn without interrupting
requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from leakrange.providers import artifact as artifacts
from leakrange.providers.foreign import folder as model_files
from leakrange.services.provider.device import ComputeDevice
from leakrange.services.provider.gallery import PersonGallery
from leakrange.services.provider.gallery_store import GalleryStore, Template
from leakrange.services.provider.generation import Generation
from leakrange.services.provider.metrics import ProviderMetrics
from leakrange.services.provider.servable import of_artifact, of_file
from leakrange.services.provider.served import ServedModel
from leakrange.services.provider.services import public_version
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.provider.store import Store
from leakrange.store.folders import fetched
from leakrange.store.places import store_at
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import UPLOADED, check_endpoint
from leakrange.wire.errors import (
    Conflict,
    InvalidInput,
    LeakrangeError,
    NotFound,
    UnknownModel,
)
from leakrange.wire.names import PublicNames
from leakrange.wire.schemas import Deployment, ModelCard

log = structlog.get_logger("leakrange.services.provider.models")


class LoadedModels:
    """All served models. Deployments are kept in the store and served again after a restart."""

    def __init__(
        self,
        settings: ProviderSettings,
        store: Store,
        generation: Generation,
        device: ComputeDevice,
        metrics: ProviderMetrics,
    ) -> None:
        self._settings, self._store, self._device, self._metrics = settings, store, device, metrics
        self._galleries = GalleryStore(store.database)
        self._names = PublicNames(settings.derivation_secret)
        self._served: dict[str, ServedModel] = {}
        self._generation = generation
        self._following = asyncio.Lock()

    def __iter__(self) -> Iterator[ServedModel]:
        return iter([self._served[name] for name in sorted(self._served)])

    def __getitem__(self, name: str) -> ServedModel:
        """The current version of that name; raises `UnknownModel`."""
        try:
            return self._served[name]
        except KeyError:
            raise UnknownModel(f"no model {name[:128]!r} is served here") from None

    def answering(self, name: str, endpoint: str) -> ServedModel:
        """The current version of that name, if it has that endpoint; raises `UnknownModel`, `NotFound`."""
        served = self[name]
        check_endpoint(served.card, endpoint)
        return served

    def verifier(self, name: str, endpoint: str) -> tuple[ServedModel, PersonGallery]:
        """The verification model of that name, and its gallery; raises `UnknownModel`, `NotFound`."""
        served = self.answering(name, endpoint)
        assert served.gallery is not None  # only a verification has such endpoints
        return served, served.gallery

    def version(self, name: str, deployment: Deployment) -> str:
        """The version that users see, in place of the digest of the artifact that is deployed under
        ``name``."""
        return public_version(self._names, name, deployment)

    def folder(self, digest: str) -> Path:
        """The folder of an artifact, ours or a model file of others; raises `NotFound`."""
        root = fetched(store_at(self._settings.models_dir), digest).parent
        folder = artifacts.find(root, digest) or model_files.find(root, digest)
        if folder is None:
            raise NotFound(
                f"there is no artifact {digest}",
                hint="train it, add a file with 'leakrange models add', or mount the folder of the artifacts",
            )
        return folder

    async def open(self) -> None:
        """Serve the stored deployments, from now on together with the other processes that serve the same
        state."""
        await self._generation.open(self.follow)

    async def close(self) -> None:
        """Stop following other processes."""
        await self._generation.close()

    @property
    def stale(self) -> bool:
        """Whether something has changed since `follow`."""
        return self._generation.stale

    async def follow(self) -> None:
        """Serve what is stored now: models, and enrolled persons. A model that cannot be loaded is logged and
        left out. Raises `Unavailable` where nobody can know what is stored."""
        async with self._following:
            while self.stale:
                before = await self._generation.settled()
                stored = await self._store.deployments()
                for name in self._served.keys() - stored.keys():
                    self._drop(name)
                for name, deployment in stored.items():
                    try:
                        await self._follow_one(name, deployment)
                    except LeakrangeError as error:
                        self._drop(name)
                        circumstances = {"artifact": deployment.artifact, "reason": error.detail}
                        log.error("not served again", model=name, **circumstances)
                self._metrics.models.set(len(self._served))
                self._generation.followed(before)

    async def _follow_one(self, name: str, deployment: Deployment) -> None:
        served = self._served.get(name)
        if served is None or served.deployment != deployment:
            self._drop(name)
            served = await self._load(name, deployment)
        if deployment.service == "verification":
            basis = _basis(deployment)
            templates = await self._galleries.read(name, basis)
            if served.gallery is None:
                served.gallery = self._gallery_of(name, basis, templates)
            else:
                served.gallery.hold(templates)
        self._served[name] = served

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        """Inside the ``with`` block the models in memory are the stored ones, and only this process changes
        them."""
        async with self._generation.changing():
            await self.follow()
            yield

    @asynccontextmanager
    async def _enrolling(self) -> AsyncIterator[None]:
        async with self._changing(), self._generation.writing():
            yield

    async def deploy(self, name: str, deployment: Deployment) -> ModelCard:
        """Serve an artifact under ``name`` instead of the one that is served there. A repetition changes
        nothing.

        The operator's deployment stays the operator's where it answers as a run needs. Requests in progress
        are answered by the version that they found. Raises `NotFound` or `InvalidArtifact`, and then the old
        version stays.
        """
        if deployment.release not in UPLOADED:
            raise InvalidInput(
                f"no decision can be made on {deployment.release!r}; it can be on: {', '.join(UPLOADED)}"
            )
        async with self._changing():
            served = self._served.get(name)
            if served is None or not _enough(served.deployment, deployment):
                loaded = await self._load(name, deployment)
                async with self._generation.writing():
                    await self._put(name, loaded)
                    await self._store.put_deployment(name, deployment)
                log.info("model deployed", model=name, artifact=deployment.artifact)
            return self._served[name].card

    async def withdraw(self, name: str, *, of_runs: bool = False) -> None:
        """Serve nothing under ``name``; a repetition changes nothing. With ``of_runs`` raises `Conflict`
        where the model was not deployed for runs."""
        async with self._changing():
            deployed = (await self._store.deployments()).get(name)
            if of_runs and deployed is not None and not deployed.for_runs:
                raise Conflict(f"the operator has deployed {name!r}", hint="withdraw it without 'of_runs'")
            async with self._generation.writing():
                await self._store.delete_deployment(name)
                await self._galleries.delete_all(name)
            if name in self._served:
                log.info("model withdrawn", model=name)
            self._drop(name)
            self._metrics.models.set(len(self._served))

    def _drop(self, name: str) -> None:
        dropped = self._served.pop(name, None)
        if dropped is not None and dropped.gallery is not None:
            dropped.gallery.close()

    async def _load(self, name: str, deployment: Deployment) -> ServedModel:
        def load() -> ServedModel:
            folder, device = self.folder(deployment.artifact), self._device
            if model_files.is_one(folder):
                servable = of_file(model_files.load(folder, threads=self._settings.threads))
            else:
                servable = of_artifact(artifacts.load(folder), deployment, device.name)
            version = self.version(name, deployment)
            return ServedModel(name, deployment, servable, version, device, self._settings, self._metrics)

        return await asyncio.to_thread(load)

    async def _put(self, name: str, served: ServedModel) -> None:
        """Serve the model in place of the current one. Enrolled persons stay as long as their vectors can be
        compared with the model's."""
        previous = self._served.get(name)
        old_gallery = previous.gallery if previous is not None else None
        if served.deployment.service != "verification":
            await self._galleries.delete_all(name)
        else:
            basis = _basis(served.deployment)
            if old_gallery is not None and old_gallery.basis == basis:
                served.gallery, old_gallery = old_gallery, None
            else:
                served.gallery = self._gallery_of(name, basis, await self._galleries.load(name, basis))
        if old_gallery is not None:
            old_gallery.close()
        self._served[name] = served
        self._metrics.models.set(len(self._served))

    def _gallery_of(self, name: str, basis: str, templates: list[Template]) -> PersonGallery:
        most = self._settings.gallery_persons
        return PersonGallery(self._galleries, name, basis, templates, most=most, changing=self._enrolling)


def _basis(deployment: Deployment) -> str:
    """The identity of a deployment's vectors: those of two deployments can be compared if it is equal."""
    return digest([deployment.artifact, deployment.normalised])


def _enough(current: Deployment, requested: Deployment) -> bool:
    """Whether the current deployment can stay."""
    if requested.for_runs and not current.for_runs:
        return current.answers() == requested.answers()
    return current == requested
