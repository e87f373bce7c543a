"""A scenario is planned part by part: all of it becomes a run, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import httpx
import pytest

from leakrange.scenario.language import parse
from leakrange.scenario.matrix import Expansion, expand
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import PlannedTrial
from leakrange.services.controller.runs import service
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.engine import Database
from leakrange.store.runs import RunStore
from leakrange.store.trials import Trials
from tests.controller.conftest import SCENARIO, TRIALS, Api, problem, serve
from tests.controller.events import events


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three trials at a time."""
    monkeypatch.setattr(service, "AT_ONCE", 3)


@pytest.mark.usefixtures("few")
async def test_parts_make_the_run_that_the_whole_would_make(
    settings: Callable[..., ControllerSettings],
) -> None:
    mine = settings()
    with serve(mine) as url, httpx.Client(base_url=url, timeout=60) as client:
        api = Api(client)
        run = api.start()
        assert api.get(f"/v1/runs/{run}")["trials"]["total"] == TRIALS
        api.cancel(run)
        assert next(events(client, run))["event"] == "run.queued"
    database = Database(mine.database_url)
    async with database.read() as session:
        stored = [trial for _, trial in await Trials(session).planned(run)]
        rest = await RunStore(session).plan(run)
        cancelled = await Trials(session).of_run(run)
    await database.close()
    plan = expand(parse(SCENARIO))
    assert [PlannedTrial.stored(each) for each in stored] == plan.trials
    assert rest == plan.dumped()
    assert {each["state"] for each in cancelled} == {"cancelled"}


@pytest.mark.usefixtures("few")
def test_a_mistake_behind_the_first_part_leaves_no_run(
    settings: Callable[..., ControllerSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Expansion.__iter__

    def broken(self: Expansion) -> Iterator[PlannedTrial]:
        for number, trial in enumerate(whole(self)):
            if number == TRIALS - 1:
                Mistakes().refuse((), "no more data")
            yield trial

    monkeypatch.setattr(Expansion, "__iter__", broken)
    with serve(settings()) as url, httpx.Client(base_url=url, timeout=60) as client:
        problem(Api(client).post(), 422, "invalid-scenario")
        assert Api(client).get("/v1/runs")["runs"] == []


def test_a_run_whose_planning_was_cut_off_fails_and_says_what_to_do(
    settings: Callable[..., ControllerSettings],
) -> None:
    mine = settings()
    with serve(mine):
        pass

    async def begun() -> str:
        database = Database(mine.database_url)
        async with database.write() as session:
            run = await RunStore(session).create("half", scenario_yaml=SCENARIO, scenario={})
            await Trials(session).add(run.id, [("a", {"id": "a", "state": "queued"})], [{}])
        await database.close()
        return run.id

    run = asyncio.run(begun())
    with serve(mine) as url, httpx.Client(base_url=url, timeout=60) as client:
        assert list(events(client, run))  # ends with the run
        view = Api(client).get(f"/v1/runs/{run}")
    assert view["state"] == "failed"
    assert "was not planned to its end: run its scenario again" in view["error"]
