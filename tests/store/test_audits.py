"""Audits: listed newest first, ended once, and their API keys kept no longer than needed."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.wire.errors import NotFound

REQUEST = {"model": "m", "url": "http://elsewhere", "key": "a-secret", "plan": {}}


async def test_an_audit_keeps_its_key_until_it_ends(database: Database) -> None:
    async with database.write() as session:
        audits = AuditStore(session)
        passed, failed, going_on = [(await audits.create("m", REQUEST)).id for _ in range(3)]
    async with database.write() as session:
        await AuditStore(session).finish(passed, verdict={"conclusion": "passes"})
        await AuditStore(session).finish(failed, problem={"detail": "no model"})
        with pytest.raises(NotFound):
            await AuditStore(session).finish("no-such-audit", verdict={})
    async with database.read() as session:
        audits = AuditStore(session)
        assert [(audit.id, audit.request["key"]) for audit in await audits.running("model")] == [
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


async def test_a_list_has_the_audits_that_are_asked_for(database: Database) -> None:
    async with database.write() as session:
        audits = AuditStore(session)
        model = (await audits.create("Risk", REQUEST)).id
        leaky = (await audits.create("risk_1", {}, kind="endpoint")).id
        other = (await audits.create("other", {}, kind="endpoint")).id
        await audits.finish(model, verdict={"conclusion": "passes"})
        await audits.finish(leaky, verdict={"conclusion": "leaks"}, brief={"grade": "D"})
    wanted: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {model, leaky, other}),
        ({"kind": "endpoint"}, {leaky, other}),
        ({"conclusion": "leaks"}, {leaky}),
        ({"subject": "RISK"}, {model, leaky}),
        ({"subject": "risk_"}, {leaky}),
        ({"subject": "risk", "kind": "model", "conclusion": "passes"}, {model}),
    ]
    async with database.read() as session:
        audits = AuditStore(session)
        for filters, ids in wanted:
            rows, _ = await audits.listed(**filters)
            assert {row.id for row in rows} == ids, filters
            assert all("verdict" not in vars(row) for row in rows)
        assert (await audits.of_kind("endpoint", leaky)).brief == {"grade": "D"}
        with pytest.raises(NotFound, match="not one of endpoints"):
            await audits.of_kind("endpoint", model)
