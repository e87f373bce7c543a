"""The proxy's administration: API keys, limits, policies and routes. Each method waits for the method of
`leakrange.wire.operator.Proxy` of that name, and has the same parameters."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from leakrange.client.waiting import wait
from leakrange.wire.administration import Account
from leakrange.wire.operator import Proxy

__all__ = ["Keys", "Limits", "PolicyTable", "RouteTable"]

Asked = ParamSpec("Asked")
Result = TypeVar("Result")


class _AdminPart:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy


def _waiting(
    method: Callable[Concatenate[Proxy, Asked], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[_AdminPart, Asked], Result]:
    @wraps(method)
    def waited(part: _AdminPart, /, *args: Asked.args, **options: Asked.kwargs) -> Result:
        return wait(method(part._proxy, *args, **options))

    return waited


class Keys(_AdminPart):
    """``Range.keys``: API keys of the proxy, each with a budget in samples."""

    create = _waiting(Proxy.create_key)
    """Make a key, which is shown this once."""
    all = _waiting(Proxy.accounts)
    """All keys with their ledgers."""
    get = _waiting(Proxy.account)
    """One key with its ledger."""
    change = _waiting(Proxy.change_key)
    """Change what a key may ask."""
    rotate = _waiting(Proxy.rotate_key)
    """Replace a key by another with the same ledger, which is shown this once."""

    def revoke(self, id: str) -> Account:
        """Revoke a key for good."""
        return self.change(id, revoked=True)


class Limits(_AdminPart):
    """``Range.limits``: limits of keys beside their budgets."""

    all = _waiting(Proxy.limits)
    """All limits, and the kinds that there are."""
    get = _waiting(Proxy.limit)
    """One limit, and what is counted under it."""
    put = _waiting(Proxy.put_limit)
    """Create or change a limit."""
    delete = _waiting(Proxy.delete_limit)
    """Delete a limit that no key names."""


class PolicyTable(_AdminPart):
    """``Range.policies``: the output defences, and for whom each holds."""

    put = _waiting(Proxy.put_policy)
    """Create or replace a policy."""
    all = _waiting(Proxy.policies)
    """All policies."""
    get = _waiting(Proxy.policy)
    """One policy."""
    delete = _waiting(Proxy.delete_policy)
    """Delete a policy that is bound nowhere."""
    bindings = _waiting(Proxy.bindings)
    """For whom which policy holds."""
    bind = _waiting(Proxy.bind)
    """Let a policy hold for a key, a model, one endpoint of a model, or all else."""
    unbind = _waiting(Proxy.unbind)
    """Delete a binding."""
    shadow = _waiting(Proxy.shadow)
    """Let a policy be computed and counted, and never sent."""
    shadows = _waiting(Proxy.shadows)
    """All shadows with their figures."""
    unshadow = _waiting(Proxy.unshadow)
    """Delete a shadow."""


class RouteTable(_AdminPart):
    """``Range.routes``: the models that the proxy serves, and their upstreams."""

    put = _waiting(Proxy.put_route)
    """Send requests for a model to a provider."""
    put_target = _waiting(Proxy.put_target)
    """Send requests for a model to a target: a model that somebody else serves."""
    get = _waiting(Proxy.route)
    """One route; of a target, with what it was asked."""
    all = _waiting(Proxy.routes)
    """All routes."""
    delete = _waiting(Proxy.delete_route)
    """Serve a model no more."""
