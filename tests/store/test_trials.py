"""Truth is registered once, a trial is there once, a model is recorded once."""

import asyncio
from typing import Any

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
        await trials.put(run_id, {"a": ({"state": "done"}, None)})
        await trials.put(run_id, {"a": ({"state": "done", "curiosity": 0.5}, 0.5)})
        assert await trials.add(run_id, [("a", {"state": "queued"})]) == 0
    async with database.read() as session:
        expected = [{"state": "queued"}, {"state": "done", "curiosity": 0.5}]
        assert await Trials(session).of_run(run_id) == expected


async def test_the_cells_of_the_largest_budgets_are_those_of_verdicts(database: Database) -> None:
    """The largest budget that was measured, of each attack on each attribute; whole cells, in the order of
    the matrix."""
    run_id, other = await create(database), await create(database)
    planned = [  # defence, knowledge, budget, hidden attribute, and how many of two seeds have a value
        ("none", "aware", 9, "s", 2),
        ("none", "aware", 10, "s", 1),
        ("none", "aware", 100, "s", 0),
        ("none", "unaware", 10, "s", 2),
        ("none", "aware", 9, "t", 1),
        ("noise", "aware", 9, "s", 1),
    ]
    rows: list[tuple[dict[str, Any], float | None]] = []
    for seed in (1, 0):
        for defence, knowledge, budget, hidden, values in planned:
            result = {
                "id": f"{defence}.{knowledge}.{budget}.{hidden}.{seed}", "state": "done", "provider": "p",
                "defence": defence, "attack": "a", "knowledge": knowledge, "budget": budget,
                "sensitive": hidden,
            }  # fmt: skip
            rows.append((result, 0.5 if seed < values else None))
    for run in (run_id, other):
        async with database.write() as session:
            await Trials(session).add(run, [(result["id"], result) for result, _ in rows])
            await Trials(session).put(run, {result["id"]: (result, value) for result, value in rows})
    async with database.read() as session:
        cells = await Trials(session).at_largest_budgets(run_id)
        assert cells == {
            ("p", "noise", "a", "aware, 9, s"): 2,
            ("p", "none", "a", "aware, 10, s"): 2,
            ("p", "none", "a", "unaware, 10, s"): 2,
            ("p", "none", "a", "aware, 9, t"): 2,
        }
        results = await Trials(session).of_cells(run_id, cells)
    kept = ("none.aware.10.s", "none.unaware.10.s", "none.aware.9.t", "noise.aware.9.s")
    assert [each["id"] for each in results] == [f"{name}.{seed}" for seed in (1, 0) for name in kept]


async def test_trials_are_read_in_parts_summed_up_and_cancelled(database: Database) -> None:
    run_id, other = await create(database), await create(database)
    area = {("p", "none"): (0.5, 0.7), ("p", "noise"): (0.9, 0.6), ("q", "none"): (0.8,)}

    def result(provider: str, defence: str, seed: int, budget: int = 10) -> dict[str, Any]:
        name = f"{provider}.{defence}.b{budget}.s{seed}"
        metrics = {"auc": {"value": 0.5, "low": 0.4 if seed else None}, "nag": {"value": 1, "low": None}}
        return {
            "id": name, "state": "done", "provider": provider, "defence": defence, "attack": "a",
            "knowledge": "aware", "budget": budget, "sensitive": "s", "error": None, "metrics": metrics,
        }  # fmt: skip

    rows = [result(*party, seed) for party, values in area.items() for seed in range(len(values))]
    rows.append(result("p", "noise", 0, 20))
    values = dict(
        zip([each["id"] for each in rows], [v for each in area.values() for v in each], strict=False)
    )
    async with database.write() as session:
        trials = Trials(session)
        queued = [(each["id"], each | {"state": "queued", "metrics": {}}) for each in rows]
        await trials.add(run_id, queued, [{"model": each["id"]} for each in rows])
        await trials.add(other, [("x", result("p", "none", 0))])
        await trials.put(run_id, {each["id"]: (each, values[each["id"]]) for each in rows[:-1]})
        await trials.cancel(run_id)
    async with database.read() as session:
        trials = Trials(session)
        assert await trials.of_run(run_id) == [*rows[:-1], rows[-1] | {"state": "cancelled", "metrics": {}}]
        first = await trials.page(run_id, limit=2)
        second = await trials.page(run_id, {"provider": ["p"], "defence": ()}, after=first[-1][0])
        assert [each["id"] for _, each in (*first, *second)] == [
            "p.none.b10.s0", "p.none.b10.s1", "p.noise.b10.s0", "p.noise.b10.s1", "p.noise.b20.s0"
        ]  # fmt: skip
        [(_, left)] = await trials.planned(run_id, but=["done"])
        assert left["model"] == left["result"]["id"] == "p.noise.b20.s0"
        assert (left["result"]["state"], left["result"]["metrics"]) == ("queued", {})
        worst = [(each.provider, each.defence, each.rest, each.seeds) for each in await trials.worst(run_id)]
        assert worst == [
            ("q", "none", "aware, 10, s", 1),
            ("p", "noise", "aware, 10, s", 2),
            ("p", "none", "aware, 10, s", 2),
        ]  # fmt: skip
        single, noise, none = await trials.worst(run_id)
        assert (single.mean, single.deviation) == (0.8, None)
        assert (noise.mean, noise.deviation) == pytest.approx((0.75, 0.15 * 2**0.5))
        assert (none.mean, none.deviation) == pytest.approx((0.6, 0.1 * 2**0.5))
        assert await trials.measured(run_id) == {"auc": True, "nag": False}
        assert await trials.measured(run_id, {"provider": ["q"]}) == {"auc": False, "nag": False}
        assert await trials.choices(run_id) == {
            "provider": {"p": 5, "q": 1}, "defence": {"none": 3, "noise": 3}, "attack": {"a": 6}
        }  # fmt: skip
        assert await trials.count(run_id, {"defence": ["noise"]}) == 3
        assert await trials.first_error(run_id, "done", "cancelled") is None
        assert await trials.tally([run_id, other]) == {
            run_id: {"done": 5, "cancelled": 1},
            other: {"done": 1},
        }


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
