"""``python -m leakrange.services.attacker.healthcheck``: exit status 0 if this machine's worker has reported
itself alive within the last seconds."""

from __future__ import annotations

import socket
import sys

import redis

from leakrange.services.attacker.liveness import ALIVE, ALIVE_SECONDS
from leakrange.services.attacker.settings import FleetSettings


def main() -> None:
    """End with 0, or with 1 and the reason."""
    here = socket.gethostname()
    try:
        with redis.Redis.from_url(
            FleetSettings().redis_url, socket_timeout=3.0, socket_connect_timeout=3.0
        ) as client:
            alive = client.exists(ALIVE.format(host=here))
    except redis.RedisError as error:
        sys.exit(f"Redis does not answer: {error}")
    if not alive:
        sys.exit(f"no worker on {here} has said anything for {ALIVE_SECONDS} s")


if __name__ == "__main__":
    main()
