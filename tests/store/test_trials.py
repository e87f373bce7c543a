"""Truth is registered once, a trial is there once, a model is recorded once."""

import asyncio

import pytest
from sqlalchemy import func, select

from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.store.engine import Database
from leakrange.store.models import NEWEST, Models
from leakrange.store.tables import TruthRow
from leakrange.store.trials import Ledger, Trials, Truths
from leakrange.wire.errors import NotFound
from tests.store.test_runs import create, told


async def test_the_first_truth_stands(database: Database) -> None:
    run_id, other = await create(database), await create(database)

    async def add(number: int) -> bool:
        async with database.write() as session:
            return await Truths(session).add(run_id, "upload", told(number))

    added = await asyncio.gather(*(add(number) for number in range(8)))
    assert sum(added) == 1
    async with database.read() as session:
        truth = await Truths(session).get(run_id, "upload")
        assert truth.labels == {"y": [added.index(True)]}
        assert truth.decisions == [added.index(True)]
        assert (truth.input_bytes, truth.sent_bytes) == (9, 3)
        assert await session.scalar(select(func.count()).select_from(TruthRow)) == 1
        with pytest.raises(NotFound):
            await Truths(session).get(other, "upload")


async def test_a_trial_is_never_there_twice(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        trials = Trials(session)
        assert await trials.add(run_id, [("b", {"state": "queued"}), ("a", {"state": "queued"})]) == 2
        await trials.put(run_id, "a", {"state": "done"})
        await trials.put(run_id, "a", {"state": "done", "curiosity": 0.5})
        assert await trials.add(run_id, [("a", {"state": "queued"})]) == 0
    async with database.read() as session:
        expected = [{"state": "queued"}, {"state": "done", "curiosity": 0.5}]
        assert await Trials(session).of_run(run_id) == expected


async def test_an_account_that_is_opened_again_stays_as_it_is(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        ledger = Ledger(session)
        assert await ledger.open(run_id, "a", policy="p", budget=10)
        [entry] = await ledger.of_run(run_id)
        entry.spent, entry.distinct = 3, 2
        assert not await ledger.open(run_id, "a", policy="p", budget=10)
    async with database.read() as session:
        accounts = [(e.name, e.spent, e.distinct) for e in await Ledger(session).of_run(run_id)]
    assert accounts == [("a", 3, 2)]


async def test_the_ledger_keeps_the_latest_account(database: Database) -> None:
    run_id = await create(database)
    for spent in (1, 10):
        async with database.write() as session:
            ledger = Ledger(session)
            for name in "ba":
                await ledger.open(run_id, name, policy="p", budget=10)
            (await ledger.of_run(run_id))[1].spent = spent
    async with database.read() as session:
        accounts = [(e.name, e.spent) for e in await Ledger(session).of_run(run_id)]
    assert accounts == [("a", 0), ("b", 10)]


async def test_a_model_is_recorded_once_under_its_recipe(database: Database) -> None:
    recipe = TrainingRecipe(data=DataSpec(name="digits"), behaviour="honest", parameters={"target": "parity"})
    async with database.write() as session:
        models = Models(session)
        assert await models.add(recipe, {"honesty": 0.9})
        assert not await models.add(recipe, {"honesty": 0.1})
        assert await models.add(recipe.model_copy(update={"seed": 1}), {"honesty": 0.8})
    async with database.read() as session:
        model = await Models(session).get(recipe.digest())
        assert model.figures == {"honesty": 0.9}
        assert TrainingRecipe.model_validate(model.recipe) == recipe
        assert len(await Models(session).page()) == 2
        assert [m.seed for m in await Models(session).page(limit=1)] == [1]
        with pytest.raises(NotFound):
            await Models(session).get("0" * 64)


async def test_models_are_looked_up_by_their_digests_and_by_what_they_are_like(database: Database) -> None:
    recipe = TrainingRecipe(data=DataSpec(name="digits"), behaviour="honest", parameters={"target": "parity"})
    recipes = [recipe.model_copy(update={"seed": seed}) for seed in range(NEWEST + 3)]
    async with database.write() as session:
        for each in recipes:
            await Models(session).add(each, {"seconds": 2.0 + each.seed})
        await Models(session).add(recipe.model_copy(update={"behaviour": "vicious"}), {"seconds": 90.0})
        await Models(session).add(recipe.model_copy(update={"seed": 99}), {})  # without its time
    absent = [f"{number:064x}" for number in range(1200)]
    async with database.read() as session:
        known = await Models(session).known([*absent, recipes[1].digest(), recipes[2].digest()])
        alike = await Models(session).like({("digits", "honest"), ("utkface", "honest")})
    assert known == {recipes[1].digest(), recipes[2].digest()}
    assert {each.behaviour for each, _ in alike} == {"honest"}
    assert all(seconds == 2.0 + each.seed for each, seconds in alike)
    assert NEWEST - 1 <= len(alike) <= NEWEST
