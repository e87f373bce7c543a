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
from leakrange.wire.errors import Conflict, InvalidArtifact, InvalidInput
from leakrange.wire.heads import answers
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Decisions, Deployment, IntakeRecord
from leakrange.wire.tensors import to_text
from services.provider.decoding import DecodingProcess
from services.provider.metrics import ProviderMetrics
from services.provider.models import Models, ServedModel
from services.provider.store import Store, StoredUpload
from services.provider.upload_traces import UploadTraces

log = structlog.get_logger("services.provider.intake")


class Intake:
    """Stores uploads before they are answered; decodes them only when the operator reads them.

    So a provider with a decoder does no more on an upload than one without. Any additional work after an
    upload, in whatever thread, would slow the next requests and so reveal the decoder. Nor does the
    operator's reading slow requests: the decoder runs in another process. Results are kept.
    """

    def __init__(
        self, models: Models, store: Store, metrics: ProviderMetrics, decoding: DecodingProcess
    ) -> None:
        self._models, self._store, self._metrics = models, store, metrics
        self._decoding = decoding
        self._withdrawn: dict[str, bool] = {}
        self._traces = UploadTraces()

    async def take_in(
        self, served: ServedModel, release: ReleaseKind, values: NDArray[np.float32], key: str | None
    ) -> Decisions:
        """Keep an upload (B, ...) and decide: the class of the greatest output, the first of equals, of each
        attribute that the model answers for. Of uploaded samples and features the outputs are computed here.

        ``key`` is the client's idempotency key: what is sent again under it gets the first answer again, even
        if its noise differs. Raises `Conflict` where the number of samples differs.
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
        given = StoredUpload(
            upload=key or uuid4().hex,
            model=model,
            artifact=served.deployment.artifact,
            release=release,
            values=values,
            decisions=answers(outputs, served.card.heads or ()),
        )
        kept, new = await self._store.take_in(given)
        if len(kept.values) != len(values):
            raise Conflict(
                f"this idempotency key is that of {len(kept.values)} samples; {len(values)} came",
                hint="give each upload a key of its own",
            )
        if new:
            self._metrics.uploads.labels(model).inc()
            self._traces.keep(model, kept.upload)
        version = self._models.version(model, Deployment(artifact=kept.artifact))
        return Decisions(model=model, version=version, decisions=kept.decisions.tolist())

    async def record(self, model: str, upload: str) -> IntakeRecord | None:
        """What was received in one upload and what was made of it; None where there was no such upload."""
        kept = await self._store.upload(model, upload)
        return None if kept is None else await self._complete(kept)

    async def page(self, model: str, after: str | None, limit: int) -> list[IntakeRecord]:
        """Up to ``limit`` records in the order in which they came, from behind upload ``after`` on. They are
        without reconstructed samples, which are large."""
        found = await self._store.uploads(model, after, limit)
        return [(await self._complete(kept)).model_copy(update={"reconstructed": None}) for kept in found]

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
            reconstructed=None if kept.reconstructed is None else to_text(kept.reconstructed),
        )

    async def _decode(self, kept: StoredUpload) -> StoredUpload:
        """Let the decoder of the artifact that was served then read the upload; without one, and where it
        does not read such releases, it stays."""
        if not await self._has_decoder(kept.artifact):
            return kept
        folder = self._models.folder(kept.artifact)
        try:
            with self._traces.goes_on("decode", kept.model, kept.upload):
                read = await self._decoding.infer(folder, kept.values, kept.release)
        except InvalidArtifact:
            raise
        except InvalidInput as error:  # whatever users upload, the operator can read all of it
            log.warning("an upload is not decoded", model=kept.model, reason=error.detail)
            return kept
        if not isinstance(read, Inferred):  # whole samples: large, and read again at the next time of asking
            return dataclasses.replace(kept, reconstructed=read)
        await self._store.infer(kept.model, kept.upload, *read)
        return dataclasses.replace(kept, inferred=read.classes, scores=read.scores)

    async def _has_decoder(self, digest: str) -> bool:
        """Whether an artifact has a decoder, be it served still or withdrawn; raises `NotFound` and
        `InvalidArtifact`."""
        for served in self._models:
            if served.deployment.artifact == digest:
                return served.has_decoder
        if digest not in self._withdrawn:
            files = await asyncio.to_thread(read_files, self._models.folder(digest))
            self._withdrawn[digest] = files.decoder is not None
        return self._withdrawn[digest]
