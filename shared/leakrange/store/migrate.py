"""Bring a database to the present tables: ``python -m leakrange.store.migrate`` (LEAKRANGE_DATABASE_URL, or
``--url``)."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from leakrange.store.engine import create_engine

__all__ = ["configuration", "head", "locate", "upgrade"]

_LOCK = 0x1EA4  # any number that only we use: the key of the advisory lock


def locate() -> Path:
    """Return the folder of migrations: LEAKRANGE_MIGRATIONS, else inside the package, else
    ``infra/migrations`` of the source checkout.

    Raises `FileNotFoundError`, which says what to set.
    """
    here = Path(__file__).resolve()
    candidates = [here.parent / "migrations", here.parents[3] / "infra" / "migrations"]
    if named := os.environ.get("LEAKRANGE_MIGRATIONS"):
        candidates = [Path(named)]
    for folder in candidates:
        if (folder / "env.py").is_file():
            return folder
    tried = ", ".join(str(folder) for folder in candidates)
    raise FileNotFoundError(f"no migrations in {tried}: set LEAKRANGE_MIGRATIONS to infra/migrations")


def configuration(connection: Connection | None = None) -> Config:
    """Return Alembic's configuration, bound to ``connection`` if given."""
    config = Config()
    config.set_main_option("script_location", str(locate()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def head() -> str:
    """The newest revision."""
    revision = ScriptDirectory.from_config(configuration()).get_current_head()
    if revision is None:
        raise LookupError("there are no migrations")
    return revision


def upgrade(url: str, revision: str = "head") -> None:
    """Migrate the database at ``url`` in one transaction.

    Several processes may try at once: the others wait, then find it done. Inside an event loop call it in a
    thread (``asyncio.to_thread``).
    """
    asyncio.run(_upgrade(url, revision))


async def _upgrade(url: str, revision: str) -> None:
    engine = create_engine(url)
    try:
        async with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            await connection.run_sync(lambda sync: command.upgrade(configuration(sync), revision))
    finally:
        await engine.dispose()


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m leakrange.store.migrate", description=__doc__)
    parser.add_argument("--url", default=os.environ.get("LEAKRANGE_DATABASE_URL"))
    parser.add_argument("--revision", default="head")
    given = parser.parse_args(arguments)
    if not given.url:
        parser.error("no database: set LEAKRANGE_DATABASE_URL or give --url")
    upgrade(given.url, given.revision)


if __name__ == "__main__":
    main()
