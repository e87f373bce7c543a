"""The parties that a run talks to."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from leakrange.service.operators import Edge, Providers, Proxy
from leakrange.store.files import FolderStore
from leakrange.wire.names import PublicNames
from services.controller.range.fleet import Fleet
from services.controller.range.served_models import ModelKeeper


@dataclass(frozen=True)
class Parties:
    """All parties that a run talks to, and the stores of models and releases."""

    fleet: Fleet
    providers: Providers
    proxy: Proxy
    edge: Edge
    models: FolderStore
    releases: FolderStore
    proxy_for_clients: str
    names: PublicNames
    keeper: ModelKeeper
    fleet_secret: SecretStr
