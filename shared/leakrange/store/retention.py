"""``python -m leakrange.store.retention --days 90``: removes runs that ended more than so many days ago.

A run stays while it goes on, while a provider serves a model for it, and where ``--keep`` names its id or its
scenario. ``--dry-run`` lists what would go. With a run go its trials, events and figures. Its stored answers
go with the next ``python -m leakrange.store.sweep``; models stay.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import load_only

from leakrange.store.engine import Database
from leakrange.store.runs import FINAL, RunStore
from leakrange.store.tables import RunRow, ServedRow, now
from leakrange.wire.errors import LeakrangeError

__all__ = ["main", "outdated", "remove_outdated"]


async def outdated(session: AsyncSession, days: float, keep: Collection[str]) -> Sequence[RunRow]:
    """Return the runs that may go, oldest first: see the module. They have an id, a name and an end alone."""
    query = (
        select(RunRow)
        .options(load_only(RunRow.id, RunRow.name, RunRow.finished))
        .where(RunRow.state.in_(FINAL), RunRow.finished < now() - timedelta(days=days))
        .where(RunRow.id.not_in(keep), RunRow.name.not_in(keep))
        .where(RunRow.id.not_in(select(ServedRow.run_id)))
        .order_by(RunRow.finished, RunRow.id)
    )
    return (await session.scalars(query)).all()


async def remove_outdated(database: Database, days: float, keep: Collection[str]) -> list[str]:
    """Remove these runs, each in a transaction of its own, and return their ids."""
    async with database.read() as session:
        runs = [run.id for run in await outdated(session, days, keep)]
    for run in runs:
        async with database.write() as session:
            await RunStore(session).remove(run)
    return runs


async def _retained(url: str, days: float, keep: Collection[str], dry: bool) -> str:
    database = Database(url)
    try:
        if not dry:
            removed = await remove_outdated(database, days, keep)
            return "".join(f"removed {run}\n" for run in removed) + f"runs removed: {len(removed)}\n"
        async with database.read() as session:
            runs = await outdated(session, days, keep)
        lines = [f"{run.id}  {run.name}, ended {run.finished:%Y-%m-%d %H:%M} UTC\n" for run in runs]
        return "".join(lines) + f"runs that would be removed: {len(runs)}\n"
    finally:
        await database.close()


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m leakrange.store.retention",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", default=os.environ.get("LEAKRANGE_DATABASE_URL"), help="of the database")
    parser.add_argument("--days", type=float, required=True, help="1 or more")
    parser.add_argument(
        "--keep", action="append", default=[], metavar="RUN", help="an id, or a scenario's name"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")
    options = parser.parse_args(arguments)
    if not options.url:
        parser.error("set LEAKRANGE_DATABASE_URL, or give --url")
    if not 1 <= options.days <= 36_500:
        parser.error("--days must be between 1 and 36500")
    try:
        sys.stdout.write(asyncio.run(_retained(options.url, options.days, options.keep, options.dry_run)))
    except LeakrangeError as error:
        sys.exit(f"error: {error.detail}" + (f"\nhint: {error.hint}" if error.hint else ""))


if __name__ == "__main__":
    main()
