"""Alembic's entry: runs on the connection that `leakrange.store.migrate` hands over, else on
LEAKRANGE_DATABASE_URL."""

import asyncio
import os

from alembic import context
from sqlalchemy import Connection

from leakrange.store.engine import create_engine
from leakrange.store.tables import Base, Instant


def render(kind: str, thing: object, _context: object) -> str | bool:
    # A migration must not change when the code does: it names SQL types only, none of ours.
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(thing, Instant) else False


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_type=True,
        render_item=render,
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,  # true of SQLite too, as our engine begins its transactions itself
    )
    with context.begin_transaction():
        context.run_migrations()


async def connect_and_migrate(url: str) -> None:
    engine = create_engine(url)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(migrate)
    finally:
        await engine.dispose()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    asyncio.run(connect_and_migrate(os.environ["LEAKRANGE_DATABASE_URL"]))
