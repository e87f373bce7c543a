"""The HTTP calls of the controller to providers, proxy and edge clients, each safe to repeat after a
restart.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import orjson

from leakrange.wire.client import call
from leakrange.wire.errors import LeakrangeError, NotFound, Unavailable
from leakrange.wire.jobs import ReleaseKind
from leakrange.wire.schemas import Deployment, IntakeRecord, ModelCard, Round, RoundReply
from leakrange.wire.transport import Transport

__all__ = ["Edge", "Providers", "Proxy"]

ATTEMPTS = 8
"""Over some 20 seconds: a party that is restarting is waited for, one that is gone fails the trial with its
name.
"""


class Providers:
    """The provider services by the behaviour that they play."""

    def __init__(self, transport: Transport, urls: Mapping[str, str], operator_key: str) -> None:
        self._transport, self._urls, self._key = transport, urls, operator_key

    def url(self, behaviour: str) -> str:
        """Where models of ``behaviour`` (the word before any slash) are served; `Unavailable` where the range
        has no such provider.
        """
        played = behaviour.partition("/")[0]
        if played not in self._urls:
            raise Unavailable(
                f"this range has no provider that plays {played!r}; it has {', '.join(sorted(self._urls))}",
                hint="add it to LEAKRANGE_PROVIDERS of the controller",
            )
        return self._urls[played].rstrip("/")

    async def deploy(self, behaviour: str, model: str, artifact: str, release: ReleaseKind) -> ModelCard:
        """Have ``artifact`` served as ``model``."""
        body = Deployment(artifact=artifact, release=release).model_dump(mode="json")
        url = f"{self.url(behaviour)}/v1/operator/models/{model}"
        answer = await call(self._transport, "PUT", url, key=self._key, json=body, attempts=ATTEMPTS)
        return ModelCard.model_validate_json(answer.body)

    async def intake(self, behaviour: str, model: str, upload: str) -> IntakeRecord:
        """What the provider received in ``upload`` and what it inferred on the side."""
        url = f"{self.url(behaviour)}/v1/operator/models/{model}/intake/{upload}"
        answer = await call(self._transport, "GET", url, key=self._key, attempts=ATTEMPTS)
        return IntakeRecord.model_validate_json(answer.body)


class Proxy:
    """The defence proxy's admin API."""

    def __init__(self, transport: Transport, url: str, operator_key: str) -> None:
        self._transport, self._url, self._key = transport, url.rstrip("/"), operator_key

    async def put_policy(self, name: str, chain: list[Any]) -> None:
        """Create or replace a policy."""
        await self._call("PUT", f"/admin/policies/{name}", {"chain": chain})

    async def put_route(self, model: str, upstream: str) -> None:
        """Send requests for ``model`` to the provider at ``upstream``."""
        await self._call("PUT", f"/admin/routes/{model}", {"upstream": upstream})

    def secret(self, name: str) -> str:
        """The API key of that name: the same after a restart, and known to nobody without the operator
        key.
        """
        mac = hmac.new(self._key.encode(), b"api-key:" + name.encode(), hashlib.sha256)
        return f"lr_{mac.hexdigest()}"

    async def put_key(self, name: str, *, budget: int | None, policy: str, models: list[str]) -> str:
        """Make sure that a key of that name is there; gives the key itself."""
        secret = self.secret(name)
        await self._call(
            "POST",
            "/admin/keys",
            {"id": name, "name": name, "key": secret, "budget": budget, "policy": policy, "models": models},
        )
        return secret

    async def ledger(self, name: str) -> dict[str, Any] | None:
        """The key's account, None where there is no such key."""
        try:
            answer = await call(
                self._transport, "GET", f"{self._url}/admin/keys/{name}", key=self._key, attempts=ATTEMPTS
            )
        except NotFound:
            return None
        account: dict[str, Any] = orjson.loads(answer.body)
        return account

    async def _call(self, method: str, path: str, body: dict[str, Any]) -> None:
        await call(self._transport, method, self._url + path, key=self._key, json=body, attempts=ATTEMPTS)


class Edge:
    """The edge-client service: simulated users."""

    def __init__(self, transport: Transport, url: str, operator_key: str) -> None:
        self._transport, self._url, self._key = transport, url.rstrip("/"), operator_key

    async def round(self, order: Round) -> RoundReply:
        """Let the users use the app once; the reply registers the truth about their samples with the
        controller.
        """
        answer = await call(
            self._transport,
            "POST",
            f"{self._url}/v1/rounds",
            key=self._key,
            json=order.model_dump(mode="json"),
            attempts=ATTEMPTS,
        )
        reply = RoundReply.model_validate_json(answer.body)
        if reply.samples != order.span.stop - order.span.start:
            raise LeakrangeError(f"the edge client answered for {reply.samples} samples of another round")
        return reply
