"""Calls with the operator's key: to any party, and to the administration of the proxy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from leakrange.wire.acts import ProxyActs
from leakrange.wire.administration import (
    Account,
    Accounts,
    BindingBody,
    Bindings,
    Counting,
    LimitList,
    LimitUse,
    NamedLimit,
    NewKey,
    Policies,
    Policy,
    Route,
    Routes,
    ShadowFigures,
    ShadowList,
)
from leakrange.wire.answers import Answer, read
from leakrange.wire.client import NativeClient, call
from leakrange.wire.errors import InvalidInput, LeakrangeError
from leakrange.wire.keys import api_key
from leakrange.wire.names import is_name
from leakrange.wire.transport import Transport

__all__ = ["PartyCalls", "Proxy"]


class PartyCalls:
    """A service at ``url`` that is called with the operator's key, at most ``attempts`` times while it cannot
    be reached. The detail of every error begins with ``who``."""

    who = "the party"

    def __init__(self, transport: Transport, url: str, operator_key: str, *, attempts: int) -> None:
        self.url, self.transport = url.rstrip("/"), transport
        self._key, self._attempts = operator_key, attempts

    async def ask(
        self, method: str, path: str, json: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send a request; raise the error that a problem answer describes."""
        url, tries = self.url + path, self._attempts
        try:
            return await call(
                self.transport, method, url, key=self._key, json=json, headers=headers, attempts=tries
            )
        except LeakrangeError as error:
            error.detail = f"{self.who}: {error.detail}"
            raise


