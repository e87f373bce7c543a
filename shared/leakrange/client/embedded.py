"""The record of an embedded range, in the state folder that ``leakrange up`` keeps."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from leakrange.wire.errors import DamagedFile, InvalidInput

__all__ = ["PartyRecord", "RangeFolder", "RangeRecord", "state_path"]

DEFAULT_STATE = ".leakrange"


def state_path(state: str | Path | None) -> Path:
    """Return the folder ``state``, else the environment's ``LEAKRANGE_STATE``, else ``.leakrange``. Raises
    `InvalidInput` if that is a file."""
    path = Path(state or os.environ.get("LEAKRANGE_STATE") or DEFAULT_STATE)
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is no folder", hint="give --state (or LEAKRANGE_STATE) a folder")
    return path


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
        """Return the party of that name; raises `KeyError`."""
        for party in self.parties:
            if party.name == name:
                return party
        raise KeyError(name)

    def port(self, name: str) -> int:
        """Return the port of the party of that name; raises `KeyError`, also if it does not listen."""
        port = self.party(name).port
        if port is None:
            raise KeyError(name)
        return port

    def url(self, name: str) -> str:
        """Return the HTTP address of the party of that name; raises `KeyError` as `port` does."""
        return f"http://127.0.0.1:{self.port(name)}"


class RangeFolder:
    """The state folder ``root``, for users of the range."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def log(self, name: str) -> Path:
        """The log of one party (or of the launcher)."""
        return self.root / "logs" / f"{name}.log"

    @property
    def record_file(self) -> Path:
        """The path of the record."""
        return self.root / "range.json"

    @property
    def lock_file(self) -> Path:
        """The file that a living launcher keeps locked; it contains the launcher's process id."""
        return self.root / "lock"

    def held(self) -> bool:
        """Return whether a living launcher holds the folder. The kernel releases the lock when its holder
        dies, so a crash has left any record without a holder."""
        try:
            lock = self.lock_file.open("a")
        except OSError:
            return False
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def record(self) -> RangeRecord | None:
        """Return the record, or None. Raises `DamagedFile` if it is damaged and the range runs; a damaged
        record of a range that no longer runs counts as none."""
        try:
            return RangeRecord.model_validate_json(self.record_file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValidationError as error:
            if not self.held():
                return None
            launcher = self.lock_file.read_text() or "unknown"
            raise DamagedFile(
                f"{self.record_file} is damaged, so nothing is known of the range that runs in {self.root}",
                hint=f"end its launcher (process {launcher}), then start it again with 'leakrange up'",
            ) from error
