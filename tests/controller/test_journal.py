"""The record of a run, through a restart of the controller, a failure and an end."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.jobs import Jobs
from leakrange.store.runs import Runs
from leakrange.store.trials import Ledger, Trials
from leakrange.wire.events import Purpose
from services.controller.range.journal import Journal
from services.controller.range.news import News
from tests.controller.conftest import SCENARIO
from tests.databases import Databases


@pytest.fixture(scope="module")
def plan() -> Plan:
    def sizes(spec: DataSpec) -> dict[str, int]:
        return {"train": 100, "held-out": 0, "validation": 50, "auxiliary": 600, "test": 100}

    return expand(parse(SCENARIO), sizes)


@pytest.fixture
async def database(databases: Databases) -> AsyncIterator[Database]:
    made = Database(databases.migrated("sqlite"))
    yield made
    await made.close()


@pytest.fixture
async def journal(database: Database, plan: Plan) -> Journal:
    """Of a run that has begun."""
    async with database.write() as session:
        run = (await Runs(session).create("noted", scenario_yaml="", scenario={})).id
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
        await journal.trial(trial.result.model_copy(update=state))
    await journal.finish()
    async with database.read() as session:
        run = await Runs(session).get(journal.run)
    assert run.state == "failed"
    assert run.error == f"1 of {len(plan.trials)} trials failed; the first: no worker"
