"""Forwards a paid request to the provider, and applies the policy to its release."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from numpy.typing import NDArray

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.wire.endpoints import UPLOADS, check_endpoint
from leakrange.wire.errors import InvalidInput, LeakrangeError, NotFound, UpstreamFailed
from leakrange.wire.names import upload_name
from leakrange.wire.pairs import sample_marks
from leakrange.wire.schemas import Classes, ModelCard
from leakrange.wire.tensors import JSON
from leakrange.wire.turns import apart, in_turns
from services.proxy.exchange import Answer, Request
from services.proxy.failures import unavailable, unusable
from services.proxy.ledger import Idempotency
from services.proxy.queries import Query
from services.proxy.releases import (
    Noise,
    Upload,
    answered_rows,
    decisions,
    query_digests,
    transform_answer,
)
from services.proxy.shadows import Compared, Shadow, Shadows, compare
from services.proxy.upstream import Reply, Upstream, model_url


class Asked(NamedTuple):
    """A data request that has been read."""

    request: Request
    model: str
    endpoint: str
    fingerprint: str
    body: bytes
    idempotency: Idempotency | None


class Forward:
    """Asks providers. The proxy words their failures and refusals itself. The caller reserves the samples."""

    def __init__(self, upstream: Upstream, secret: bytes, most: int, shadows: Shadows) -> None:
        """``secret`` keys the noise; ``most`` samples are taken in one request."""
        self._upstream, self._secret, self._most = upstream, secret, most
        self._shadows = shadows

    async def query(
        self,
        asked: Asked,
        query: Query,
        accept: str,
        base: str,
        chain: Chain,
        shadow: Shadow | None = None,
    ) -> Answer:
        """The release of a query, or the entry of an enrolment. Without a policy, the body of a release
        passes as it is. A ``shadow`` is computed after the answer has been handed over."""
        headers = {"Accept": accept}
        if query.content_type:
            headers["Content-Type"] = query.content_type
        release = query.release
        defended = release is not None and chain.transforms
        naming = None
        if defended and chain.needs_digests:
            seen = await self.seen(asked, query, base)
            naming = query.naming(self._secret, asked.model, seen)
        check = partial(query.check, most=self._most)
        reply = await self._ask(asked, base, query.method, query.place, headers, query.body, check)
        if release is None:
            seen = await self.seen(asked, query, base)
            return Answer.json({"person": query.person, "images": len(set(sample_marks(seen)))})
        if reply.media != accept:
            raise unusable()
        if not defended:
            if await apart(partial(answered_rows, reply.media, reply.body), len(reply.body)) != query.samples:
                raise unusable()
            body = reply.body
            after = None if shadow is None else self._shadowed(asked, query, base, shadow, reply, body)
            return Answer(200, body, {"Content-Type": accept}, after=after)
        digests = naming(reply.template) if naming is not None else None
        context = self._noise(asked).context(chain, release, digests)
        body = await self._defended(asked, query, base, chain, context, reply)
        after = None if shadow is None else self._shadowed(asked, query, base, shadow, reply, body)
        return Answer(200, body, {"Content-Type": accept}, after=after)

    def _shadowed(
        self, asked: Asked, query: Query, base: str, shadow: Shadow, reply: Reply, sent: bytes
    ) -> Callable[[], None]:
        release, chain = query.release, shadow.chain
        assert release is not None

        async def work() -> Compared:
            digests = None
            if chain.needs_digests:
                seen = await self.seen(asked, query, base)
                digests = query.naming(self._secret, asked.model, seen)(reply.template)
            heads: tuple[int, ...] = ()
            if chain.by_head:
                heads = tuple((await self._upstream.told(base, asked.model)).heads or ())
            context = replace(self._noise(asked).context(chain, release, digests), heads=heads)
            compared = partial(compare, chain, reply.media, reply.body, sent, context)
            return await apart(compared, len(reply.body))

        held = len(asked.body) + len(reply.body) + len(sent)
        return partial(self._shadows.follow, shadow, work, held)

    async def _defended(
        self, asked: Asked, query: Query, base: str, chain: Chain, context: ReleaseContext, reply: Reply
    ) -> bytes:
        upstream, release = self._upstream, context.release
        described: dict[str, str] = {}
        if reply.media == JSON:
            version = (await upstream.told(base, asked.model)).version
            described = {"model": asked.model, "version": version, "release": release}

        decides = release == "score" and reply.media == JSON  # npy has no room for a decision

        async def transformed(fresh: bool) -> bytes:
            # A provider that does not say which version answered is asked for its threshold every time.
            fresh = fresh or (decides and reply.version is None)
            card = await upstream.card(base, asked.model, fresh=fresh, version=reply.version)
            if decides and reply.version not in (None, card.version):
                raise unavailable()  # yet another has taken its place: its threshold is for other distances
            threshold = card.threshold if decides else None
            shape = (query.samples, *card.shape_of(release))
            heads = await self._heads(asked, base, chain, shape[-1]) if chain.by_head else ()
            told = replace(context, heads=heads) if heads else context
            transform = partial(
                transform_answer, chain, told, reply.media, reply.body, shape, described, threshold
            )
            return await apart(transform, len(reply.body))

        try:
            return await transformed(fresh=False)
        except UpstreamFailed:
            # The model of this name may have been replaced by one with another number of classes.
            return await transformed(fresh=True)

    async def upload(self, asked: Asked, upload: Upload, base: str, chain: Chain, account: str) -> Answer:
        """The decisions on an upload of ``account``, which leaves transformed."""
        body, upstream = asked.body, self._upstream
        if chain.transforms:

            def transform() -> bytes:
                digests = None
                if chain.needs_digests:
                    digests = query_digests(self._secret, asked.model, UPLOADS, upload.values, upload.release)
                context = self._noise(asked).context(chain, upload.release, digests)
                return upload.transformed(chain, replace(context, heads=heads))

            heads = await self._heads(asked, base, chain, upload.values.shape[-1])
            body = await apart(transform, len(body))
        headers = {"Accept": JSON, "Content-Type": upload.media, "X-Release": upload.release}
        if (key := asked.request.headers.get(b"idempotency-key")) is not None:
            headers["Idempotency-Key"] = upload_name(account, key)
        reply = await self._ask(asked, base, "POST", UPLOADS, headers, body, upload.check)

        async def checked(fresh: bool) -> Classes:
            card = await upstream.card(base, asked.model, fresh=fresh)
            heads = card.heads or (len(card.classes),)
            return decisions(reply.media, reply.body, len(upload.values), heads)

        try:
            made = await checked(fresh=False)
        except UpstreamFailed:
            made = await checked(fresh=True)  # the model of this name may have been replaced
        version = (await upstream.told(base, asked.model)).version
        return Answer.json({"model": asked.model, "version": version, "decisions": made})

    async def _heads(self, asked: Asked, base: str, chain: Chain, width: int) -> Sequence[int]:
        """The heads of class scores (B, ``width``), where the chain works on each by itself.

        They are those of the card that changes seldom: a provider that changed them with every answer could
        tell something. Where the model has been replaced since, all scores are of one head, which tells less.
        """
        if not chain.by_head:
            return ()
        heads = (await self._upstream.told(base, asked.model)).heads or ()
        return heads if sum(heads) == width else ()

    async def _ask(
        self,
        asked: Asked,
        base: str,
        method: str,
        place: str,
        headers: dict[str, str],
        body: bytes,
        check: Callable[[ModelCard], Generator[None, None, None]],
    ) -> Reply:
        """The provider's answer. Where it refuses, the proxy itself says what is wrong with the request, as
        far as the card that it knows tells; the provider's own words stay unread."""
        try:
            route = model_url(base, asked.model)
            return await self._upstream.ask(method, route, f"/{place}", headers, body)
        except (NotFound, InvalidInput) as refusal:
            try:
                card = await self._upstream.told(base, asked.model)
            except LeakrangeError:
                raise refusal from None
            check_endpoint(card, asked.endpoint)
            await in_turns(check(card), len(body))
            raise

    def _noise(self, asked: Asked) -> Noise:
        request = None
        if asked.idempotency is not None:
            request = f"{asked.fingerprint}:{asked.idempotency.key}:{asked.idempotency.request}".encode()
        return Noise(self._secret, request)

    async def seen(self, asked: Asked, told: Query | Upload, base: str) -> NDArray[Any]:
        """The samples (B, ...), or pairs of them (B, 2, ...), as the model sees them; of an upload the
        values."""
        if isinstance(told, Upload):
            return told.values
        query = told

        async def decoded(fresh: bool) -> NDArray[Any]:
            card = await self._upstream.card(base, asked.model, fresh=fresh)
            return await in_turns(query.decoded(card.input, self._most), len(query.body))

        with contextlib.suppress(InvalidInput):
            return await decoded(fresh=False)
        # The model of this name may have been replaced by one that takes other samples. (An "except" around
        # this would hold what was decoded.)
        return await decoded(fresh=True)
