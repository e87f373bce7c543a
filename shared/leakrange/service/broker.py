"""The broker that brings the fleet its messages: Redis, or another by one setting.

Orders, leases, reports and budgets are in Redis in either case; a message names a job and holds no more.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

__all__ = ["BrokerUrl", "speaks_amqp"]

_SCHEMES = ("redis", "rediss", "amqp", "amqps")


def _known(url: str) -> str:
    if url and url.partition("://")[0] not in _SCHEMES:
        raise ValueError(
            "the broker is Redis (redis:// or rediss://) or RabbitMQ (amqp:// or amqps://), as in "
            "LEAKRANGE_BROKER_URL=amqp://USER:PASSWORD@HOST:5672/; empty: the same as LEAKRANGE_REDIS_URL"
        )
    return url


BrokerUrl = Annotated[str, AfterValidator(_known)]
"""The URL of a broker; empty: the Redis where orders and leases are."""


def speaks_amqp(url: str) -> bool:
    """Return whether a broker's URL is one of RabbitMQ or another server that speaks AMQP 0-9-1."""
    return url.startswith(("amqp://", "amqps://"))
