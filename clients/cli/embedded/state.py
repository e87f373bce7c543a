"""The state folder of an embedded range, for the launcher: its files, its lock, its secrets."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import RootModel, ValidationError

from leakrange.client.embedded import RangeFolder, RangeRecord
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.service.parties import SERVERS

__all__ = ["StateFolder"]


class _Secrets(RootModel[dict[str, str]]):
    pass


class StateFolder(RangeFolder):
    """The files of a range below ``root``. Secrets are readable by their owner alone.

    ``lock`` is the file descriptor of the lock, handed on by the process that held the folder before.
    """

    def __init__(self, root: Path, lock: int | None = None) -> None:
        super().__init__(root)
        self._lock: IO[str] | None = None if lock is None else os.fdopen(lock, "a")

    @property
    def models(self) -> Path:
        """Trained models, by digest."""
        return self.root / "models"

    @property
    def releases(self) -> Path:
        """The answers that attackers got, by identity."""
        return self.root / "releases"

    def of_redis(self, server: str) -> Path:
        """The files of one Redis-protocol server."""
        return self.root / server

    @property
    def database(self) -> Path:
        """The controller's SQLite file."""
        return self.root / "leakrange.db"

    def of_party(self, name: str) -> Path:
        """The working folder of one party."""
        return self.root / "parties" / name

    @property
    def traces(self) -> Path:
        """The folder of the parties' spans, if tracing is on."""
        return self.root / "traces"

    def prepare(self) -> None:
        """Make the folders, which only their owner can read; folders and database of an older version too."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        servers = map(self.of_redis, SERVERS)
        parts = (self.models, self.releases, *servers, self.root / "parties", self.root / "logs")
        for folder in parts:
            folder.mkdir(exist_ok=True)
            folder.chmod(0o700)
        for file in self.root.glob(f"{self.database.name}*"):
            file.chmod(0o600)

    def hold(self) -> bool:
        """Lock the folder until this process ends, however it ends; False if another process holds it."""
        if self._lock is None:
            self.prepare()
            lock = self.lock_file.open("a")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                return False
            self._lock = lock
        self._lock.truncate(0)
        self._lock.write(str(os.getpid()))
        self._lock.flush()
        return True

    @contextmanager
    def handed_on(self) -> Iterator[int]:
        """The file descriptor of the lock, for a process that is started in the block: it holds the folder
        afterwards, and this one does no more. Call it while holding the folder."""
        assert self._lock is not None
        with self._lock as lock:
            self._lock = None
            yield lock.fileno()

    def write(self, record: RangeRecord) -> None:
        """Replace the record in one step, so that nobody reads half of it."""
        self._write_secret(self.record_file, record.model_dump_json(indent=2))

    def forget(self) -> None:
        """Remove the record."""
        self.record_file.unlink(missing_ok=True)

    def secret(self, name: str, make: Callable[[], str] = lambda: secrets.token_hex(24)) -> str:
        """The secret of that name, made at the first call and kept for later starts. Raises `CliError` for a
        damaged file."""
        path = self.root / "secrets.json"
        try:
            known = _Secrets.model_validate_json(path.read_bytes() if path.exists() else b"{}").root
        except ValidationError as error:
            raise CliError(
                f"{path} is damaged: it does not hold the secrets of the range",
                code=Exit.NOT_STARTED,
                hint="put a copy in its place, or delete it: the next 'leakrange up' makes new secrets, and"
                " an operator key that was noted down is no longer good",
            ) from error
        if name not in known:
            known[name] = make()
            self._write_secret(path, json.dumps(known))
        return known[name]

    def _write_secret(self, path: Path, text: str) -> None:
        new = path.with_suffix(f".{os.getpid()}.new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        os.replace(new, path)
