"""Forwarding of a paid request to the provider, with the policy applied to its release."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import orjson
from numpy.typing import NDArray

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.service.exchange import CompleteAnswer, Request
from leakrange.services.proxy.failures import unavailable, unusable
from leakrange.services.proxy.ledger import Idempotency
from leakrange.services.proxy.queries import Query
from leakrange.services.proxy.releases import (
    NoiseSource,
    UploadBody,
    answered_rows,
    decisions,
    query_digests,
    transform_answer,
)
from leakrange.services.proxy.shadows import RequestFigures, ShadowPolicy, Shadows, compare
from leakrange.services.proxy.snapshot import Base
from leakrange.services.proxy.targets import TargetFailed, Targets
from leakrange.services.proxy.upstream import Reply, Upstream, model_url
from leakrange.targets.target import RemoteTarget
from leakrange.wire.endpoints import UPLOADS, check_endpoint
from leakrange.wire.errors import InvalidInput, LeakrangeError, NotFound, UpstreamFailed
from leakrange.wire.names import upload_name
from leakrange.wire.pairs import same_person, sample_marks
from leakrange.wire.schemas import Classes, ModelCard
from leakrange.wire.tensors import JSON, NPY, encode_npy
from leakrange.wire.turns import apart, in_turns


class DataRequest(NamedTuple):
    """A data request that has been read."""

    http: Request
    model: str
    endpoint: str
    fingerprint: str
    body: bytes
    idempotency: Idempotency | None


class Forward:
    """Asks providers. The proxy words their failures and refusals itself. The caller reserves the samples."""

    def __init__(
        self, upstream: Upstream, targets: Targets, secret: bytes, most: int, shadows: Shadows
    ) -> None:
        """Keep the parts. ``secret`` keys the noise; ``most`` samples are taken in one request."""
        self._upstream, self._targets, self._secret, self._most = upstream, targets, secret, most
        self._shadows = shadows

    async def query(
        self,
        request: DataRequest,
        query: Query,
        accept: str,
        base: Base,
        chain: Chain,
        shadow: ShadowPolicy | None = None,
    ) -> CompleteAnswer:
        """The release of a query, or the entry of an enrolment. Without a policy, the body of a release
        passes unchanged. A ``shadow`` is computed after the answer has been sent."""
        headers = {"Accept": accept}
        if query.content_type:
            headers["Content-Type"] = query.content_type
        release = query.release
        defended = release is not None and chain.transforms
        naming = None
        if defended and chain.needs_digests:
            inputs = await self.model_inputs(request, query, base)
            naming = query.naming(self._secret, request.model, inputs)
        if isinstance(base, RemoteTarget):
            reply = await self._target_reply(request, query, base, accept)
        else:
            check = partial(query.check, most=self._most)
            reply = await self._ask(request, base, query.method, query.place, headers, query.body, check)
        if release is None:
            inputs = await self.model_inputs(request, query, base)
            return CompleteAnswer.json({"person": query.person, "images": len(set(sample_marks(inputs)))})
        if reply.media != accept:
            raise unusable()
        if not defended:
            if await apart(partial(answered_rows, reply.media, reply.body), len(reply.body)) != query.samples:
                raise unusable()
            body = reply.body
            after = None if shadow is None else self._shadowed(request, query, base, shadow, reply, body)
            return CompleteAnswer(200, body, {"Content-Type": accept}, after=after)
        digests = naming(reply.template) if naming is not None else None
        context = self._noise(request).context(chain, release, digests)
        body = await self._defended(request, query, base, chain, context, reply)
        after = None if shadow is None else self._shadowed(request, query, base, shadow, reply, body)
        return CompleteAnswer(200, body, {"Content-Type": accept}, after=after)

    async def _target_reply(
        self, request: DataRequest, query: Query, target: RemoteTarget, accept: str
    ) -> Reply:
        """A target's answer, in the form of a provider's."""
        card = target.model_card(request.model)
        if query.endpoint != target.endpoint or query.person is not None:
            model_url(target, request.model)
        samples = await in_turns(query.decoded(card.input, self._most), len(query.body))
        try:
            values = await self._targets.release(target, samples, self._noise(request).request)
        except TargetFailed as error:
            raise (unavailable() if error.away else unusable()) from error
        if accept == NPY:
            return Reply(NPY, encode_npy(values), version=card.version)
        described = {"model": card.name, "version": card.version, "release": query.release}
        same = {}
        if query.release == "score" and card.threshold is not None:
            same = {"same": same_person(values, card.threshold)}
        body = orjson.dumps({**described, "values": values, **same}, option=orjson.OPT_SERIALIZE_NUMPY)
        return Reply(JSON, body, version=card.version)

    def _shadowed(
        self, request: DataRequest, query: Query, base: Base, shadow: ShadowPolicy, reply: Reply, sent: bytes
    ) -> Callable[[], None]:
        release, chain = query.release, shadow.chain
        assert release is not None

        async def work() -> RequestFigures:
            digests = None
            if chain.needs_digests:
                inputs = await self.model_inputs(request, query, base)
                digests = query.naming(self._secret, request.model, inputs)(reply.template)
            heads: tuple[int, ...] = ()
            if chain.by_head:
                heads = tuple((await self._upstream.steady_card(base, request.model)).heads or ())
            context = replace(self._noise(request).context(chain, release, digests), heads=heads)
            compared = partial(compare, chain, reply.media, reply.body, sent, context)
            return await apart(compared, len(reply.body))

        held = len(request.body) + len(reply.body) + len(sent)
        return partial(self._shadows.follow, shadow, work, held)

    async def _defended(
        self,
        request: DataRequest,
        query: Query,
        base: Base,
        chain: Chain,
        context: ReleaseContext,
        reply: Reply,
    ) -> bytes:
        upstream, release = self._upstream, context.release
        described: dict[str, str] = {}
        if reply.media == JSON:
            version = (await upstream.steady_card(base, request.model)).version
            described = {"model": request.model, "version": version, "release": release}

        decides = release == "score" and reply.media == JSON  # npy has no room for a decision

        async def transformed(fresh: bool) -> bytes:
            # A provider that does not say which version answered is asked for its threshold every time.
            fresh = fresh or (decides and reply.version is None)
            card = await upstream.card(base, request.model, fresh=fresh, version=reply.version)
            if decides and reply.version not in (None, card.version):
                raise unavailable()  # another model has taken its place, with a threshold for other distances
            threshold = card.threshold if decides else None
            shape = (query.samples, *card.shape_of(release))
            heads = await self._heads(request, base, chain, shape[-1]) if chain.by_head else ()
            with_heads = replace(context, heads=heads) if heads else context
            transform = partial(
                transform_answer, chain, with_heads, reply.media, reply.body, shape, described, threshold
            )
            return await apart(transform, len(reply.body))

        try:
            return await transformed(fresh=False)
        except UpstreamFailed:
            # The model of this name may have been replaced by one with another number of classes.
            return await transformed(fresh=True)

    async def upload(
        self, request: DataRequest, upload: UploadBody, base: Base, chain: Chain, account: str
    ) -> CompleteAnswer:
        """The decisions on an upload of ``account``, which is transformed before it is sent on."""
        body, upstream = request.body, self._upstream
        if chain.transforms:

            def transform() -> bytes:
                digests = None
                if chain.needs_digests:
                    digests = query_digests(
                        self._secret, request.model, UPLOADS, upload.values, upload.release
                    )
                context = self._noise(request).context(chain, upload.release, digests)
                return upload.transformed(chain, replace(context, heads=heads))

            heads = await self._heads(request, base, chain, upload.values.shape[-1])
            body = await apart(transform, len(body))
        headers = {"Accept": JSON, "Content-Type": upload.media, "X-Release": upload.release}
        if (key := request.http.headers.get(b"idempotency-key")) is not None:
            headers["Idempotency-Key"] = upload_name(account, key)
        reply = await self._ask(request, base, "POST", UPLOADS, headers, body, upload.check)

        async def checked(fresh: bool) -> Classes:
            card = await upstream.card(base, request.model, fresh=fresh)
            heads = card.heads or (len(card.classes),)
            return decisions(reply.media, reply.body, len(upload.values), heads)

        try:
            classes = await checked(fresh=False)
        except UpstreamFailed:
            classes = await checked(fresh=True)  # the model of this name may have been replaced
        version = (await upstream.steady_card(base, request.model)).version
        return CompleteAnswer.json({"model": request.model, "version": version, "decisions": classes})

    async def _heads(self, request: DataRequest, base: Base, chain: Chain, width: int) -> Sequence[int]:
        """The heads of class scores (B, ``width``), where the chain works on each by itself.

        They are those of the steady card: a provider that changed them with every answer could tell
        something. Where the model has been replaced since, all scores count as one head, which tells less.
        """
        if not chain.by_head:
            return ()
        heads = (await self._upstream.steady_card(base, request.model)).heads or ()
        return heads if sum(heads) == width else ()

    async def _ask(
        self,
        request: DataRequest,
        base: Base,
        method: str,
        place: str,
        headers: dict[str, str],
        body: bytes,
        check: Callable[[ModelCard], Generator[None, None, None]],
    ) -> Reply:
        """The provider's answer. Where it refuses, the proxy itself explains the mistake of the request, as
        far as its cached card shows it; the provider's own words stay unread."""
        try:
            route = model_url(base, request.model)
            return await self._upstream.ask(method, route, f"/{place}", headers, body)
        except (NotFound, InvalidInput) as refusal:
            try:
                card = await self._upstream.steady_card(base, request.model)
            except LeakrangeError:
                raise refusal from None
            check_endpoint(card, request.endpoint)
            await in_turns(check(card), len(body))
            raise

    def _noise(self, request: DataRequest) -> NoiseSource:
        name = None
        if request.idempotency is not None:
            name = f"{request.fingerprint}:{request.idempotency.key}:{request.idempotency.request}".encode()
        return NoiseSource(self._secret, name)

    async def model_inputs(
        self, request: DataRequest, content: Query | UploadBody, base: Base
    ) -> NDArray[Any]:
        """The samples (B, ...), or pairs of them (B, 2, ...), as the model sees them; for an upload the
        values."""
        if isinstance(content, UploadBody):
            return content.values
        query = content

        async def decoded(fresh: bool) -> NDArray[Any]:
            card = await self._upstream.card(base, request.model, fresh=fresh)
            return await in_turns(query.decoded(card.input, self._most), len(query.body))

        with contextlib.suppress(InvalidInput):
            return await decoded(fresh=False)
        # The model of this name may have been replaced by one that takes other samples. (This is no
        # "except" block, since that would keep the first decoded array in memory.)
        return await decoded(fresh=True)
