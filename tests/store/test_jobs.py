"""Jobs: exactly one gets each, a report that comes twice counts once, whatever the order of arrival."""

import asyncio

from leakrange.store.engine import Database
from leakrange.store.jobs import Jobs
from tests.store.test_runs import create


async def test_adding_jobs_again_adds_nothing(database: Database) -> None:
    run_id = await create(database)
    many = [(f"job-{i}", "probe", {"number": i}) for i in range(2500)]
    async with database.write() as session:
        assert await Jobs(session).add(run_id, many) == 2500
        assert await Jobs(session).claim(run_id, "job-3")
        assert await Jobs(session).add(run_id, [*many, ("new", "fit", {})]) == 1
        assert await Jobs(session).add(run_id, []) == 0
    async with database.read() as session:
        found = await Jobs(session).of_run(run_id)
        assert [job.identity for job in found] == [*(f"job-{i}" for i in range(2500)), "new"]
        assert found[3].state == "dispatched"
        assert found[4].payload == {"number": 4}
        assert await Jobs(session).tally([run_id]) == {
            run_id: {"probe": {"pending": 2499, "dispatched": 1}, "fit": {"pending": 1}}
        }


async def test_of_many_that_claim_a_job_one_gets_it(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        await Jobs(session).add(run_id, [("a", "train", {})])

    async def claim() -> bool:
        async with database.write() as session:
            return await Jobs(session).claim(run_id, "a")

    assert sum(await asyncio.gather(*(claim() for _ in range(20)))) == 1
    async with database.read() as session:
        [job] = await Jobs(session).of_run(run_id)
        assert job.attempts == 1


async def test_the_life_of_a_job(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        jobs = Jobs(session)
        await jobs.add(run_id, [("a", "train", {})])
        assert await jobs.claim(run_id, "a")
        assert await jobs.retry(run_id, "a")
        assert await jobs.claim(run_id, "a")
        assert await jobs.finish(run_id, "a", {"seconds": 1.5})
        # What comes late changes nothing.
        assert not await jobs.finish(run_id, "a", {"seconds": 9.9})
        assert not await jobs.fail(run_id, "a", "late")
        assert not await jobs.retry(run_id, "a")
        assert not await jobs.claim(run_id, "a")
        [job] = await jobs.of_run(run_id)
        assert (job.state, job.attempts) == ("done", 2)
        assert job.result == {"seconds": 1.5}


async def test_a_failed_job_is_told_why_and_can_be_tried_again(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        jobs = Jobs(session)
        await jobs.add(run_id, [("a", "fit", {})])
        assert await jobs.fail(run_id, "a", "no labels")
        [failed] = await jobs.of_run(run_id)
        assert (failed.state, failed.error) == ("failed", "no labels")
        assert await jobs.retry(run_id, "a")
        assert await jobs.claim(run_id, "a")
        [again] = await jobs.of_run(run_id)
        assert (again.state, again.error) == ("dispatched", None)


async def test_cancelling_stops_what_is_open_and_keeps_what_is_done(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        jobs = Jobs(session)
        await jobs.add(run_id, [(name, "probe", {}) for name in "abcd"])
        await jobs.finish(run_id, "a", {})
        await jobs.fail(run_id, "b", "x")
        await jobs.claim(run_id, "c")
        assert await jobs.cancel(run_id) == 2
        assert not await jobs.finish(run_id, "c", {})
        states = [job.state for job in await jobs.of_run(run_id)]
        assert states == ["done", "failed", "cancelled", "cancelled"]


async def test_of_many_changes_in_one_those_count_that_change_something(database: Database) -> None:
    run_id, other = await create(database), await create(database)
    async with database.write() as session:
        jobs = Jobs(session)
        for run in (run_id, other):
            await jobs.add(run, [(name, "probe", {}) for name in "abcde"])
        assert await jobs.claim(run_id, "b")
        assert await jobs.finish(run_id, "e", {"samples": 9})
        changed = await jobs.move_all(
            run_id, {"a", "b", "unknown"}, {"c": {"samples": 3}, "e": {"samples": 1}}
        )
        assert changed == {"a", "c"}
        states = {job.identity: (job.state, job.attempts) for job in await jobs.of_run(run_id)}
        assert states == {
            "a": ("dispatched", 1),
            "b": ("dispatched", 1),
            "c": ("done", 0),
            "d": ("pending", 0),
            "e": ("done", 0),
        }
        assert {job.identity: job.result for job in await jobs.of_run(run_id, states=["done"])} == {
            "c": {"samples": 3},
            "e": {"samples": 9},
        }
        assert {job.state for job in await jobs.of_run(other)} == {"pending"}
