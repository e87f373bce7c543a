"""The state folder of an embedded range: its files, its lock, and the record of what runs."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, RootModel, ValidationError

from clients.cli.exits import CliError, Exit

__all__ = ["PartyRecord", "RangeRecord", "StateFolder"]


class PartyRecord(BaseModel):
    """One process of the range. ``restarts`` counts how often it died and was started again."""

    name: str
    port: int | None
    pid: int | None = None
    state: Literal["waiting", "starting", "ready", "restarting", "stopped"] = "waiting"
    restarts: int = 0


class RangeRecord(BaseModel):
    """The content of ``range.json``: what is needed to talk to the range, watch it and stop it."""

    launcher: int
    state: Literal["starting", "ready", "stopping", "failed"] = "starting"
    stood: bool = False
    """Whether all parties were ever ready. If not, the range never started; else it ended by itself."""
    error: str | None = None
    hint: str | None = None
    error_lines: list[str] = []
    controller: str
    proxy: str
    edge: str
    operator_key: str
    parties: list[PartyRecord]

    def party(self, name: str) -> PartyRecord:
        """The party of that name; raises `KeyError`."""
        for party in self.parties:
            if party.name == name:
                return party
        raise KeyError(name)

    def port(self, name: str) -> int:
        """Where the party of that name listens; raises `KeyError`, also for one that does not listen."""
        port = self.party(name).port
        if port is None:
            raise KeyError(name)
        return port

    def url(self, name: str) -> str:
        """Where the party of that name answers over HTTP; raises `KeyError` as `port` does."""
        return f"http://127.0.0.1:{self.port(name)}"


class _Secrets(RootModel[dict[str, str]]):
    pass


class StateFolder:
    """The files of a range below ``root``. Secrets are readable by their owner alone."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._lock: IO[str] | None = None

    @property
    def models(self) -> Path:
        """Trained models, by digest."""
        return self.root / "models"

    @property
    def releases(self) -> Path:
        """The answers that attackers got, by identity."""
        return self.root / "releases"

    @property
    def redis(self) -> Path:
        """The files of the Redis-protocol server."""
        return self.root / "redis"

    @property
    def database(self) -> Path:
        """The controller's SQLite file."""
        return self.root / "leakrange.db"

    def of_party(self, name: str) -> Path:
        """The working folder of one party."""
        return self.root / "parties" / name

    def log(self, name: str) -> Path:
        """The log of one party (or of the launcher)."""
        return self.root / "logs" / f"{name}.log"

    @property
    def record_file(self) -> Path:
        """The path of the record."""
        return self.root / "range.json"

    @property
    def traces(self) -> Path:
        """Where the parties write their spans, if tracing is on."""
        return self.root / "traces"

    def prepare(self) -> None:
        """Make the folders, which only their owner can read; folders and database of an older version too."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        parts = (self.models, self.releases, self.redis, self.root / "parties", self.root / "logs")
        for folder in parts:
            folder.mkdir(exist_ok=True)
            folder.chmod(0o700)
        for file in self.root.glob(f"{self.database.name}*"):
            file.chmod(0o600)

    def hold(self) -> bool:
        """Lock the folder until this process ends, however it ends; False where another process holds it."""
        self.prepare()
        lock = (self.root / "lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock
        return True

    def held(self) -> bool:
        """Whether a living launcher holds the folder. The kernel releases the lock when its holder dies, so a
        record without a holder was left by a crash."""
        try:
            lock = (self.root / "lock").open("a")
        except OSError:
            return False
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def record(self) -> RangeRecord | None:
        """The record, or None. Raises `CliError` where it is damaged and the range runs; a damaged record of
        a range that no longer runs counts as none."""
        try:
            return RangeRecord.model_validate_json(self.record_file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValidationError as error:
            if not self.held():
                return None
            launcher = (self.root / "lock").read_text() or "unknown"
            raise CliError(
                f"{self.record_file} is damaged, so nothing is known of the range that runs in {self.root}",
                code=Exit.FAILED,
                hint=f"end its launcher (process {launcher}), then start it again with 'leakrange up'",
            ) from error

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
