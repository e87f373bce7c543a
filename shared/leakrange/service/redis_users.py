"""The users of a range's Redis servers: a template for each server with the hashes of their passwords.

    python -m leakrange.service.redis_users SERVER FILE

writes those of SERVER (``redis``, which holds the ledger, or ``fleet-redis``) to FILE, for a server that
includes it, from the passwords in ``REDIS_OPERATOR_PASSWORD`` and so on. With a ``REDIS_SCALER_PASSWORD``
the fleet's has a user besides who may count the messages in its queues.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from importlib.resources import files

from leakrange.service.parties import FLEET_REDIS, SERVERS, RedisUser

__all__ = ["redis_users"]

_SCALER = (
    "\n# What scales the fleet: KEDA asks for a list's length by a script that looks at its type first.\n"
    "user scaler on #{hashed} resetchannels ~train ~probe ~fit ~audit"
    " +@connection +eval +type +llen -@admin -@dangerous\n"
)


def redis_users(server: str, passwords: Mapping[RedisUser, str], scaler: str | None = None) -> str:
    """Return the configuration of the users of ``server`` with their passwords, and of a ``scaler`` with that
    password; raises `KeyError` for a user without password, and for an unknown server."""
    text = (files("leakrange.service") / f"{server.replace('-', '_')}_users.conf").read_text()
    for user in SERVERS[server]:
        text = text.replace(f"@{user.upper()}@", _hashed(passwords[user]))
    return text if scaler is None else text + _SCALER.format(hashed=_hashed(scaler))


def _hashed(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


def main() -> None:
    """Write the file, readable by its owner alone."""
    if len(sys.argv) != 3 or sys.argv[1] not in SERVERS:
        sys.exit(__doc__)
    _, server, file = sys.argv
    try:
        users = redis_users(
            server,
            {user: os.environ[f"REDIS_{user.upper()}_PASSWORD"] for user in SERVERS[server]},
            os.environ.get("REDIS_SCALER_PASSWORD") if server == FLEET_REDIS else None,
        )
    except KeyError as error:
        sys.exit(f"every user of Redis needs a password: set {error.args[0]}")
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as written:
        written.write(users)


if __name__ == "__main__":
    main()
