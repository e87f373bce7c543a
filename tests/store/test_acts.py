"""The log of the operator's acts: in order, each once, and whoever changes it is found out."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from leakrange.store.acts import Acts
from leakrange.store.engine import Database
from leakrange.wire.acts import Act, ActList

BEGUN = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def act(number: int, party: str = "controller") -> Act:
    return Act(
        id=f"{party}-{number}",
        at=BEGUN + timedelta(seconds=number),
        party=party,
        by="key 0123456789ab",
        address="10.0.0.7",
        method="PATCH",
        path=f"/admin/keys/partner-{number}",
        status=200,
        change={"budget": 10 * number, "models": None} if number % 2 else None,
        made=None,
    )


async def _page(database: Database, after: int = 0, limit: int = 100) -> ActList:
    async with database.read() as session:
        return await Acts(session).page(after=after, limit=limit)


async def _filled(database: Database) -> None:
    for number in range(1, 6):
        async with database.write() as session:
            assert await Acts(session).add([act(number)]) == 1


async def test_acts_come_back_as_they_were_in_order_and_each_once(database: Database) -> None:
    await _filled(database)
    async with database.write() as session:
        assert await Acts(session).add([act(2), act(9, "proxy"), act(5)]) == 1
    page = await _page(database)
    assert page.intact
    assert [each.number for each in page.acts] == [1, 2, 3, 4, 5, 6]
    shown = [Act.model_validate(each.model_dump(include=set(Act.model_fields))) for each in page.acts]
    assert shown == [act(1), act(2), act(3), act(4), act(5), act(9, "proxy")]
    later = await _page(database, after=2, limit=2)
    assert ([each.number for each in later.acts], later.intact) == ([3, 4], True)
    async with database.read() as session:
        newest, last = await Acts(session).newest(2), await Acts(session).last("proxy")
    assert [each.number for each in newest.acts] == [5, 6]
    assert newest.intact
    assert last is not None
    assert last.at == act(9).at


async def test_acts_that_are_added_at_once_stand_in_one_chain(database: Database) -> None:
    async def add(number: int) -> None:
        async with database.write() as session:
            await Acts(session).add([act(number)])

    await asyncio.gather(*map(add, range(12)))
    page = await _page(database)
    assert (len(page.acts), page.intact) == (12, True)


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE acts SET status = 404 WHERE id = 3",
        'UPDATE acts SET change = \'{"budget": 11, "models": null}\' WHERE id = 1',
        "DELETE FROM acts WHERE id = 4",
    ],
)
async def test_an_entry_that_was_changed_or_removed_is_found_out(database: Database, forged: str) -> None:
    await _filled(database)
    assert (await _page(database)).intact
    async with database.write() as session:
        await session.execute(text(forged.replace(":", "\\:")))
    assert not (await _page(database)).intact
