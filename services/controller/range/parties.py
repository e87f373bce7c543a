"""The parties that a run talks to."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from leakrange.services.controller.range.calls import EdgeCalls, Providers
from leakrange.services.controller.range.fleet import Fleet
from leakrange.services.controller.range.served_models import ModelKeeper
from leakrange.store.files import FolderStore
from leakrange.wire.names import PublicNames
from leakrange.wire.operator import Proxy


@dataclass(frozen=True)
class Parties:
    """All parties that a run talks to, and the stores of models and releases."""

    fleet: Fleet
    providers: Providers
    proxy: Proxy
    edge: EdgeCalls
    models: FolderStore
    releases: FolderStore
    proxy_for_clients: str
    names: PublicNames
    keeper: ModelKeeper
    fleet_secret: SecretStr
