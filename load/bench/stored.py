"""Invented runs in the database of a controller."""

from __future__ import annotations

from leakrange.attacks.kinds import leakage_of
from leakrange.scenario.results import RunResults
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.runs import RunStore
from leakrange.store.trials import Trials

__all__ = ["store"]


async def store(database: Database, results: RunResults) -> str:
    """Store these results' trials as a run in their state; returns its identity."""
    async with database.write() as session:
        runs = RunStore(session)
        run = await runs.create(results.name, scenario_yaml=results.scenario_yaml, scenario=results.scenario)
        written = {trial.id: trial.model_dump(mode="json") for trial in results.trials}
        await Trials(session).add(run.id, written.items())
        leakage = {trial.id: trial.value(leakage_of(trial.kind).name) for trial in results.trials}
        await Trials(session).put(run.id, {name: (each, leakage[name]) for name, each in written.items()})
        await Events(session).append(run.id, "run.queued", {"trials": len(results.trials)})
        if results.state != "queued":
            await runs.move(run.id, "running")
        if results.state not in ("queued", "running"):
            await runs.move(run.id, results.state)
        return run.id
