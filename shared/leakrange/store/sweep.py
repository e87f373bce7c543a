"""``python -m leakrange.store.sweep --days 30 [--gigabytes 200]``: removes stored answers that no run needs.

A run needs the answers of its jobs while it goes on, and for so many days after its end. What was written
within these days stays in any case. While a run is under way nothing is removed, and none can begin while
something is: so no run counts on an answer that goes. A run that ended before keeps its results; a new one
asks, and pays, again for what it would have shared with it. With ``--gigabytes`` no more goes than has
to, the oldest first, until the store is no larger. Models are left alone: providers may serve them for an
operator.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.store.engine import Database
from leakrange.store.files import ObjectStore, StoredObject
from leakrange.store.packs import PACKS, held
from leakrange.store.places import store_at
from leakrange.store.runs import FINAL
from leakrange.store.tables import JobRow, RunRow, now
from leakrange.store.uploads import reconstructed_as
from leakrange.wire.errors import Conflict, LeakrangeError

__all__ = ["main", "sweep"]


class Swept(NamedTuple):
    """How many objects were removed, and the bytes that are left."""

    removed: int
    size: int


TOGETHER = 500
"""The most objects that are removed while no run can begin: a second's work."""


async def sweep(database: Database, releases: ObjectStore, days: float, most: float = 0.0) -> Swept:
    """Remove what no run needs, the oldest first, until no more than ``most`` bytes are left. Raises
    `Conflict` while a run is under way; what was removed until then was not needed."""
    before = time.time() - 86_400 * days
    stored = await asyncio.to_thread(lambda: list(releases.objects()))
    old = await asyncio.to_thread(_older, releases, stored, before)
    count, size = 0, sum(each.size for each in stored)
    while old and size > most:
        some, old = old[:TOGETHER], old[TOGETHER:]
        async with database.write() as session:
            needed = await _needed(session, days)
            names = list[str]()
            for each in some:
                if size > most and not needed & each.holds:
                    # in this order a pack loses its identities before its content
                    names += each.names
                    size -= each.size
            await asyncio.to_thread(releases.remove, names)
        count += len(names)
    return Swept(count, size)


class Old(NamedTuple):
    """Objects that go or stay together, the identities that they hold, and when the last was written."""

    names: list[str]
    holds: set[str]
    written: float
    size: int


def _older(releases: ObjectStore, stored: Iterable[StoredObject], before: float) -> list[Old]:
    packs, old = defaultdict[str, list[StoredObject]](list), list[Old]()
    for each in stored:
        if each.name.startswith(f"{PACKS}/"):
            packs[each.name.rpartition(".")[0]].append(each)
        elif each.written < before:
            old.append(Old([each.name], {each.name.partition(".")[0]}, each.written, each.size))
    for parts in packs.values():
        names = sorted(each.name for each in parts)
        if (last := max(each.written for each in parts)) < before:
            holds = held(releases.read(names[0])) if names[0].endswith(".ids") else set()
            old.append(Old(names, holds, last, sum(each.size for each in parts)))
    return sorted(old, key=lambda each: each.written)


async def _needed(session: AsyncSession, days: float) -> set[str]:
    """The identities that runs need, none of which can begin before the transaction ends."""
    if session.get_bind().dialect.name == "postgresql":  # SQLite has one writer at a time
        await session.execute(text("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE"))
    open_runs = await session.scalar(select(func.count()).where(RunRow.state.not_in(FINAL)))
    if open_runs:
        raise Conflict(
            f"{open_runs} runs are under way, and may count on any stored answer",
            hint="sweep again when they have ended",
        )
    query = select(JobRow.identity).join(RunRow, RunRow.id == JobRow.run_id).distinct()
    identities = set(await session.scalars(query.where(RunRow.finished > now() - timedelta(days=days))))
    return identities | {reconstructed_as(identity) for identity in identities}


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m leakrange.store.sweep",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", default=os.environ.get("LEAKRANGE_DATABASE_URL"), help="of the database")
    parser.add_argument(
        "--releases", default=os.environ.get("LEAKRANGE_RELEASES_DIR"), help="a folder, or s3://…"
    )
    parser.add_argument("--days", type=float, required=True, help="1 or more")
    parser.add_argument("--gigabytes", type=float, default=0.0, help="what may stay though no run needs it")
    options = parser.parse_args(arguments)
    if not options.url or not options.releases:
        parser.error("set LEAKRANGE_DATABASE_URL and LEAKRANGE_RELEASES_DIR, or give --url and --releases")
    if not options.days >= 1:
        parser.error("--days must be 1 or more: what is younger may be an audit's that is going on")
    if not options.gigabytes >= 0:
        parser.error("--gigabytes must be 0 or more")
    try:
        swept = asyncio.run(_swept(options.url, options.releases, options.days, 1e9 * options.gigabytes))
    except LeakrangeError as error:
        sys.exit(f"error: {error.detail}" + (f"\nhint: {error.hint}" if error.hint else ""))
    sys.stdout.write(f"objects removed: {swept.removed}; {swept.size / 1e9:.3f} GB are left\n")
    if swept.size > 1e9 * options.gigabytes > 0:
        sys.exit(f"error: more than {options.gigabytes:g} GB are left: runs need them, or they are too young")


async def _swept(url: str, releases: str, days: float, most: float) -> Swept:
    database = Database(url)
    try:
        return await sweep(database, store_at(releases), days, most)
    finally:
        await database.close()


if __name__ == "__main__":
    main()
