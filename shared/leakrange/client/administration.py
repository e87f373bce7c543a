"""The proxy's administration: API keys, limits, policies and routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakrange.client.http import Http, read
from leakrange.wire.administration import (
    Account,
    Accounts,
    BindingBody,
    Bindings,
    Counting,
    NewKey,
    Policies,
    Policy,
    Route,
    Routes,
    ShadowFigures,
    ShadowList,
)
from leakrange.wire.errors import InvalidInput
from leakrange.wire.limits import LimitList, LimitUse, NamedLimit
from leakrange.wire.names import is_name

__all__ = ["Keys", "Limits", "PolicyTable", "RouteTable"]


class Keys:
    """``Range.keys``: API keys of the proxy, each with a budget in samples."""

    def __init__(self, proxy: Http) -> None:
        self._proxy = proxy

    def create(
        self,
        name: str,
        budget: int | None,
        *,
        policy: str | None = None,
        models: Sequence[str] | None = None,
        endpoints: Sequence[str] | None = None,
        limits: Sequence[str] = (),
        counting: Counting = "exact",
    ) -> NewKey:
        """Make a key, which is shown this once, for so many samples (None: any number). See
        `leakrange.wire.administration.KeyRequest` for the rest; None stands for all."""
        given = {
            "policy": policy,
            "models": None if models is None else list(models),
            "endpoints": None if endpoints is None else list(endpoints),
        }
        body = {"name": name, "budget": budget, "limits": list(limits), "counting": counting} | given
        return read(NewKey, self._proxy.operate("POST", "/admin/keys", json=body))

    def all(self) -> list[Account]:
        """All keys with their ledgers."""
        return read(Accounts, self._proxy.operate("GET", "/admin/keys")).keys

    def get(self, id: str) -> Account:
        """One key with its ledger: what it has spent, and what remains."""
        return read(Account, self._proxy.operate("GET", f"/admin/keys/{_name(id)}"))

    def change(self, id: str, **changes: Any) -> Account:
        """Change a key's ``name``, ``budget``, ``models``, ``endpoints``, ``limits`` or ``counting``."""
        return read(Account, self._proxy.operate("PATCH", f"/admin/keys/{_name(id)}", json=changes))

    def revoke(self, id: str) -> Account:
        """Let a key be used no more, for good."""
        return self.change(id, revoked=True)


class Limits:
    """``Range.limits``: what bounds keys beside their budgets."""

    def __init__(self, proxy: Http) -> None:
        self._proxy = proxy

    def all(self) -> LimitList:
        """All limits, and the kinds that there are with their parameters."""
        return read(LimitList, self._proxy.operate("GET", "/admin/limits"))

    def get(self, name: str) -> LimitUse:
        """One limit, and what is counted under it."""
        return read(LimitUse, self._proxy.operate("GET", f"/admin/limits/{_name(name)}"))

    def put(self, name: str, kind: str, /, **parameters: Any) -> NamedLimit:
        """Create or change a limit, e.g. ``put("a-minute", "window", samples=100, seconds=60)``. What is
        counted under it stays, unless its kind changes."""
        body = {"kind": kind, **parameters}
        return read(NamedLimit, self._proxy.operate("PUT", f"/admin/limits/{_name(name)}", json=body))

    def delete(self, name: str) -> None:
        """Delete a limit that no key names, and what is counted under it."""
        self._proxy.operate("DELETE", f"/admin/limits/{_name(name)}")


class PolicyTable:
    """``Range.policies``: which output defences hold for whom."""

    def __init__(self, proxy: Http) -> None:
        self._proxy = proxy

    def put(self, name: str, chain: Sequence[Any]) -> Policy:
        """Create or replace a policy: a chain of output defences, e.g. ``[{"round": {"decimals": 1}},
        "argmax"]``."""
        body = {"chain": list(chain)}
        return read(Policy, self._proxy.operate("PUT", f"/admin/policies/{_name(name)}", json=body))

    def all(self) -> list[Policy]:
        """All policies."""
        return read(Policies, self._proxy.operate("GET", "/admin/policies")).policies

    def delete(self, name: str) -> None:
        """Delete a policy that is bound nowhere."""
        self._proxy.operate("DELETE", f"/admin/policies/{_name(name)}")

    def bindings(self) -> list[BindingBody]:
        """For whom which policy holds."""
        return read(Bindings, self._proxy.operate("GET", "/admin/bindings")).bindings

    def bind(
        self, policy: str, *, key: str | None = None, model: str | None = None, endpoint: str | None = None
    ) -> BindingBody:
        """Let a policy hold for a key (by its id), a model, one endpoint of a model, or (none of them) for
        all else. The most specific binding wins."""
        return self._bind("PUT", "/admin/bindings", policy, key, model, endpoint)

    def unbind(
        self, *, key: str | None = None, model: str | None = None, endpoint: str | None = None
    ) -> None:
        """Delete the binding of exactly these."""
        self._proxy.operate("DELETE", "/admin/bindings", parameters=_given(key, model, endpoint))

    def shadow(
        self, policy: str, *, key: str | None = None, model: str | None = None, endpoint: str | None = None
    ) -> BindingBody:
        """Let a policy be computed and counted beside the one that holds, and never sent: what it would
        cost."""
        return self._bind("PUT", "/admin/shadows", policy, key, model, endpoint)

    def shadows(self) -> list[ShadowFigures]:
        """All shadows with their figures."""
        return read(ShadowList, self._proxy.operate("GET", "/admin/shadows")).shadows

    def unshadow(
        self, *, key: str | None = None, model: str | None = None, endpoint: str | None = None
    ) -> None:
        """Delete the shadow of exactly these."""
        self._proxy.operate("DELETE", "/admin/shadows", parameters=_given(key, model, endpoint))

    def _bind(
        self, method: str, path: str, policy: str, key: str | None, model: str | None, endpoint: str | None
    ) -> BindingBody:
        body = {"policy": policy, **_given(key, model, endpoint)}
        return read(BindingBody, self._proxy.operate(method, path, json=body))


class RouteTable:
    """``Range.routes``: which models the proxy serves, and from where."""

    def __init__(self, proxy: Http) -> None:
        self._proxy = proxy

    def put(self, model: str, upstream: str) -> Route:
        """Send requests for a model to the provider at ``upstream``."""
        body = {"upstream": upstream}
        return read(Route, self._proxy.operate("PUT", f"/admin/routes/{_name(model)}", json=body))

    def all(self) -> list[Route]:
        """All routes."""
        return read(Routes, self._proxy.operate("GET", "/admin/routes")).routes

    def delete(self, model: str) -> None:
        """Serve a model no more."""
        self._proxy.operate("DELETE", f"/admin/routes/{_name(model)}")


def _given(key: str | None, model: str | None, endpoint: str | None) -> dict[str, str]:
    parts = {"key": key, "model": model, "endpoint": endpoint}
    return {name: value for name, value in parts.items() if value is not None}


def _name(name: str) -> str:
    """``name``, which is part of a path; raises `InvalidInput` for what could lead elsewhere."""
    if not is_name(name):
        raise InvalidInput(f"{name!r} is no name", hint="names have letters, digits, '.', '_' and '-'")
    return name
