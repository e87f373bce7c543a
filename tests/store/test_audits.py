"""Audits: listed newest first, ended once, and their API keys kept no longer than needed."""

from __future__ import annotations

import pytest

from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.wire.errors import NotFound

REQUEST = {"model": "m", "url": "http://elsewhere", "key": "a-secret", "plan": {}}


async def test_an_audit_keeps_its_key_until_it_ends(database: Database) -> None:
    async with database.write() as session:
        audits = AuditStore(session)
        passed, failed, going_on = [(await audits.create(REQUEST)).id for _ in range(3)]
    async with database.write() as session:
        await AuditStore(session).finish(passed, verdict={"conclusion": "passes"})
        await AuditStore(session).finish(failed, problem={"detail": "no model"})
        with pytest.raises(NotFound):
            await AuditStore(session).finish("no-such-audit", verdict={})
    async with database.read() as session:
        audits = AuditStore(session)
        assert [(audit.id, audit.request["key"]) for audit in await audits.running()] == [
            (going_on, "a-secret")
        ]
        done = await audits.get(passed)
        assert (done.state, done.verdict, done.problem) == ("done", {"conclusion": "passes"}, None)
        lost = await audits.get(failed)
        assert (lost.state, lost.verdict, lost.problem) == ("failed", None, {"detail": "no model"})
        for audit in (done, lost):
            assert audit.finished is not None
            assert audit.request == {"model": "m", "url": "http://elsewhere", "plan": {}}
        rows, following = await audits.page(limit=2)
        rest, last = await audits.page(limit=2, after=following)
        assert len(rows) == 2
        assert {audit.id for audit in (*rows, *rest)} == {passed, failed, going_on}
        assert last is None
