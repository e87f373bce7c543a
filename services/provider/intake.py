"""Receives uploads of edge clients, and decodes them for the operator where the provider has a decoder."""

from __future__ import annotations

import asyncio
import dataclasses
from uuid import uuid4

import numpy as np
import structlog
from numpy.typing import NDArray

from leakrange import tracing
from leakrange.providers.artifact_files import read_files
from leakrange.providers.decoder import Inferred
from leakrange.providers.foreign import folder as model_files
from leakrange.services.provider.decoding import DecodingProcess
from leakrange.services.provider.metrics import ProviderMetrics
from leakrange.services.provider.models import LoadedModels
from leakrange.services.provider.served import ServedModel
from leakrange.services.provider.store import Store, StoredUpload
from leakrange.services.provider.upload_traces import UploadTraces
from leakrange.wire.errors import Conflict, InvalidArtifact, InvalidInput
from leakrange.wire.heads import answers
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Decisions, Deployment, IntakeRecord
from leakrange.wire.tensors import to_text

log = structlog.get_logger("leakrange.services.provider.intake")


class Intake:
    """Stores uploads before they are answered; decodes them only when the operator reads them.

    So an upload costs a provider with a decoder no more than one without. Any additional work after an
    upload, in whatever thread, would slow the next requests and so reveal the decoder. The operator's reading
    slows no requests either: the decoder runs in another process. Results are kept.
    """

    def __init__(
        self, models: LoadedModels, store: Store, metrics: ProviderMetrics, decoding: DecodingProcess
    ) -> None:
        self._models, self._store, self._metrics = models, store, metrics
        self._decoding = decoding
        self._withdrawn: dict[str, bool] = {}
        self._traces = UploadTraces()

    async def take_in(
        self, served: ServedModel, release: ReleaseKind, values: NDArray[np.float32], key: str | None
    ) -> Decisions:
        """Keep an upload (B, ...) and decide: the class of the greatest output, the first of equals, for each
        attribute that the model answers for. For uploaded samples and features the outputs are computed here.

        ``key`` is the client's idempotency key: a repetition with the same key gets the first answer again,
        even if its noise differs. Raises `Conflict` where the number of samples differs.
        """
        with tracing.span("intake", model=served.card.name, samples=len(values)):
            return await self._take_in(served, release, values, key)

    async def _take_in(
        self, served: ServedModel, release: ReleaseKind, values: NDArray[np.float32], key: str | None
    ) -> Decisions:
        model = served.card.name
        outputs = values
        if release in ("sample", "features"):
            outputs = await served.logits(release, values)
        incoming = StoredUpload(
            upload=key or uuid4().hex,
            model=model,
            artifact=served.deployment.artifact,
            release=release,
            values=values,
            decisions=answers(outputs, served.card.heads or ()),
        )
        stored, new = await self._store.take_in(incoming)
        if len(stored.values) != len(values):
            raise Conflict(
                f"this idempotency key is that of {len(stored.values)} samples; {len(values)} came",
                hint="give each upload a key of its own",
            )
        if new:
            self._metrics.uploads.labels(model).inc()
            self._traces.keep(model, stored.upload)
        version = self._models.version(model, Deployment(artifact=stored.artifact))
        return Decisions(model=model, version=version, decisions=stored.decisions.tolist())

    async def record(self, model: str, upload: str) -> IntakeRecord | None:
        """The content of one upload and the result of decoding it; None where there was no such upload."""
        stored = await self._store.upload(model, upload)
        return None if stored is None else await self._complete(stored)

    async def page(self, model: str, after: str | None, limit: int) -> list[IntakeRecord]:
        """Up to ``limit`` records in order of arrival, after the upload ``after``. They lack reconstructed
        samples, which are large."""
        uploads = await self._store.uploads(model, after, limit)
        return [
            (await self._complete(upload)).model_copy(update={"reconstructed": None}) for upload in uploads
        ]

    async def _complete(self, stored: StoredUpload) -> IntakeRecord:
        if stored.inferred is None:
            stored = await self._decode(stored)
        return IntakeRecord(
            upload=stored.upload,
            model=stored.model,
            release=stored.release,
            values=stored.values.tolist(),
            decisions=stored.decisions.tolist(),
            inferred=None if stored.inferred is None else stored.inferred.tolist(),
            scores=None if stored.scores is None else stored.scores.tolist(),
            reconstructed=None if stored.reconstructed is None else to_text(stored.reconstructed),
        )

    async def _decode(self, stored: StoredUpload) -> StoredUpload:
        """Let the decoder of the artifact that was served then read the upload. The upload stays undecoded
        without a decoder, or where it cannot read such releases."""
        if not await self._has_decoder(stored.artifact):
            return stored
        folder = self._models.folder(stored.artifact)
        try:
            with self._traces.goes_on("decode", stored.model, stored.upload):
                decoded = await self._decoding.infer(folder, stored.values, stored.release)
        except InvalidArtifact:
            raise
        except InvalidInput as error:  # whatever users upload, the operator can read all of it
            log.warning("an upload is not decoded", model=stored.model, reason=error.detail)
            return stored
        if not isinstance(decoded, Inferred):  # whole samples, which are large and so decoded each time
            return dataclasses.replace(stored, reconstructed=decoded)
        await self._store.infer(stored.model, stored.upload, *decoded)
        return dataclasses.replace(stored, inferred=decoded.classes, scores=decoded.scores)

    async def _has_decoder(self, digest: str) -> bool:
        """Whether an artifact, still served or withdrawn, has a decoder; raises `NotFound` and
        `InvalidArtifact`."""
        for served in self._models:
            if served.deployment.artifact == digest:
                return served.has_decoder
        if digest not in self._withdrawn:
            folder = self._models.folder(digest)
            if model_files.is_one(folder):
                self._withdrawn[digest] = False
            else:
                files = await asyncio.to_thread(read_files, folder)
                self._withdrawn[digest] = files.decoder is not None
        return self._withdrawn[digest]
