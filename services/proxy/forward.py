"""A request that is paid for: asked of the provider, its release transformed by the policy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from leakrange.defences.output import Chain
from leakrange.wire.endpoints import UPLOADS
from leakrange.wire.errors import InvalidInput, Unavailable, UpstreamFailed
from leakrange.wire.images import ImageLimits
from leakrange.wire.names import upload_name
from leakrange.wire.tensors import JSON, media_type
from services.proxy.exchange import Answer, Request
from services.proxy.ledger import Idempotency
from services.proxy.parties import Parties
from services.proxy.queries import Naming, Query
from services.proxy.releases import Noise, Upload, answered_rows, query_digests, transform_answer

__all__ = ["Asked", "Forward"]

OFFLOAD: Final = 65_536
"""Bytes from which on pictures are decoded in a thread: the event loop has other requests to serve."""


@dataclass(frozen=True)
class Asked:
    """A data request that has been read."""

    request: Request
    model: str
    endpoint: str
    fingerprint: str
    body: bytes
    idempotency: Idempotency | None


class Forward:
    """Asks providers. An answer of 400 or more is theirs as it came; samples are the caller's business."""

    def __init__(self, parties: Callable[[], Parties], limits: ImageLimits) -> None:
        self._parties, self._limits = parties, limits

    async def query(self, asked: Asked, query: Query, accept: str, base: str, chain: Chain) -> Answer:
        """The release of a query; an enrolment releases nothing and passes as it is."""
        upstream, headers = self._parties().upstream, {"Accept": accept}
        if query.content_type:
            headers["Content-Type"] = query.content_type
        release = query.release
        defended = release is not None and bool(chain.stages)
        naming = await self._naming(asked, query, base) if defended and chain.needs_digests else None
        url = f"{base}/v1/models/{asked.model}/{query.place}"
        answer = await upstream.ask(query.method, url, headers, query.body)
        if answer.status >= 400 or release is None:
            return answer
        content_type = answer.headers.get("Content-Type")
        if not defended:
            if (rows := answered_rows(content_type, answer.body)) != query.samples:
                raise UpstreamFailed(f"the provider answered {rows} of {query.samples} samples")
            return answer
        threshold = None
        if release == "score" and media_type(content_type) == JSON:  # npy has no room for a decision
            threshold = await self._threshold(base, asked.model, answer.version)
        digests = naming(answer.template) if naming is not None else None
        context = self._noise(asked).context(chain, release, digests)
        body = transform_answer(chain, context, content_type, answer.body, query.samples, threshold)
        return Answer(answer.status, body, answer.headers)

    async def upload(self, asked: Asked, upload: Upload, base: str, chain: Chain, account: str) -> Answer:
        """The decisions on an upload of ``account``, which leaves transformed."""
        body = asked.body
        if chain.stages:
            digests = None
            if chain.needs_digests:
                secret = self._parties().secret
                digests = query_digests(secret, asked.model, UPLOADS, upload.values, upload.release)
            body = upload.transformed(chain, self._noise(asked).context(chain, upload.release, digests))
        headers = {"Accept": JSON, "Content-Type": upload.media, "X-Release": upload.release}
        if (key := asked.request.headers.get("idempotency-key")) is not None:
            headers["Idempotency-Key"] = upload_name(account, key)
        return await self._parties().upstream.ask(
            "POST", f"{base}/v1/models/{asked.model}/outputs", headers, body
        )

    async def _threshold(self, base: str, model: str, version: str | None) -> float | None:
        """That of the model of ``version``, which has just answered; a provider that does not say which
        version answered is asked for its card every time.

        Raises `Unavailable` where yet another one has taken its place: its threshold may be meant for other
        distances.
        """
        card = await self._parties().upstream.card(base, model, fresh=version is None, version=version)
        if version not in (None, card.version):
            raise Unavailable("the model was replaced while it answered", retry_after=1.0)
        return card.threshold

    def _noise(self, asked: Asked) -> Noise:
        request = None
        if asked.idempotency is not None:
            request = f"{asked.fingerprint}:{asked.idempotency.key}:{asked.idempotency.request}".encode()
        return Noise(self._parties().secret, request)

    async def _naming(self, asked: Asked, query: Query, base: str) -> Naming:
        """What names the samples as the model sees them."""
        parties = self._parties()

        async def decoded(fresh: bool) -> Naming:
            card = await parties.upstream.card(base, asked.model, fresh=fresh)

            def read() -> Naming:
                return query.naming(parties.secret, asked.model, card.input_shape, self._limits)

            return await asyncio.to_thread(read) if len(query.body) > OFFLOAD else read()

        try:
            return await decoded(fresh=False)
        except InvalidInput:
            # The model of this name may have been replaced by one of another size.
            return await decoded(fresh=True)
