"""Policies, bindings and routes as one consistent picture, and which policy holds for a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from leakrange.defences.output import Chain, Release
from leakrange.wire.errors import Forbidden, UnknownModel

__all__ = ["GALLERY", "RELEASES", "UPLOADS", "Binding", "KeyRecord", "Snapshot"]

RELEASES: Mapping[str, Release] = {
    "logits": "logits",
    "softmax": "softmax",
    "features": "features",
    "verification": "score",
    "recognition": "softmax",
}
"""The release kind that each answering endpoint gives out."""
UPLOADS = "outputs"
"""The endpoint whose request, not answer, is the release."""
GALLERY = "gallery"
"""The endpoint of who is enrolled with a verification; it releases nothing."""


class Binding(NamedTuple):
    """Whose requests a policy holds for; None matches all. An endpoint is bound together with its model."""

    key: str | None = None
    model: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True)
class KeyRecord:
    """What a key may do; None allows all models or endpoints."""

    id: str
    models: frozenset[str] | None
    endpoints: frozenset[str] | None

    def may_use(self, model: str) -> bool:
        """Whether the key may use the model at all."""
        return self.models is None or model in self.models


@dataclass(frozen=True)
class Snapshot:
    """The configuration of one version."""

    version: str = "0"
    policies: Mapping[str, Chain] = field(default_factory=dict)
    bindings: Mapping[Binding, str] = field(default_factory=dict)
    routes: Mapping[str, str] = field(default_factory=dict)

    def route(self, key: KeyRecord, model: str, endpoint: str | None) -> str:
        """The provider's base URL; raises `UnknownModel` where none is routed, `Forbidden` where the key may
        not."""
        if model not in self.routes:
            raise UnknownModel(f"no model {model!r} here")
        if not key.may_use(model):
            raise Forbidden(f"this key may not use the model {model!r}")
        if endpoint is not None and key.endpoints is not None and endpoint not in key.endpoints:
            raise Forbidden(f"this key may not use the endpoint {endpoint!r}")
        return self.routes[model]

    def chain(self, key: str, model: str, endpoint: str) -> Chain:
        """The policy bound most specifically; without any, releases go out as they are.

        Raises `Forbidden` where the bound policy is gone: nothing must slip through undefended.
        """
        for binding in (
            Binding(key, model, endpoint),
            Binding(key, model),
            Binding(key),
            Binding(None, model, endpoint),
            Binding(None, model),
            Binding(),
        ):
            if (name := self.bindings.get(binding)) is not None:
                if name not in self.policies:
                    raise Forbidden(f"the policy {name!r} of this request is gone")
                return self.policies[name]
        return _NOTHING


_NOTHING = Chain()
