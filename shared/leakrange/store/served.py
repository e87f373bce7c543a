"""The models that providers serve for runs, so that they can be withdrawn when no run needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, delete, func, select

from leakrange.store.rows import Rows
from leakrange.store.runs import FINAL
from leakrange.store.tables import RunRow, ServedRow

__all__ = ["ServedModelStore", "Unused"]


@dataclass(frozen=True)
class Unused:
    """A served model that no unfinished run needs: its name, the behaviour of its provider, and when the last
    of its runs ended."""

    model: str
    plays: str
    since: datetime


class ServedModelStore(Rows):
    """Models by the name that they are served under."""

    async def add(self, run_id: str, model: str, plays: str) -> None:
        """Note that the run wants the model; noting it again changes nothing."""
        row = {"run_id": run_id, "model": model, "plays": plays}
        await self.insert_new(ServedRow, [row], ServedRow.run_id, ServedRow.model)

    async def unused(self, model: str | None = None) -> Sequence[Unused]:
        """Return the models that no unfinished run needs, the longest unused first; only ``model``, if
        given."""
        ended = func.max(RunRow.finished)
        query = (
            select(ServedRow.model, ServedRow.plays, ended)
            .join(RunRow, RunRow.id == ServedRow.run_id)
            .group_by(ServedRow.model, ServedRow.plays)
            .having(func.sum(case((RunRow.state.in_(FINAL), 0), else_=1)) == 0)
            .order_by(ended, ServedRow.model)
        )
        if model is not None:
            query = query.where(ServedRow.model == model)
        rows = await self.session.execute(query)
        return [Unused(name, plays, since) for name, plays, since in rows if since is not None]

    async def remove(self, model: str) -> None:
        """Note that the model is no longer served for any run."""
        await self.session.execute(delete(ServedRow).where(ServedRow.model == model))
