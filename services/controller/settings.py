"""The controller's settings, from its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

import orjson
from pydantic import Field, SecretStr

from leakrange.service.broker import BrokerUrl
from leakrange.service.settings import OptionalSecret, RandomSecret, ServiceSettings
from leakrange.store.places import Place


class ControllerSettings(ServiceSettings):
    """The other parties' addresses, as the controller reaches them, and where state is stored.

    ``providers`` maps a behaviour (``honest``, ``curious``) to the base URL of the provider that plays it.
    ``proxy_public_url`` is the proxy as attackers and edge clients reach it (default: the same address).
    """

    database_url: str = "sqlite+aiosqlite:///leakrange.db"
    migrate: bool = True
    """Bring the database to the newest revision at start; off where a job of its own does it."""
    redis_url: str = "redis://127.0.0.1:6379/0"
    broker_url: BrokerUrl = ""
    """Where messages to the fleet go; empty: to Redis, which keeps orders, leases and reports in any case."""
    fleet_secret: RandomSecret
    """The fleet's API keys are derived from it and from the key's name, which is all that a job holds."""
    viewer_key: OptionalSecret = None
    """The key that lets somebody look at everything and change nothing. None, or empty: everybody who reaches
    the controller may look."""
    models_dir: Place = Path("models")
    """A folder, or ``s3://BUCKET/PREFIX``."""
    releases_dir: Place = Path("releases")
    providers: dict[str, str]
    proxy_url: str = "http://127.0.0.1:8701"
    proxy_public_url: str | None = None
    edge_url: str = "http://127.0.0.1:8704"
    sessions_at_once: int = 4
    """The number of edge-client sessions that are under way at a time."""
    probes_at_once: int = 64
    """The number of probing chunks of a run that wait in the fleet's queue at a time."""
    withdraw_after: Annotated[float, Field(ge=0)] = 3600.0
    """Seconds for which the models of a finished run are served on. A run that wants one later has it
    deployed again."""
    try_samples: Annotated[int, Field(ge=0)] = 3000
    """Samples that all visitors together may have released in a day (UTC) to try what leaks; each try takes
    one for each provider and defence of its run."""
    reading_memory: Annotated[int, Field(ge=2**28)] = 3 * 2**30
    """The bytes of data of the process that reads results of runs: reports, boards, comparisons, files. A
    process that needs more is ended."""
    attempts: int = 20
    """The number of times that a party that does not answer is tried: 20 times are more than a minute, in
    which it may restart, even on a busy machine.
    """

    @property
    def proxy_for_clients(self) -> str:
        """The proxy's URL that attackers and edge clients are given."""
        return self.proxy_public_url or self.proxy_url

    def handed_on(self) -> bytes:
        """These settings, with their secrets, for a process that the controller begins."""
        return orjson.dumps(self.model_dump(), default=_plain)

    @classmethod
    def handed_over(cls, written: bytes) -> Self:
        """The settings that `handed_on` has written."""
        return cls(**orjson.loads(written))


def _plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
