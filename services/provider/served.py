"""One version of a model in a provider's memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import unit_length
from leakrange.services.provider.batching import Batcher
from leakrange.services.provider.device import ComputeDevice, NetPass
from leakrange.services.provider.gallery import PersonGallery
from leakrange.services.provider.metrics import ProviderMetrics
from leakrange.services.provider.servable import Servable
from leakrange.services.provider.services import model_card
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.provider.vectors import Vectors
from leakrange.wire.errors import InvalidInput
from leakrange.wire.pairs import sample_marks
from leakrange.wire.schemas import Deployment

__all__ = ["ServedModel"]


class ServedModel:
    """One version of a model in memory: its card, its public file (empty where it has none), a queue for each
    release, and, for a verification, the persons enrolled with it.

    A holder may continue to use it after another version has taken its name. A decoder is not in memory: it
    runs in another process.
    """

    def __init__(
        self,
        name: str,
        deployment: Deployment,
        servable: Servable,
        version: str,
        device: ComputeDevice,
        settings: ProviderSettings,
        metrics: ProviderMetrics,
    ) -> None:
        self.deployment = deployment
        self.has_decoder = servable.has_decoder
        self.gallery: PersonGallery | None = None
        self.public = servable.public
        self.card = model_card(
            name,
            deployment,
            servable,
            version=version,
            max_batch=settings.max_batch,
        )
        self._device, self._servable = device, servable
        self._queues: dict[str, Batcher] = {}
        for release in self.card.releases:
            if release == "sample":
                continue  # no net is asked for it
            kind = "features" if release == "score" else release
            example = np.zeros((1, *self.card.input.shape), self.card.input.dtype)
            self._queues[kind] = Batcher(
                NetPass(device, partial(servable.compute, kind=kind), example),
                cap=settings.batch,
                limit=settings.queue,
                metrics=metrics,
                model=name,
                release=kind,
            )
        self._vectors: Vectors | None = None
        if deployment.service != "classifier":
            [only] = self._queues
            self._vectors = Vectors(partial(self._pass, only), most=settings.kept_vectors)

    async def release(
        self, kind: str, samples: NDArray[Any], marks: list[bytes] | None = None
    ) -> NDArray[np.float32]:
        """Releases (B, ...) of samples (B, *shape) as the model's card says; `Unavailable` when full. A
        "sample" is released unchanged.

        A student service keeps the results: its users ask about the same samples again and again. ``marks``
        are the samples' `sample_marks`, where the caller has them.
        """
        if kind == "sample":
            return samples.astype(np.float32)
        if self._vectors is not None:
            return await self._vectors.of(samples, sample_marks(samples) if marks is None else marks)
        return await self._pass(kind, samples)

    async def logits(self, release: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The logits (B, Y), or the softmax of a model that has no logits, which decide on an upload of
        samples or features (B, ...)."""
        if release == "sample":
            kind = "logits" if "logits" in self._queues else "softmax"
            return await self.release(kind, self.card.input.nearest(values))
        assert self._servable.head is not None  # features are taken only from a model that releases them
        return await self._device.run(self._servable.head, values)

    async def _pass(self, kind: str, samples: NDArray[Any]) -> NDArray[np.float32]:
        values = await self._queues[kind].answer(samples)
        if self._servable.foreign and not np.isfinite(values).all():
            raise InvalidInput(
                "the model gives no finite numbers for a sample of this request",
                hint="send samples like those that it was made for",
            )
        return unit_length(values) if self.deployment.normalised else values
