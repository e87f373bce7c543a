"""The proxy's settings, from its environment."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AliasChoices, Field, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from leakrange.service.settings import ServiceSettings, WorkerCount
from leakrange.services.proxy.servers import read_servers

Seconds = Annotated[float, Field(gt=0)]


class ProxySettings(ServiceSettings):
    """``LEAKRANGE_…``; host, port and workers also as ``LEAKRANGE_PROXY_…``."""

    model_config = SettingsConfigDict(env_prefix="LEAKRANGE_", extra="ignore", populate_by_name=True)

    host: str = Field("127.0.0.1", validation_alias=AliasChoices("LEAKRANGE_PROXY_HOST", "LEAKRANGE_HOST"))
    port: int = Field(8701, validation_alias=AliasChoices("LEAKRANGE_PROXY_PORT", "LEAKRANGE_PORT"))
    workers: WorkerCount = Field(
        1, validation_alias=AliasChoices("LEAKRANGE_PROXY_WORKERS", "LEAKRANGE_WORKERS")
    )
    """Processes that serve the port, one for each core that the proxy may have."""
    controller_url: str = "http://127.0.0.1:8700"
    """Source of the files of obfuscators."""
    redis_url: str = "redis://127.0.0.1:6379/0"
    """Where the ledger is: see `leakrange.services.proxy.servers`."""
    redis_timeout: Seconds = 2.0
    redis_replicas: Annotated[int, Field(ge=0, le=9)] = 0
    """Replicas that must have a charge before its request is answered."""
    upstream_timeout: Seconds = 30.0
    """Time limit of a provider's whole answer."""
    upstream_connections: Annotated[int, Field(ge=1)] = 256
    reservation_seconds: Seconds = 90.0
    """Time after which samples reserved by a proxy that died come back to their key."""
    lease_seconds: Annotated[float, Field(ge=2)] = 10.0
    """Time after which the samples held of leased budgets by a proxy that died are spent."""
    idempotency_seconds: Seconds = 3600.0
    """Time for which the first answer to an ``Idempotency-Key`` is kept."""
    idempotency_max_body: Annotated[int, Field(ge=0)] = 4 * 1024 * 1024
    """Size of the largest answer that is kept: a repeat of a larger one is refused instead of being answered
    from memory."""
    max_samples: Annotated[int, Field(ge=1)] = 65_536
    """Samples of one request."""
    max_answer: Annotated[int, Field(ge=1)] = 128 * 1024 * 1024
    """Bytes of a provider's answer to one request."""

    @field_validator("redis_url")
    @classmethod
    def _readable(cls, url: str) -> str:
        read_servers(url)
        return url

    @model_validator(mode="after")
    def _reservations_outlive_requests(self) -> Self:
        # Otherwise a slow answer's samples would be given away while it is still on its way.
        if self.reservation_seconds <= self.upstream_timeout:
            raise ValueError("reservation_seconds must exceed upstream_timeout")
        return self
