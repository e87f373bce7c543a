"""Requests that need a key but cost no samples: cards, artifacts, obfuscators, and the list of enrolled
people."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Send

from leakrange.service.exchange import CompleteAnswer, Request
from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.keys import authorized
from leakrange.services.proxy.releases import enrolled
from leakrange.services.proxy.settings import ProxySettings
from leakrange.services.proxy.snapshot import KeyRecord, Snapshot
from leakrange.services.proxy.upstream import Upstream, model_url
from leakrange.wire.endpoints import ARTIFACT, GALLERY, OBFUSCATORS
from leakrange.wire.errors import (
    Forbidden,
    InvalidArtifact,
    InvalidInput,
    NotFound,
    Unavailable,
    UnknownModel,
    UpstreamFailed,
)
from leakrange.wire.names import check_person
from leakrange.wire.tensors import JSON


class Free:
    """Answers requests that cost no samples."""

    def __init__(self, configuration: Configuration, upstream: Upstream, settings: ProxySettings) -> None:
        self._configuration, self._upstream = configuration, upstream
        self._controller = settings.controller_url.rstrip("/")
        self._operator = f"Bearer {settings.shown_key}"

    async def models(self, request: Request) -> CompleteAnswer:
        """The cards of the models that the key may use and whose providers answer now."""
        key, snapshot = await self._known(request)

        async def card(model: str) -> dict[str, Any] | None:
            try:
                return await self._card(key, snapshot, model)
            except (Unavailable, UpstreamFailed, UnknownModel):
                return None  # a provider that is down serves no model now

        usable = [model for model in sorted(snapshot.routes) if key.may_use(model)]
        cards = await asyncio.gather(*map(card, usable))
        return CompleteAnswer.json({"models": [each for each in cards if each is not None]})

    async def card(self, request: Request, model: str) -> CompleteAnswer:
        """One model's card."""
        key, snapshot = await self._known(request)
        return CompleteAnswer.json(await self._card(key, snapshot, model))

    async def _card(self, key: KeyRecord, snapshot: Snapshot, model: str) -> dict[str, Any]:
        """The model's card as the key may read it: without facts of the file for a key that may not have the
        file."""
        base, upstream = snapshot.route(key, model, None), self._upstream
        try:
            snapshot.route(key, model, ARTIFACT)
        except Forbidden:
            defended = snapshot.defended(key, model)
            card = await (
                upstream.steady_card(base, model) if defended else upstream.card(base, model, fresh=True)
            )
            return card.model_dump(mode="json") | {"sha256": "", "parameters": 0}
        return (await upstream.card(base, model, fresh=True)).model_dump(mode="json")

    async def artifact(self, request: Request, model: str, send: Send) -> None:
        """The model's file, passed on piece by piece."""
        key, snapshot = await self._known(request)
        url = f"{model_url(snapshot.route(key, model, ARTIFACT), model)}/{ARTIFACT}"
        await self._upstream.stream(url, {"Accept": "*/*"}, send)

    async def obfuscator(self, request: Request, digest: str, send: Send) -> None:
        """The file of an obfuscator, passed on piece by piece from the controller to a key that has its
        digest among its models."""
        key, _ = await self._known(request)
        if not key.may_use(digest):
            raise Forbidden(f"this key may not have the obfuscator {digest[:12]}")
        headers = {"Accept": "*/*", "Authorization": self._operator}
        try:
            await self._upstream.stream(f"{self._controller}/v1/{OBFUSCATORS}/{digest}", headers, send)
        except NotFound as error:
            raise NotFound(f"the range has no obfuscator {digest[:12]}") from error
        except InvalidInput as error:
            raise InvalidArtifact(
                f"the file of the obfuscator {digest[:12]} is damaged",
                hint="run the scenario again: a damaged obfuscator is trained again",
            ) from error
        except Unavailable as error:
            raise Unavailable(
                "the controller, which has the obfuscators, does not answer now", retry_after=1.0
            ) from error

    async def gallery(self, request: Request, model: str) -> CompleteAnswer:
        """The people enrolled with a verification model."""
        key, snapshot = await self._known(request)
        base = snapshot.route(key, model, GALLERY)
        snapshot.check_untransformed(key, model, GALLERY)
        reply = await self._upstream.ask("GET", model_url(base, model), f"/{GALLERY}", {"Accept": JSON})
        persons = [person.model_dump() for person in enrolled(reply.media, reply.body)]
        version = (await self._upstream.steady_card(base, model)).version
        return CompleteAnswer.json({"model": model, "version": version, "persons": persons})

    async def remove(self, request: Request, model: str, person: str) -> CompleteAnswer:
        """Forget an enrolled person."""
        key, snapshot = await self._known(request)
        base = snapshot.route(key, model, GALLERY)
        path = f"/{GALLERY}/{check_person(person)}"
        await self._upstream.ask("DELETE", model_url(base, model), path, {"Accept": JSON})
        return CompleteAnswer(204, b"")

    async def _known(self, request: Request) -> tuple[KeyRecord, Snapshot]:
        """The current record of the key, and the current configuration."""
        snapshot = await self._configuration.refresh()
        mark = authorized(request.headers.raw.get(b"authorization"))
        return await self._configuration.key(mark), snapshot
