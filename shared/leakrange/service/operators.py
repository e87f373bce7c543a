"""The operator's HTTP calls to providers, proxy and edge clients. Each may be repeated after a restart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange import tracing
from leakrange.jobs.session import Session, SessionReply
from leakrange.service.run_header import RUN
from leakrange.wire.administration import (
    Account,
    Accounts,
    KeyChange,
    KeyRequest,
    NewKey,
    Policies,
    Policy,
    Route,
    Routes,
)
from leakrange.wire.answers import Answer
from leakrange.wire.client import NativeClient, call
from leakrange.wire.errors import LeakrangeError, NotFound, Unavailable
from leakrange.wire.keys import api_key
from leakrange.wire.limits import LimitList, NamedLimit
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Classes, Deployment, IntakeRecord, ModelCard
from leakrange.wire.transport import Transport

__all__ = ["Edge", "Providers", "Proxy"]


MODELS = "/v1/operator/models/"


class _Party:
    """A service that is called with the operator's key. The call waits for a service that restarts; the
    error of one that stays unreachable names it (``who``)."""

    who = "the provider"

    def __init__(self, transport: Transport, url: str, operator_key: str, *, attempts: int) -> None:
        self.url = url.rstrip("/")
        self._transport, self._key, self._attempts = transport, operator_key, attempts

    async def _ask(
        self, method: str, path: str, json: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        url, tries = self.url + path, self._attempts
        try:
            return await call(
                self._transport, method, url, key=self._key, json=json, headers=headers, attempts=tries
            )
        except LeakrangeError as error:
            error.detail = f"{self.who}: {error.detail}"
            raise


class Providers:
    """The provider services by the behaviour that they play."""

    def __init__(
        self, transport: Transport, urls: Mapping[str, str], operator_key: str, *, attempts: int
    ) -> None:
        self._parties = {
            played: _Party(transport, url, operator_key, attempts=attempts) for played, url in urls.items()
        }
        for played, party in self._parties.items():
            party.who = f"the {played} provider"

    def url(self, behaviour: str) -> str:
        """Where models of ``behaviour`` are served; `Unavailable` where the range has no such provider."""
        return self._of(behaviour).url

    async def put(self, behaviour: str, model: str, deployment: Deployment) -> ModelCard:
        """Have a deployment served as ``model``."""
        answer = await self._of(behaviour)._ask("PUT", MODELS + model, deployment.model_dump(mode="json"))
        return ModelCard.model_validate_json(answer.body)

    async def withdraw(self, behaviour: str, model: str) -> None:
        """Withdraw what was deployed for runs as ``model``; repeating it changes nothing. Raises
        `Conflict` where the operator deployed it."""
        await self._of(behaviour)._ask("DELETE", f"{MODELS}{model}?of_runs=true")

    async def intake(self, behaviour: str, model: str, upload: str) -> IntakeRecord:
        """What the provider received in ``upload``, and what its decoder inferred."""
        answer = await self._of(behaviour)._ask("GET", f"{MODELS}{model}/intake/{upload}")
        return IntakeRecord.model_validate_json(answer.body)

    def _of(self, behaviour: str) -> _Party:
        played = behaviour.partition("/")[0]
        if played not in self._parties:
            there = ", ".join(sorted(self._parties))
            raise Unavailable(
                f"this range has no provider that plays {played!r}; it has {there}",
                hint="add it to LEAKRANGE_PROVIDERS of the controller",
            )
        return self._parties[played]


class Proxy(_Party):
    """The defence proxy's admin API."""

    who = "the proxy"

    async def put_policy(self, name: str, chain: list[Any]) -> None:
        """Create or replace a policy."""
        await self._ask("PUT", f"/admin/policies/{name}", {"chain": chain})

    async def put_limit(self, name: str, kind: str, **parameters: Any) -> None:
        """Create or change a limit, which keys name."""
        await self._ask("PUT", f"/admin/limits/{name}", {"kind": kind, **parameters})

    async def limit(self, name: str) -> dict[str, Any]:
        """A limit, and in ``used`` what is counted under it; raises `NotFound`."""
        found: dict[str, Any] = orjson.loads((await self._ask("GET", f"/admin/limits/{name}")).body)
        return found

    async def policies(self) -> list[Policy]:
        """All policies."""
        return Policies.model_validate_json((await self._ask("GET", "/admin/policies")).body).policies

    async def limits(self) -> list[NamedLimit]:
        """All limits."""
        return LimitList.model_validate_json((await self._ask("GET", "/admin/limits")).body).limits

    async def routes(self) -> list[Route]:
        """Where requests for each model go."""
        return Routes.model_validate_json((await self._ask("GET", "/admin/routes")).body).routes

    async def accounts(self) -> list[Account]:
        """All API keys with their ledgers."""
        return Accounts.model_validate_json((await self._ask("GET", "/admin/keys")).body).keys

    async def account(self, id: str) -> Account:
        """One API key with its ledger; raises `NotFound`."""
        return Account.model_validate_json((await self._ask("GET", f"/admin/keys/{id}")).body)

    async def create_key(self, wanted: KeyRequest) -> NewKey:
        """Make an API key."""
        asked = wanted.model_dump(mode="json", exclude_none=True) | {"budget": wanted.budget}
        return NewKey.model_validate_json((await self._ask("POST", "/admin/keys", asked)).body)

    async def change_key(self, id: str, change: KeyChange) -> Account:
        """Change what is set in ``change``; raises `NotFound`."""
        changes = change.model_dump(mode="json", exclude_unset=True)
        return Account.model_validate_json((await self._ask("PATCH", f"/admin/keys/{id}", changes)).body)

    async def delete_limit(self, name: str) -> None:
        """Delete a limit that no key names, and what is counted under it; raises `Conflict` otherwise."""
        await self._ask("DELETE", f"/admin/limits/{name}")

    async def put_route(self, model: str, upstream: str) -> None:
        """Send requests for ``model`` to the provider at ``upstream``."""
        await self._ask("PUT", f"/admin/routes/{model}", {"upstream": upstream})

    async def delete_route(self, model: str, upstream: str) -> None:
        """Remove the route of ``model`` to that provider; a route to another provider stays."""
        path = f"/admin/routes/{model}"
        try:
            answer = await self._ask("GET", path)
            if orjson.loads(answer.body)["upstream"] == upstream:
                await self._ask("DELETE", path)
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
        policy: str | None,
        models: list[str],
        endpoints: list[str],
        key: str | None = None,
        limits: Sequence[str] = (),
        counting: Literal["exact", "leased"] = "exact",
    ) -> str:
        """Make sure that a key of that name exists; returns the key itself: ``key``, or what `secret`
        says.

        ``endpoints`` are the only ones that it may use: a key that may fetch the artifact needs no
        releases. ``limits`` bound it beside its budget (`put_limit`); ``counting`` is "leased" where proxies
        may take blocks of its samples.
        """
        secret = key or self.secret(name)
        await self._ask(
            "POST",
            "/admin/keys",
            {
                "id": name,
                "name": name,
                "key": secret,
                "budget": budget,
                "policy": policy,
                "models": models,
                "endpoints": endpoints,
                "limits": list(limits),
                "counting": counting,
            },
        )
        return secret

    async def mark(self, run: str) -> None:
        """Register ``run`` with the ledger, by a key of its name that may be used for nothing. `ledger`
        can tell later whether it is still the same ledger."""
        marked = {"id": run, "name": run, "key": self.secret(run), "budget": 0, "models": [], "endpoints": []}
        await self._ask("POST", "/admin/keys", marked)

    async def card(self, key: str, model: str) -> ModelCard:
        """What the proxy tells of a model to who holds that key."""
        return await NativeClient(self._transport, self.url, key, attempts=self._attempts).card(model)

    async def upload(
        self, key: str, model: str, release: ReleaseKind, values: NDArray[np.float32], upload: str
    ) -> Classes:
        """Upload outputs (B, Y) of a user's own model under the user's key; returns the provider's
        decisions."""
        client = NativeClient(self._transport, self.url, key, attempts=self._attempts)
        return await client.upload(model, release, values, idempotency_key=upload)

    async def ledger(self, name: str) -> dict[str, Any] | None:
        """The key's account, None where there is no such key."""
        try:
            answer = await self._ask("GET", f"/admin/keys/{name}")
        except NotFound:
            return None
        account: dict[str, Any] = orjson.loads(answer.body)
        return account


class Edge(_Party):
    """The edge-client service: simulated users."""

    who = "the edge client"

    async def session(self, order: Session, run: str) -> SessionReply:
        """Let the users use the app once, for a run; the reply registers the truth about their samples with
        the controller.
        """
        with tracing.inward("session", model=order.model):  # unlike proxies and providers, it may know
            answer = await self._ask(
                "POST", "/v1/sessions", order.model_dump(mode="json"), headers={RUN: run}
            )
        reply = SessionReply.model_validate_json(answer.body)
        if order.span is not None and reply.samples != order.span.stop - order.span.start:
            raise LeakrangeError(f"the edge client answered for {reply.samples} samples of another session")
        return reply
