"""A backup of an embedded range that goes on working, and a range made of it.

The order is what makes the parts fit: SQL first, then the ledger, the providers, and models and releases.
What SQL names is in all that is copied after it, for what a run asks for again is found under the same name,
and objects never change. What is answered while it is copied may be stored and not paid in the copy. Another
order would leave runs that paid for what they lack, and have no samples left to ask for it again.
"""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from redis import Redis
from redis.exceptions import RedisError

import leakrange
from leakrange.clients.cli.embedded.redis_server import redis_command, redis_url
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.service.parties import REDIS
from leakrange.store.packs import PACKS

__all__ = ["back_up", "copy_objects", "restore"]

WITHIN = 60.0
"""Seconds for a Redis server to write or load its data."""
PREFIX = "leakrange:proxy:"
AS_LOG = "appendonly.aof"
"""The name under which a Redis server reads what it dumped, as a log without later writes."""


class _Contents(BaseModel):
    """What ``backup.json`` says: it is written last, so a folder without it is no backup."""

    version: str
    begun: float


def back_up(folder: StateFolder, into: Path) -> None:
    """Copy the range that runs in ``folder`` to the new folder ``into``. Raises `CliError` if none runs, or
    if there is something already."""
    record = folder.record()
    if record is None or not folder.held():
        raise CliError(
            f"no range is running in {folder.root}",
            code=Exit.UNREACHABLE,
            hint="while it is stopped, a copy of the whole folder is a backup",
        )
    begun = time.time()
    with _whole(into) as unfinished:
        _copy_database(folder.database, unfinished / folder.database.name)
        with Redis.from_url(redis_url(folder, record.port(REDIS), "operator")) as redis:
            dump = _dumped(redis)
        (unfinished / REDIS).mkdir(mode=0o700)
        shutil.move(folder.of_redis(REDIS) / dump, unfinished / REDIS / AS_LOG)
        parties = folder.root / "parties"
        for file in parties.rglob("*.sqlite"):
            target = unfinished / file.relative_to(folder.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy_database(file, target)
        for objects in (folder.models, folder.releases):
            copy_objects(objects, unfinished / objects.name)
        shutil.copyfile(folder.root / "secrets.json", unfinished / "secrets.json")
        (unfinished / "secrets.json").chmod(0o600)
        contents = _Contents(version=leakrange.__version__, begun=begun)
        (unfinished / "backup.json").write_text(contents.model_dump_json())


def restore(backup: Path, folder: StateFolder) -> list[str]:
    """Make a range of ``backup`` in the new folder, and return the ids of the keys that were locked: their
    budgets are what they had spent by then, for nobody knows what they have spent since. Keys of runs go on,
    as what they were answered is stored. Raises `CliError` for a folder that is no whole backup."""
    try:
        _Contents.model_validate_json((backup / "backup.json").read_bytes())
    except (OSError, ValidationError) as error:
        raise CliError(
            f"{backup} is no whole backup: it has no backup.json that can be read",
            code=Exit.USAGE,
            hint="give the folder that 'leakrange backup' made",
        ) from error
    with _whole(folder.root) as unfinished:
        shutil.copytree(backup, unfinished, dirs_exist_ok=True)
        (unfinished / "backup.json").unlink()
        for file in unfinished.rglob("*.sqlite"):
            _check_database(file)
        _check_database(unfinished / folder.database.name)
        return _lock_keys(StateFolder(unfinished))


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A new folder that gets its name ``path`` when the block has ended well, and is gone otherwise."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise CliError(f"{path} is there already", code=Exit.USAGE, hint="name a folder that is not there")
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.mkdir(mode=0o700, parents=True)
    try:
        yield unfinished
        if path.exists():
            path.rmdir()
        unfinished.rename(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)
    target.chmod(0o600)


def copy_objects(source: Path, target: Path) -> None:
    """Copy the folder of a store that others write to. Packs are copied last: an array that is packed
    meanwhile is gone from its own file, and then in one of them."""

    def copy(file: str, to: str) -> None:
        with suppress(FileNotFoundError):
            shutil.copyfile(file, to)

    for part, but in ((".", (".*", PACKS)), (PACKS, (".*",))):
        if (source / part).is_dir():
            ignored = shutil.ignore_patterns(*but)
            shutil.copytree(
                source / part, target / part, copy_function=copy, ignore=ignored, dirs_exist_ok=True
            )


def _check_database(file: Path) -> None:
    try:
        with closing(sqlite3.connect(file)) as connection:
            [(state,)] = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        state = str(error)
    if state != "ok":
        raise CliError(
            f"{file.name} in the backup is damaged: {state}", code=Exit.FAILED, hint="take another backup"
        )


def _dumped(redis: Redis) -> str:
    """Have the server write its data, and return the name of the file."""
    before = redis.lastsave()
    while redis.lastsave() == before:  # it counts whole seconds
        if not redis.info("persistence")["rdb_bgsave_in_progress"]:
            redis.bgsave()
        time.sleep(0.1)
    return str(redis.config_get("dbfilename")["dbfilename"])


def _lock_keys(folder: StateFolder) -> list[str]:
    with closing(sqlite3.connect(folder.database)) as connection:
        runs = {run for (run,) in connection.execute("SELECT id FROM runs")}
    locked = []
    with _redis(folder) as redis:
        for id_ in sorted(redis.smembers(f"{PREFIX}keys")):
            budget, spent = redis.hmget(f"{PREFIX}key:{id_}", "budget", "spent")
            if budget is not None and id_.partition(".")[0] not in runs and int(budget) > int(spent):
                redis.hset(f"{PREFIX}key:{id_}", "budget", int(spent))
                locked.append(id_)
    return locked


@contextmanager
def _redis(folder: StateFolder) -> Iterator[Any]:
    """The ledger's server on the data of ``folder``, until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(redis_command(folder, REDIS, port), stdout=subprocess.DEVNULL) as server:
        redis = Redis.from_url(redis_url(folder, port, "operator"), decode_responses=True)
        try:
            _wait_for(redis, server)
            yield redis
        finally:
            server.terminate()  # it writes its log to the disk before it ends


def _wait_for(redis: Redis, server: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + WITHIN
    while True:
        try:
            redis.ping()
            return
        except RedisError as error:
            if server.poll() is not None or time.monotonic() > ends:
                raise CliError(
                    "the ledger in the backup cannot be read", code=Exit.FAILED, hint="take another backup"
                ) from error
        time.sleep(0.05)
