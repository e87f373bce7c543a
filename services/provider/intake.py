"""Taking in what edge clients upload, and decoding it for the operator where the provider has a decoder."""

from __future__ import annotations

import asyncio
import dataclasses
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from leakrange.providers import artifact as artifacts
from leakrange.providers.decoder import Decoder
from leakrange.wire.errors import Conflict
from leakrange.wire.jobs import ReleaseKind
from leakrange.wire.schemas import Decisions, Deployment, IntakeRecord
from services.provider.metrics import ProviderMetrics
from services.provider.models import Models, ServedModel
from services.provider.store import Store, StoredUpload

__all__ = ["Intake"]


class Intake:
    """Uploads: kept before they are answered, decoded when the operator reads them, and not before.

    So nothing that users send makes a provider with a decoder do more than one without: whatever it did after
    an upload, however little and in whatever thread, would slow the next requests, and tell. What was
    decoded is kept.
    """

    def __init__(self, models: Models, store: Store, metrics: ProviderMetrics) -> None:
        self._models, self._store, self._metrics = models, store, metrics
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aside")
        self._withdrawn: dict[str, Decoder | None] = {}

    async def take_in(
        self, served: ServedModel, release: ReleaseKind, values: NDArray[np.float32], key: str | None
    ) -> Decisions:
        """Keep outputs (B, N) and decide: the class of the greatest value, the first of equals.

        ``key`` is the client's idempotency key: what is sent again under it gets the first answer again, even
        if its noise differs. Raises `Conflict` where the number of samples differs.
        """
        model = served.card.name
        given = StoredUpload(
            upload=key or uuid4().hex,
            model=model,
            artifact=served.deployment.artifact,
            release=release,
            values=values,
            decisions=values.argmax(axis=1).astype(np.int64),
        )
        kept, new = await self._store.take_in(given)
        if len(kept.values) != len(values):
            raise Conflict(
                f"this idempotency key is that of {len(kept.values)} samples; {len(values)} came",
                hint="give each upload a key of its own",
            )
        if new:
            self._metrics.uploads.labels(model).inc()
        version = self._models.version(model, Deployment(artifact=kept.artifact))
        return Decisions(model=model, version=version, decisions=kept.decisions.tolist())

    async def record(self, model: str, upload: str) -> IntakeRecord | None:
        """What was received in one upload and what was made of it; None where there was no such upload."""
        kept = await self._store.upload(model, upload)
        return None if kept is None else await self._complete(kept)

    async def page(self, model: str, after: str | None, limit: int) -> list[IntakeRecord]:
        """Up to ``limit`` records in the order in which they came, from behind upload ``after`` on."""
        return [await self._complete(kept) for kept in await self._store.uploads(model, after, limit)]

    def close(self) -> None:
        """Finish what is being decoded."""
        self._thread.shutdown()

    async def _complete(self, kept: StoredUpload) -> IntakeRecord:
        if kept.inferred is None:
            kept = await self._decode(kept)
        return IntakeRecord(
            upload=kept.upload,
            model=kept.model,
            release=kept.release,
            values=kept.values.tolist(),
            decisions=kept.decisions.tolist(),
            inferred=None if kept.inferred is None else kept.inferred.tolist(),
            scores=None if kept.scores is None else kept.scores.tolist(),
        )

    async def _decode(self, kept: StoredUpload) -> StoredUpload:
        """Let the decoder of the artifact that was served then read the upload; without one it stays."""

        served = next((s for s in self._models if s.deployment.artifact == kept.artifact), None)

        def infer() -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
            decoder = served.decoder if served is not None else self._stored_decoder(kept.artifact)
            return None if decoder is None else decoder.infer(kept.values, kept.release)

        found = await asyncio.get_running_loop().run_in_executor(self._thread, infer)
        if found is None:
            return kept
        inferred, scores = found
        await self._store.infer(kept.model, kept.upload, inferred, scores)
        return dataclasses.replace(kept, inferred=inferred, scores=scores)

    def _stored_decoder(self, digest: str) -> Decoder | None:
        """The decoder of an artifact that is not served any more."""
        if digest not in self._withdrawn:
            self._withdrawn[digest] = artifacts.load(self._models.folder(digest)).decoder
        return self._withdrawn[digest]
