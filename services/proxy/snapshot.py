"""One consistent version of policies, bindings, routes and limits, and the policy that holds for a
request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from leakrange.defences.output import Chain
from leakrange.services.proxy.limits import Limit
from leakrange.targets.target import RemoteTarget
from leakrange.wire.endpoints import ARTIFACT, GALLERY, RELEASES, UPLOADS
from leakrange.wire.errors import Forbidden, UnknownModel

UNTRANSFORMED: Mapping[str, str] = {
    ARTIFACT: "whoever has the model's file computes undefended outputs",
    GALLERY: "no policy transforms the list of who is enrolled",
}
"""Endpoints that need a key made for them where a policy holds, with the reason."""

MOST_BOUND = 10_000
"""Most results of `bound` that are cached for one configuration."""


Base = str | RemoteTarget
"""Who answers for a model: the base URL of a provider, or a target."""


class Binding(NamedTuple):
    """Requests that a policy holds for; None matches all. An endpoint is bound together with its model."""

    key: str | None = None
    model: str | None = None
    endpoint: str | None = None


class Bound(NamedTuple):
    """The policy that holds for a request: its name, empty where none does, and its chain."""

    name: str
    chain: Chain


UNBOUND = Bound("", Chain())


@dataclass(frozen=True)
class KeyRecord:
    """Permissions of a key; None allows all models, or all endpoints but those of `UNTRANSFORMED` where a
    policy holds."""

    id: str
    models: frozenset[str] | None
    endpoints: frozenset[str] | None
    limits: tuple[str, ...] = ()
    leased: bool = False
    """Whether proxies take blocks of its samples, and answer from them without asking the ledger."""

    def may_use(self, model: str) -> bool:
        """Whether the key may use the model at all."""
        return self.models is None or model in self.models


@dataclass(frozen=True)
class Snapshot:
    """The configuration of one version."""

    version: str = "0"
    policies: Mapping[str, Chain] = field(default_factory=dict)
    bindings: Mapping[Binding, str] = field(default_factory=dict)
    shadows: Mapping[Binding, str] = field(default_factory=dict)
    """Policies that are computed and counted beside those that hold."""
    routes: Mapping[str, Base] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    _bound: dict[tuple[str, str, str], Bound] = field(default_factory=dict, repr=False, compare=False)
    """Cached results of `bound`, which every request calls."""

    def route(self, key: KeyRecord, model: str, endpoint: str | None) -> Base:
        """Who answers for the model. Raises `UnknownModel` where there is no route, `Forbidden` where the key
        may not use it."""
        if model not in self.routes:
            raise UnknownModel(f"no model {model!r} here")
        if not key.may_use(model):
            raise Forbidden(f"this key may not use the model {model!r}")
        if endpoint is not None and key.endpoints is not None and endpoint not in key.endpoints:
            raise Forbidden(f"this key may not use the endpoint {endpoint!r}")
        if endpoint == ARTIFACT:
            self.check_untransformed(key, model, endpoint)
        return self.routes[model]

    def defended(self, key: KeyRecord, model: str) -> bool:
        """Whether a policy or a limit transforms any of the key's requests to the model, or would if the
        model were there."""
        try:
            if any(limit.transforms for _, limit in self.limits_of(key)):
                return True
            return any(self.chain(key.id, model, endpoint).transforms for endpoint in (*RELEASES, UPLOADS))
        except Forbidden:
            return True

    def check_untransformed(self, key: KeyRecord, model: str, endpoint: str) -> None:
        """Raise `Forbidden` where a policy holds that ``endpoint`` would bypass, unless the operator named
        the key's endpoints."""
        if key.endpoints is None and self.defended(key, model):
            raise Forbidden(
                f"a policy holds for what this key asks of {model!r}, and {UNTRANSFORMED[endpoint]}",
                hint=f"where that is meant, the operator names {endpoint!r} among the key's endpoints",
            )

    def limits_of(self, key: KeyRecord) -> list[tuple[str, Limit]]:
        """The key's limits, each with its name. Raises `Forbidden` where one is gone: nothing must slip
        through unbounded."""
        if gone := [name for name in key.limits if name not in self.limits]:
            raise Forbidden(f"the limit {gone[0]!r} of this key is gone")
        return [(name, self.limits[name]) for name in key.limits]

    def chain(self, key: str, model: str, endpoint: str) -> Chain:
        """The chain of the policy of `bound`."""
        return self.bound(key, model, endpoint).chain

    def bound(self, key: str, model: str, endpoint: str) -> Bound:
        """The most specifically bound policy; without any, releases go out unchanged.

        Raises `Forbidden` where the bound policy is gone: nothing must slip through undefended.
        """
        policy = self._bound.get((key, model, endpoint))
        if policy is None:
            if len(self._bound) >= MOST_BOUND:
                self._bound.clear()
            policy = self._bound[key, model, endpoint] = self._find(key, model, endpoint)
        return policy

    def _find(self, key: str, model: str, endpoint: str) -> Bound:
        for binding in _matching(key, model, endpoint):
            if (name := self.bindings.get(binding)) is not None:
                if name not in self.policies:
                    raise Forbidden(f"the policy {name!r} of this request is gone")
                return Bound(name, self.policies[name])
        return UNBOUND

    def shadow(self, key: str, model: str, endpoint: str) -> tuple[Binding, str] | None:
        """The most specifically bound shadow, and its policy's name."""
        for binding in _matching(key, model, endpoint) if self.shadows else ():
            if (name := self.shadows.get(binding)) is not None:
                return (binding, name) if name in self.policies else None
        return None


def _matching(key: str, model: str, endpoint: str) -> tuple[Binding, ...]:
    """All bindings that would hold for a request, the most specific first."""
    return (
        Binding(key, model, endpoint),
        Binding(key, model),
        Binding(key),
        Binding(None, model, endpoint),
        Binding(None, model),
        Binding(),
    )