class Proxy(PartyCalls):
    """The administration of the defence proxy. Everything may be repeated but `create_key` without an ``id``,
    and `rotate_key`. Keys of runs follow from the secret ``derive_from``, by default the operator key."""

    who = "the proxy"

    def __init__(
        self,
        transport: Transport,
        url: str,
        operator_key: str,
        *,
        attempts: int,
        derive_from: str | None = None,
    ) -> None:
        super().__init__(transport, url, operator_key, attempts=attempts)
        self._secret = derive_from or operator_key

    def as_user(self, key: str) -> NativeClient:
        """Return a client of the models behind the proxy for the user of an API key."""
        return NativeClient(self.transport, self.url, key, attempts=self._attempts)

    async def create_key(
        self,
        name: str,
        budget: int | None,
        *,
        policy: str | None = None,
        models: Sequence[str] | None = None,
        endpoints: Sequence[str] | None = None,
        limits: Sequence[str] = (),
        counting: Counting = "exact",
        id: str | None = None,
        keys: Sequence[str] = (),
    ) -> NewKey:
        """Make a key, which is shown this once, for so many samples (None: any number). See
        `leakrange.wire.administration.KeyRequest` for the rest; None stands for all.

        With an ``id``, the key itself is the first of ``keys``, else one derived from the ``id`` and the
        secret of this client. Asking again finds the key that is there; all ``keys`` are valid then.
        """
        body = {
            "name": name,
            "budget": budget,
            "policy": policy,
            "models": None if models is None else list(models),
            "endpoints": None if endpoints is None else list(endpoints),
            "limits": list(limits),
            "counting": counting,
            "id": id,
            "key": api_key(self._secret, id) if id is not None and not keys else next(iter(keys), None),
            "further_keys": list(keys[1:]),
        }
        return read(NewKey, await self.ask("POST", "/admin/keys", body))

    async def accounts(self) -> list[Account]:
        """All keys with their ledgers."""
        return read(Accounts, await self.ask("GET", "/admin/keys")).keys

    async def account(self, id: str) -> Account:
        """Return one key with its ledger of spent and remaining samples."""
        return read(Account, await self.ask("GET", f"/admin/keys/{_name(id)}"))

    async def change_key(self, id: str, /, **changes: Any) -> Account:
        """Change a key's ``name``, ``budget``, ``models``, ``endpoints``, ``limits`` or ``counting``; or let
        it be used no more, for good (``revoked=True``)."""
        return read(Account, await self.ask("PATCH", f"/admin/keys/{_name(id)}", changes))

    async def rotate_key(self, id: str, *, overlap: int = 3600) -> NewKey:
        """Give an account another key, shown this once. The one before is valid for ``overlap`` seconds more;
        budget, ledger and permissions stay."""
        path = f"/admin/keys/{_name(id)}/rotation"
        return read(NewKey, await self.ask("POST", path, {"overlap": overlap}))

    async def acts(self, since: float) -> ProxyActs:
        """Return what the operator did at the proxies from a time on (seconds since 1970), oldest first."""
        return read(ProxyActs, await self.ask("GET", f"/admin/acts?since={since}"))

    async def limits(self) -> LimitList:
        """All limits, and the kinds that there are with their parameters."""
        return read(LimitList, await self.ask("GET", "/admin/limits"))

    async def limit(self, name: str) -> LimitUse:
        """Return one limit with its counts."""
        return read(LimitUse, await self.ask("GET", f"/admin/limits/{_name(name)}"))

    async def put_limit(self, name: str, kind: str, /, **parameters: Any) -> NamedLimit:
        """Create or change a limit, e.g. of the kind "window" with ``samples=100, seconds=60``. What is
        counted under it stays, unless its kind changes."""
        body = {"kind": kind, **parameters}
        return read(NamedLimit, await self.ask("PUT", f"/admin/limits/{_name(name)}", body))

    async def delete_limit(self, name: str) -> None:
        """Delete a limit that no key names, and what is counted under it."""
        await self.ask("DELETE", f"/admin/limits/{_name(name)}")

    async def policies(self) -> list[Policy]:
        """All policies."""
        return read(Policies, await self.ask("GET", "/admin/policies")).policies

    async def policy(self, name: str) -> Policy:
        """Return one policy."""
        return read(Policy, await self.ask("GET", f"/admin/policies/{_name(name)}"))

    async def put_policy(self, name: str, chain: Sequence[Any]) -> Policy:
        """Create or replace a policy: a chain of output defences, e.g. ``[{"round": {"decimals": 1}},
        "argmax"]``."""
        return read(Policy, await self.ask("PUT", f"/admin/policies/{_name(name)}", {"chain": list(chain)}))

    async def delete_policy(self, name: str) -> None:
        """Delete a policy that is bound nowhere."""
        await self.ask("DELETE", f"/admin/policies/{_name(name)}")

    async def bindings(self) -> list[BindingBody]:
        """Return all bindings of policies."""
        return read(Bindings, await self.ask("GET", "/admin/bindings")).bindings

    async def bind(
        self, policy: str, *, key: str | None = None, model: str | None = None, endpoint: str | None = None
    ) -> BindingBody:
        """Let a policy hold for a key (by its id), a model, one endpoint of a model, or (none of them) for
        all else. The most specific binding wins."""
        body = {"policy": policy, **_given(key, model, endpoint)}
        return read(BindingBody, await self.ask("PUT", "/admin/bindings", body))

    async def unbind(
        self, *, key: str | None = None, model: str | None = None, endpoint: str | None = None
    ) -> None:
        """Delete the binding with exactly this key, model and endpoint."""
        await self.ask("DELETE", f"/admin/bindings?{urlencode(_given(key, model, endpoint))}")

    async def shadow(
        self, policy: str, *, key: str | None = None, model: str | None = None, endpoint: str | None = None
    ) -> BindingBody:
        """Let a policy be computed and counted beside the one that holds, and never sent: what it would
        cost."""
        body = {"policy": policy, **_given(key, model, endpoint)}
        return read(BindingBody, await self.ask("PUT", "/admin/shadows", body))

    async def shadows(self) -> list[ShadowFigures]:
        """All shadows with their figures."""
        return read(ShadowList, await self.ask("GET", "/admin/shadows")).shadows

    async def unshadow(
        self, *, key: str | None = None, model: str | None = None, endpoint: str | None = None
    ) -> None:
        """Delete the shadow with exactly this key, model and endpoint."""
        await self.ask("DELETE", f"/admin/shadows?{urlencode(_given(key, model, endpoint))}")

    async def routes(self) -> list[Route]:
        """Return the served models with their upstreams."""
        return read(Routes, await self.ask("GET", "/admin/routes")).routes

    async def route(self, model: str) -> Route:
        """Return the route of requests for a model."""
        return read(Route, await self.ask("GET", f"/admin/routes/{_name(model)}"))

    async def put_route(self, model: str, upstream: str) -> Route:
        """Send requests for a model to the provider at ``upstream``."""
        return read(Route, await self.ask("PUT", f"/admin/routes/{_name(model)}", {"upstream": upstream}))

    async def put_target(self, model: str, target: Mapping[str, Any], *, probe: bool = True) -> Route:
        """Send requests for a model to a target; ``probe`` asks it one sample first. Raises `InvalidInput`
        for mistakes in its file, and what the proxy says of an answer that cannot be used."""
        body = {"target": target, "probe": probe}
        return read(Route, await self.ask("PUT", f"/admin/routes/{_name(model)}", body))

    async def delete_route(self, model: str) -> None:
        """Stop serving a model."""
        await self.ask("DELETE", f"/admin/routes/{_name(model)}")


def _given(key: str | None, model: str | None, endpoint: str | None) -> Mapping[str, str]:
    parts = {"key": key, "model": model, "endpoint": endpoint}
    return {name: value for name, value in parts.items() if value is not None}


def _name(name: str) -> str:
    """Return ``name``, a part of a path; raises `InvalidInput` if it could lead elsewhere."""
    if not is_name(name):
        raise InvalidInput(f"{name[:64]!r} is no name", hint="names have letters, digits, '.', '_' and '-'")
    return name
