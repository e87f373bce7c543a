"""The log of the operator's acts: entries are added, and never changed or removed."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select, text

from leakrange.store.rows import Rows
from leakrange.store.tables import ActRow
from leakrange.wire.acts import Act, ActList, ChainedAct, chained, intact

__all__ = ["Acts"]


class Acts(Rows):
    """Acts by their number in the log, from 1 on."""

    async def add(self, acts: Sequence[Act]) -> int:
        """Add those acts that are not in the log yet, and return their number."""
        if self.session.get_bind().dialect.name == "postgresql":  # SQLite has one writer at a time
            await self.session.execute(text("LOCK TABLE acts IN SHARE ROW EXCLUSIVE MODE"))
        ids = [act.id for act in acts]
        known = set(await self.session.scalars(select(ActRow.act).where(ActRow.act.in_(ids))))
        query = select(ActRow.digest).order_by(ActRow.id.desc()).limit(1)
        digest = await self.session.scalar(query) or ""
        new = [act for act in acts if act.id not in known]
        for act in new:
            digest = chained(digest, act)
            row = act.model_dump(exclude={"id"})
            self.session.add(ActRow(act=act.id, digest=digest, **row))
            await self.session.flush()  # in this order
        return len(new)

    async def page(self, *, after: int, limit: int) -> ActList:
        """Return up to ``limit`` acts behind number ``after``, oldest first."""
        query = select(ActRow).where(ActRow.id > after).order_by(ActRow.id).limit(limit)
        return await self._list((await self.session.scalars(query)).all())

    async def newest(self, limit: int) -> ActList:
        """Return the last ``limit`` acts, oldest first."""
        query = select(ActRow).order_by(ActRow.id.desc()).limit(limit)
        return await self._list(list(reversed((await self.session.scalars(query)).all())))

    async def last(self, party: str) -> Act | None:
        """Return the act of a party that was added last."""
        query = select(ActRow).where(ActRow.party == party).order_by(ActRow.id.desc()).limit(1)
        row = await self.session.scalar(query)
        return None if row is None else _act(row)

    async def _list(self, rows: Sequence[ActRow]) -> ActList:
        acts = [_act(row) for row in rows]
        if not acts:
            return ActList(acts=[], intact=True)
        query = select(ActRow.digest).where(ActRow.id < acts[0].number).order_by(ActRow.id.desc()).limit(1)
        return ActList(acts=acts, intact=intact(await self.session.scalar(query) or "", acts))


def _act(row: ActRow) -> ChainedAct:
    fields = {name: getattr(row, name) for name in Act.model_fields if name != "id"}
    return ChainedAct(id=row.act, number=row.id, digest=row.digest, **fields)
