"""Bring a database to the present tables: ``python -m leakrange.store.migrate`` (LEAKRANGE_DATABASE_URL, or
``--url``), and make users for providers that keep their state there (LEAKRANGE_PROVIDER_PASSWORDS)."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from pydantic import Field, TypeAdapter, ValidationError
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection

from leakrange.store.engine import create_engine
from leakrange.wire.names import PROVIDER_NAME

__all__ = ["admit_providers", "configuration", "head", "locate", "upgrade"]

PASSWORDS = TypeAdapter(
    dict[Annotated[str, Field(pattern=PROVIDER_NAME)], Annotated[str, Field(min_length=1)]]
)
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
    async with _alone(url) as connection:
        await connection.run_sync(lambda sync: command.upgrade(configuration(sync), revision))


@asynccontextmanager
async def _alone(url: str) -> AsyncIterator[AsyncConnection]:
    """One transaction, which on PostgreSQL only one process at a time has."""
    engine = create_engine(url)
    try:
        async with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield connection
    finally:
        await engine.dispose()


def admit_providers(url: str, passwords: Mapping[str, str]) -> None:
    """Make a user ``provider_<name>`` for each provider, or give it that password, and a schema of that name.
    It reaches nothing but its schema: no table of the controller, or of another provider.

    The user of ``url`` has to be one who may make users and schemas for them.
    """
    asyncio.run(_admit_providers(url, passwords))


async def _admit_providers(url: str, passwords: Mapping[str, str]) -> None:
    async with _alone(url) as connection:
        await connection.execute(text("REVOKE CREATE ON SCHEMA public FROM PUBLIC"))
        for name, password in passwords.items():
            user = f"provider_{name}"
            there = await connection.scalar(
                text("SELECT true FROM pg_roles WHERE rolname = :user"), {"user": user}
            )
            for template in (
                f"{'ALTER' if there else 'CREATE'} ROLE %1$I LOGIN PASSWORD %2$L",
                "CREATE SCHEMA IF NOT EXISTS %1$I AUTHORIZATION %1$I",
            ):
                # No statement that makes a user takes parameters, so the server itself quotes them.
                quoted = text("SELECT format(:template, CAST(:user AS text), CAST(:password AS text))")
                given = {"template": template, "user": user, "password": password}
                await connection.exec_driver_sql(str(await connection.scalar(quoted, given)))


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m leakrange.store.migrate", description=__doc__)
    parser.add_argument("--url", default=os.environ.get("LEAKRANGE_DATABASE_URL"))
    parser.add_argument("--revision", default="head")
    given = parser.parse_args(arguments)
    if not given.url:
        parser.error("no database: set LEAKRANGE_DATABASE_URL or give --url")
    try:
        passwords = PASSWORDS.validate_json(os.environ.get("LEAKRANGE_PROVIDER_PASSWORDS") or "{}")
    except ValidationError:  # its text would quote them
        parser.error('LEAKRANGE_PROVIDER_PASSWORDS must be JSON such as {"honest": "a password"}')
    upgrade(given.url, given.revision)
    if passwords:
        admit_providers(given.url, passwords)


if __name__ == "__main__":
    main()
