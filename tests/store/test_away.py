"""A PostgreSQL server that is not there, or cuts connections: whoever asks waits a while, and is told."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from leakrange.store.engine import Database, DatabaseAway


async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Decline TLS, take the client's greeting, and close the connection in place of an answer."""
    await reader.readexactly(8)
    writer.write(b"N")
    await reader.read(1)
    writer.close()


@pytest.mark.parametrize("listens", [True, False])
async def test_a_server_that_cuts_connections_is_away_as_one_that_is_not_there(
    listens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakrange.store.engine.WAIT_FOR", 0.3)
    server = await asyncio.start_server(cut, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    if not listens:
        server.close()
    database = Database(f"postgresql://leakrange@127.0.0.1:{port}/leakrange")
    try:
        with pytest.raises(DatabaseAway):
            async with database.read() as session:
                await session.execute(text("select 1"))
    finally:
        await database.close()
        server.close()
