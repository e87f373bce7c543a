"""Operations of load users on a run."""

from __future__ import annotations

import asyncio

import numpy as np

from leakrange.scenario.under_load import LoadPart
from leakrange.services.controller.engine.supervisor import Supervisor
from leakrange.services.controller.load.schemas import (
    LoadView,
    OfferedChunk,
    OfferedQuestions,
    OfferedVisit,
    Refusal,
    Wish,
)
from leakrange.services.controller.range.record import stored_plan
from leakrange.store.engine import Database
from leakrange.store.files import ObjectStore, put_array, whole
from leakrange.store.loads import Loads
from leakrange.store.runs import FINAL, RunStore
from leakrange.wire.errors import Conflict, InvalidInput, NotFound
from leakrange.wire.tensors import decode_npy


class LoadService:
    """The offers of runs under load, and the answers that are handed in. One per controller."""

    def __init__(self, database: Database, releases: ObjectStore, supervisor: Supervisor) -> None:
        self._database, self._releases, self._supervisor = database, releases, supervisor

    async def view(self, run: str) -> LoadView:
        """The users that a run wants, and whether it still wants them. Raises `NotFound`, and `Conflict` for
        a run that is not under load."""
        async with self._database.read() as session:
            record = await RunStore(session).get(run)
            plan = await stored_plan(session, run)
        if plan.load is None:
            raise Conflict(f"run {run} is not under load", hint="'leakrange load' starts one that is")
        offers = self._supervisor.offers(run)
        over = record.state in FINAL if offers is None else offers.over
        return LoadView(spec=plan.load, over=over, waiting=0 if offers is None else offers.waiting)

    async def take(self, run: str, wish: Wish) -> OfferedQuestions:
        """Take chunks for users of a kind. Chunks without answers are offered again after a while. Raises
        `NotFound`."""
        offers = self._supervisor.offers(run)
        if offers is None or offers.load is None:
            return OfferedQuestions(over=(await self.view(run)).over)
        return OfferedQuestions(
            chunks=[
                OfferedChunk.model_validate(each, from_attributes=True)
                for each in offers.take(wish.kind, wish.most)
            ],
            visits=[OfferedVisit.model_validate(each, from_attributes=True) for each in offers.visits]
            if wish.kind == "honest"
            else [],
            over=offers.over,
        )

    async def hand_in(self, run: str, identity: str, body: bytes) -> None:
        """Store the answers to a chunk, float32 (samples, …), as npy; a repetition changes nothing. Raises
        `NotFound` for a chunk that the run does not ask for, and `InvalidInput` for other answers."""
        offers = self._supervisor.offers(run)
        chunk = offers.wanted(identity) if offers is not None else None
        if offers is None or chunk is None:
            if whole(self._releases, f"{identity}.npy"):
                return  # handed in before
            raise NotFound(f"run {run} does not ask for {identity}, or no more")
        values, samples = decode_npy(body), chunk.job.samples
        if values.dtype.kind != "f" or values.ndim < 2 or len(values) != samples:
            raise InvalidInput(
                f"{samples} samples were asked about, and the answers are {values.dtype} {values.shape}"
            )
        if not np.isfinite(values).all():
            raise InvalidInput("answers are finite numbers")
        await asyncio.to_thread(put_array, self._releases, f"{identity}.npy", values.astype(np.float32))
        offers.stored(identity)

    def refuse(self, run: str, identity: str, refusal: Refusal) -> None:
        """Note that a chunk gets no answers; a chunk that nobody asks for is left alone."""
        offers = self._supervisor.offers(run)
        if offers is not None:
            offers.refused(identity, refusal.reason, refusal.limit)

    async def saw(self, run: str, part: str, seen: LoadPart) -> None:
        """Store what a load test has seen so far. Raises `NotFound`, and `Conflict` for a run that is not
        under load."""
        await self.view(run)
        async with self._database.write() as session:
            await Loads(session).put(run, part, seen.model_dump(mode="json"))
