"""A database of each kind, empty or migrated."""

from collections.abc import AsyncIterator

import pytest

from leakrange.store.engine import Database
from tests.databases import Databases


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty_url(databases: Databases, kind: str) -> str:
    """A database with nothing in it."""
    return databases.empty(kind)


@pytest.fixture
def database_url(databases: Databases, kind: str) -> str:
    """A migrated database."""
    return databases.migrated(kind)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    found = Database(database_url)
    yield found
    await found.close()
