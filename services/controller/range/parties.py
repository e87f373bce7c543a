"""The parties that a run talks to."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from leakrange.services.controller.range.calls import EdgeCalls, Providers
from leakrange.services.controller.range.fleet import Fleet
from leakrange.services.controller.range.served_models import ModelKeeper
from leakrange.store.files import ObjectStore
from leakrange.wire.keys import all_keys, api_key
from leakrange.wire.names import PublicNames
from leakrange.wire.operator import Proxy


@dataclass(frozen=True)
class Parties:
    """All parties that a run talks to, and the stores of models and releases."""

    fleet: Fleet
    providers: Providers
    proxy: Proxy
    edge: EdgeCalls
    models: ObjectStore
    releases: ObjectStore
    proxy_for_clients: str
    names: PublicNames
    keeper: ModelKeeper
    fleet_secret: SecretStr

    def fleet_keys(self, account: str) -> list[str]:
        """The API keys of that name, which the fleet derives itself: one, or one of each secret while the
        fleet's is rotated."""
        return [api_key(secret, account) for secret in all_keys(self.fleet_secret.get_secret_value())]
