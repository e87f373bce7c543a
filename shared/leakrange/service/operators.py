"""The operator's HTTP calls to providers, proxy and edge clients. Each may be repeated after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.jobs.session import Session, SessionReply
from leakrange.wire.client import NativeClient, call
from leakrange.wire.errors import LeakrangeError, NotFound, Unavailable
from leakrange.wire.keys import api_key
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Deployment, IntakeRecord, ModelCard
from leakrange.wire.transport import Answer, Transport

__all__ = ["Edge", "Providers", "Proxy"]


class _Party:
    """A service that is called with the operator's key. The call waits for a service that restarts; the
    error of one that stays unreachable names it."""

    def __init__(self, transport: Transport, operator_key: str, attempts: int) -> None:
        self._transport, self._key, self._attempts = transport, operator_key, attempts

    async def _ask(self, who: str, method: str, url: str, json: Any = None) -> Answer:
        try:
            return await call(self._transport, method, url, key=self._key, json=json, attempts=self._attempts)
        except LeakrangeError as error:
            error.detail = f"{who}: {error.detail}"
            raise


class Providers(_Party):
    """The provider services by the behaviour that they play."""

    def __init__(
        self, transport: Transport, urls: Mapping[str, str], operator_key: str, *, attempts: int
    ) -> None:
        super().__init__(transport, operator_key, attempts)
        self._urls = urls

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
        return await self.put(behaviour, model, Deployment(artifact=artifact, release=release))

    async def put(self, behaviour: str, model: str, deployment: Deployment) -> ModelCard:
        """Have a deployment served as ``model``."""
        url = f"{self.url(behaviour)}/v1/operator/models/{model}"
        answer = await self._ask(_named(behaviour), "PUT", url, deployment.model_dump(mode="json"))
        return ModelCard.model_validate_json(answer.body)

    async def withdraw(self, behaviour: str, model: str) -> None:
        """Withdraw what was deployed for runs as ``model``; repeating it changes nothing. Raises
        `Conflict` where the operator deployed it."""
        url = f"{self.url(behaviour)}/v1/operator/models/{model}?of_runs=true"
        await self._ask(_named(behaviour), "DELETE", url)

    async def intake(self, behaviour: str, model: str, upload: str) -> IntakeRecord:
        """What the provider received in ``upload``, and what its decoder inferred."""
        url = f"{self.url(behaviour)}/v1/operator/models/{model}/intake/{upload}"
        answer = await self._ask(_named(behaviour), "GET", url)
        return IntakeRecord.model_validate_json(answer.body)


class Proxy(_Party):
    """The defence proxy's admin API."""

    def __init__(self, transport: Transport, url: str, operator_key: str, *, attempts: int) -> None:
        super().__init__(transport, operator_key, attempts)
        self._url = url.rstrip("/")

    async def put_policy(self, name: str, chain: list[Any]) -> None:
        """Create or replace a policy."""
        await self._call("PUT", f"/admin/policies/{name}", {"chain": chain})

    async def put_route(self, model: str, upstream: str) -> None:
        """Send requests for ``model`` to the provider at ``upstream``."""
        await self._call("PUT", f"/admin/routes/{model}", {"upstream": upstream})

    async def delete_route(self, model: str, upstream: str) -> None:
        """Remove the route of ``model`` to that provider; a route to another provider stays."""
        url = f"{self._url}/admin/routes/{model}"
        try:
            answer = await self._ask("the proxy", "GET", url)
            if orjson.loads(answer.body)["upstream"] == upstream:
                await self._ask("the proxy", "DELETE", url)
        except NotFound:
            return

    def secret(self, name: str) -> str:
        """The API key of that name, made with the operator key."""
        return api_key(self._key, name)

    async def put_key(
        self,
        name: str,
        *,
        budget: int | None,
        policy: str,
        model: str,
        endpoints: list[str],
        key: str | None = None,
    ) -> str:
        """Make sure that a key of that name exists; returns the key itself: ``key``, or what `secret`
        says.

        ``endpoints`` are the only ones that it may use: a key that may fetch the artifact needs no
        releases.
        """
        secret = key or self.secret(name)
        await self._call(
            "POST",
            "/admin/keys",
            {
                "id": name,
                "name": name,
                "key": secret,
                "budget": budget,
                "policy": policy,
                "models": [model],
                "endpoints": endpoints,
            },
        )
        return secret

    async def mark(self, run: str) -> None:
        """Register ``run`` with the ledger, by a key of its name that may be used for nothing. `ledger`
        can tell later whether it is still the same ledger."""
        marked = {"id": run, "name": run, "key": self.secret(run), "budget": 0, "models": [], "endpoints": []}
        await self._call("POST", "/admin/keys", marked)

    async def upload(
        self, key: str, model: str, release: ReleaseKind, values: NDArray[np.float32], upload: str
    ) -> list[int]:
        """Upload outputs (B, Y) of a user's own model under the user's key; returns the provider's
        decisions."""
        client = NativeClient(self._transport, self._url, key, attempts=self._attempts)
        return await client.upload(model, release, values, idempotency_key=upload)

    async def ledger(self, name: str) -> dict[str, Any] | None:
        """The key's account, None where there is no such key."""
        try:
            answer = await self._ask("the proxy", "GET", f"{self._url}/admin/keys/{name}")
        except NotFound:
            return None
        account: dict[str, Any] = orjson.loads(answer.body)
        return account

    async def _call(self, method: str, path: str, body: dict[str, Any]) -> None:
        await self._ask("the proxy", method, self._url + path, body)


class Edge(_Party):
    """The edge-client service: simulated users."""

    def __init__(self, transport: Transport, url: str, operator_key: str, *, attempts: int) -> None:
        super().__init__(transport, operator_key, attempts)
        self._url = url.rstrip("/")

    async def session(self, order: Session) -> SessionReply:
        """Let the users use the app once; the reply registers the truth about their samples with the
        controller.
        """
        url = f"{self._url}/v1/sessions"
        answer = await self._ask("the edge client", "POST", url, order.model_dump(mode="json"))
        reply = SessionReply.model_validate_json(answer.body)
        if reply.samples != order.span.stop - order.span.start:
            raise LeakrangeError(f"the edge client answered for {reply.samples} samples of another session")
        return reply


def _named(behaviour: str) -> str:
    return f"the {behaviour.partition('/')[0]} provider"
