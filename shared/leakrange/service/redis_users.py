"""The users of a range's Redis: `redis_users.conf` with the hashes of their passwords.

    python -m leakrange.service.redis_users FILE

writes them to FILE, for a server that includes it, from the passwords in ``REDIS_OPERATOR_PASSWORD`` and so
on. With a ``REDIS_SCALER_PASSWORD`` there is a user besides who may count the messages in the fleet's queues.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from importlib.resources import files
from typing import get_args

from leakrange.service.parties import RedisUser

__all__ = ["USERS", "redis_users"]

USERS: tuple[RedisUser, ...] = get_args(RedisUser)
_SCALER = (
    "\n# What scales the fleet: KEDA asks for a list's length by a script that looks at its type first.\n"
    "user scaler on #{hashed} resetchannels ~train ~probe ~fit ~audit"
    " +@connection +eval +type +llen -@admin -@dangerous\n"
)


def redis_users(passwords: Mapping[RedisUser, str], scaler: str | None = None) -> str:
    """The configuration of all `USERS`, who each need a password; raises `KeyError` for who has none."""
    users = (files("leakrange.service") / "redis_users.conf").read_text()
    for user in USERS:
        users = users.replace(f"@{user.upper()}@", _hashed(passwords[user]))
    return users if scaler is None else users + _SCALER.format(hashed=_hashed(scaler))


def _hashed(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


def main() -> None:
    """Write the file, which its owner alone can read."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        users = redis_users(
            {user: os.environ[f"REDIS_{user.upper()}_PASSWORD"] for user in USERS},
            os.environ.get("REDIS_SCALER_PASSWORD"),
        )
    except KeyError as error:
        sys.exit(f"every user of Redis needs a password: set {error.args[0]}")
    with os.fdopen(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(users)


if __name__ == "__main__":
    main()
