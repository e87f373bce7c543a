"""The components that the data path uses."""

from __future__ import annotations

from dataclasses import dataclass

from services.proxy.configuration import Configuration
from services.proxy.ledger import Ledger
from services.proxy.upstream import Upstream

__all__ = ["Parties"]


@dataclass(frozen=True)
class Parties:
    """Made when the application starts."""

    configuration: Configuration
    ledger: Ledger
    upstream: Upstream
    secret: bytes
    """Keys the noise."""
