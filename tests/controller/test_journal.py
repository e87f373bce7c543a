"""The record of a run, through a restart of the controller, a failure and an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from leakrange.jobs.recipe import DataSpec
from leakrange.metrics import Estimate
from leakrange.report import worst
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.services.controller.range import journal as range_journal
from leakrange.services.controller.range.journal import EndedTrial, Journal
from leakrange.services.controller.range.news import News
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.jobs import Jobs
from leakrange.store.runs import RunStore
from leakrange.store.trials import Ledger, Trials
from leakrange.wire.errors import StorageFull
from leakrange.wire.events import Purpose
from tests.controller.conftest import SCENARIO
from tests.controller.parties import put_planned
from tests.databases import Databases
from tests.report.build import area


@pytest.fixture(scope="module")
def plan() -> Plan:
    def sizes(spec: DataSpec) -> dict[str, int]:
        return {"train": 100, "held-out": 0, "validation": 50, "auxiliary": 600, "test": 100}

    two = SCENARIO.replace("budgets: [64]", "budgets: [40, 64]")
    assert two != SCENARIO
    return expand(parse(two), sizes)


@pytest.fixture
async def database(databases: Databases) -> AsyncIterator[Database]:
    made = Database(databases.migrated("sqlite"))
    yield made
    await made.close()


@pytest.fixture
async def journal(database: Database, plan: Plan) -> Journal:
    """Of a run that has begun."""
    async with database.write() as session:
        run = (await RunStore(session).create("noted", scenario_yaml="", scenario={})).id
        await put_planned(session, run, plan)
    made = Journal(run, database, News(database))
    assert await made.begin(plan)
    return made


async def told(journal: Journal, database: Database) -> list[str]:
    async with database.read() as session:
        return [event.kind for event in await Events(session).after(journal.run, 0)]


async def test_what_failed_before_a_restart_can_succeed_after_it(
    journal: Journal, database: Database, plan: Plan
) -> None:
    await journal.expect("train", {"a" * 64: Purpose()})
    await journal.expect("probe", {"b" * 64: Purpose()})
    await journal.dispatch("a" * 64, "train")
    await journal.job_failed("a" * 64, "train", "no memory")
    assert await journal.begin(plan)
    await journal.dispatch("a" * 64, "train")
    await journal.job_done("a" * 64, "train", {"seconds": 2.0}, message="trained")
    assert await journal.done_before() == {"a" * 64}
    assert (await told(journal, database))[-2:] == ["job.started", "job.done"]


async def test_a_key_of_which_nobody_can_say_has_paid_for_what_the_run_has_from_it(
    journal: Journal, database: Database
) -> None:
    for name in ("told", "silent", "unused"):
        await journal.open_account(name, policy="none", budget=100, holder="attacker", purpose=Purpose())
    for identity, key, samples in (
        ("a", "told", 30),
        ("b", "silent", 30),
        ("c", "silent", 12),
        ("d", None, 9),
    ):
        await journal.expect("probe", {identity * 64: Purpose()})
        await journal.job_done(identity * 64, "probe", {"key": key, "samples": samples}, message="")
    await journal.settle_accounts({"told": 45})
    assert await spent(journal, database) == {"told": (45, 30), "silent": (42, 42), "unused": (0, 0)}
    await journal.settle_accounts({"silent": 50})  # the proxy is back; of the others it knows no more
    await journal.settle_accounts({})
    assert await spent(journal, database) == {"told": (45, 30), "silent": (50, 42), "unused": (0, 0)}


async def spent(journal: Journal, database: Database) -> dict[str, tuple[int, int]]:
    async with database.read() as session:
        return {
            entry.name: (entry.spent, entry.distinct) for entry in await Ledger(session).of_run(journal.run)
        }


async def test_a_job_that_ends_twice_is_told_once(journal: Journal, database: Database) -> None:
    await journal.expect("train", {"a" * 64: Purpose()})
    before = await told(journal, database)
    for _ in range(2):
        await journal.job_done("a" * 64, "train", {}, message="trained")
    await journal.job_failed("a" * 64, "train", "too late")
    assert (await told(journal, database))[len(before) :] == ["job.done"]


async def test_a_run_that_is_over_begins_no_more(journal: Journal, database: Database, plan: Plan) -> None:
    await journal.expect("train", {"a" * 64: Purpose(), "b" * 64: Purpose()})
    await journal.dispatch("a" * 64, "train")
    await journal.fail("the proxy: no answer")
    before = await told(journal, database)
    assert not await journal.begin(plan)
    assert await told(journal, database) == before
    async with database.read() as session:
        assert {result["state"] for result in await Trials(session).of_run(journal.run)} == {"cancelled"}
        assert [job.state for job in await Jobs(session).of_run(journal.run)] == ["cancelled"] * 2


async def test_a_run_with_a_failed_trial_has_failed_and_says_of_what(
    journal: Journal, database: Database, plan: Plan
) -> None:
    for number, trial in enumerate(plan.trials):
        state = {"state": "failed", "error": "no worker"} if number == 1 else {"state": "done"}
        await journal.trial(EndedTrial.of(trial.result.model_copy(update=state)))
    await journal.finish()
    async with database.read() as session:
        run = await RunStore(session).get(journal.run)
    assert run.state == "failed"
    assert run.error == f"1 of {len(plan.trials)} trials failed; the first: no worker"


async def test_what_is_recorded_at_the_same_time_is_told_once_each_and_in_order(
    journal: Journal, database: Database
) -> None:
    names = [f"{number:064x}" for number in range(1300)]
    await journal.expect("probe", {name: Purpose(probe=name[-4:]) for name in names})

    async def carried_out(name: str) -> None:
        await journal.dispatch(name, "probe")
        await asyncio.gather(
            *(journal.job_done(name, "probe", {"samples": 2}, message=name[-4:], samples=2) for _ in range(2))
        )

    await asyncio.gather(*map(carried_out, names))
    async with database.read() as session:
        events = [
            event
            for first in (0, 1000, 2000)
            for event in await Events(session).after(journal.run, first, limit=1000)
        ]
    assert [event.seq for event in events] == list(range(1, 2 + 1 + 2 * 1300))
    for kind in ("job.started", "job.done"):
        told_of = [event.data["identity"] for event in events if event.kind == kind]
        assert sorted(told_of) == names
    done = next(event.data for event in events if event.kind == "job.done")
    assert (done["probe"], done["samples"]) == (done["identity"][-4:], 2)
    assert await journal.done_before() == set(names)


async def test_a_change_that_cannot_be_written_fails_all_who_wait_for_it(
    journal: Journal, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await journal.expect("probe", {"a" * 64: Purpose(), "b" * 64: Purpose()})
    with monkeypatch.context() as broken:
        broken.setattr(Jobs, "move_all", _full)
        outcomes = await asyncio.gather(
            *(journal.dispatch(name * 64, "probe") for name in "ab"), return_exceptions=True
        )
    assert [type(outcome) for outcome in outcomes] == [StorageFull, StorageFull]
    await journal.dispatch("b" * 64, "probe")
    assert (await told(journal, database))[-1] == "job.started"


async def _full(*_: object) -> set[str]:
    raise StorageFull("no space left")


@pytest.mark.parametrize("room", [0, -1])
async def test_a_run_that_ends_notes_its_worst_leak(
    journal: Journal, database: Database, plan: Plan, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """Verdicts are about the largest budgets, so a run may have more trials than are judged together."""
    budgets = {planned.result.budget for planned in plan.trials}
    judged = [planned for planned in plan.trials if planned.result.budget == max(budgets)]
    assert len(judged) < len(plan.trials)
    monkeypatch.setattr(range_journal, "MAX_AT_ONCE", len(judged) + room)
    for planned in plan.trials:
        leaks = 0.95 if planned.result.provider == "curious" else 0.5
        if planned not in judged:
            leaks = 0.99 - leaks / 100  # which would be the worst
        metrics = {"auc": area(leaks), "honesty": Estimate(value=0.9)}
        ended = planned.result.model_copy(update={"state": "done", "metrics": metrics})
        await journal.trial(EndedTrial.of(ended))
    await journal.finish()
    async with database.read() as session:
        run = await RunStore(session).get(journal.run)
    assert run.state == "done"
    if room < 0:
        assert run.leak is None
    else:
        assert run.leak is not None
        assert run.leak["grade"] == "E"
        sentence = run.leak["sentence"].replace("\N{NO-BREAK SPACE}", " ")
        assert sentence == "“curious” gives away “large”: AUC 0.950"


async def test_a_leak_that_cannot_be_told_keeps_no_run_from_its_end(
    journal: Journal, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worst, "worst_leak", None)
    await journal.finish()
    async with database.read() as session:
        run = await RunStore(session).get(journal.run)
    assert (run.state, run.leak) == ("failed", None)  # its trials had not ended
