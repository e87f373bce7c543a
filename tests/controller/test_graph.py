"""The graph of a run by itself: what a run asks of its parties, and what it makes of what they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import select

from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, Subset, TrainingRecipe
from leakrange.jobs.steps.probe import PROBE
from leakrange.jobs.steps.show import ShowJob
from leakrange.jobs.steps.train import TrainJob
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan, PlannedTrial
from leakrange.scenario.results import TrialResult
from leakrange.scenario.stored_trial import StoredTrial
from leakrange.services.controller.engine import engine, graph, judging
from leakrange.services.controller.engine.engine import Begin, Ended, Engine, Work
from leakrange.services.controller.engine.graph import RunGraph
from leakrange.services.controller.engine.how import device
from leakrange.services.controller.engine.how.fleet import stacks
from leakrange.services.controller.range import journal
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import StepRecord
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.events import Events
from leakrange.store.tables import EventRow
from leakrange.wire.errors import StorageFull
from leakrange.wire.events import Purpose
from tests.controller.parties import stood_in
from tests.databases import Databases

SCENARIO = """\
name: small
seeds: [0]
data: {name: digits, size: 16}
providers:
  honest: {behaviour: honest, target: parity, sensitive: large}
  curious: {behaviour: curious, method: parameterized, target: parity, sensitive: large, release: logits}
clients:
  phones: {kind: edge, count: 2, samples: 40}
defences:
  none: []
  noisy: [noise: {scale: 0.01}]
attacks:
  inside: {kind: curious-decoder}
  outside: {kind: attribute-inference, auxiliary: 30, repeats: 3}
budgets: [90]
chunk: 25
"""
MEMBERSHIP = """\
name: membership
seeds: [0]
data: {name: digits, size: 16, subset: {pool: 60}}
schedule: {select: last}
providers: {overfitted: {target: parity}}
clients: {phones: {kind: edge, count: 2, samples: 40}}
defences: {none: [], noisy: [noise: {scale: 0.01}]}
attacks:
  loss: {kind: loss-threshold, repeats: 3}
  rmia: {kind: rmia, shadows: 2, population: 20, repeats: 3}
budgets: [300]
chunk: 50
"""


def planned(text: str) -> Plan:
    def sizes(spec: DataSpec) -> dict[str, int]:
        return {"train": 100, "held-out": 30, "pool": 60, "validation": 50, "auxiliary": 60, "test": 60}

    return expand(parse(text), sizes)


@pytest.fixture
def told(
    settings: Callable[..., ControllerSettings], databases: Databases, empty_redis_url: str
) -> ControllerSettings:
    """Settings of a controller with a migrated database and a Redis of its own."""
    return settings(database_url=databases.migrated("sqlite"), redis_url=empty_redis_url)


async def test_a_run_is_judged_by_what_its_users_sent_and_got(told: ControllerSettings) -> None:
    async with stood_in(planned(SCENARIO), told) as run:
        results = await run.execute()
        assert {each.state for each in results.values()} == {"done"}, results
        # Of forty users four get a wrong answer; the decoder reads large off every output.
        assert {each.value("honesty") for each in results.values()} == {0.9}
        inside = [each for each in results.values() if each.attack == "inside"]
        assert {(each.value("curiosity"), each.victims, each.spent) for each in inside} == {(1.0, 40, 40)}
        # Two sessions of every stream, each paid once, by the users' keys and by nobody else's.
        spent = await run.ledger()
        assert spent["users.curious-s0.none.u0"] == (40, 40)
        asked = {name: own for name, own in spent.items() if not name.startswith("users.")}
        assert asked["attacker.honest-s0.none.q0"] == (0, 30)  # the stand-in made up what it was not asked


async def test_a_restarted_controller_asks_nothing_again(told: ControllerSettings) -> None:
    async with stood_in(planned(SCENARIO), told) as run:
        first = await run.execute()
        sessions, jobs = len(run.phones.sessions), len(run.worker.done)
        assert await run.execute() == first
        assert (len(run.phones.sessions), len(run.worker.done)) == (sessions, jobs)


def figures(results: Mapping[str, TrialResult]) -> dict[str, Any]:
    """What noise does not change."""
    kept = ("honesty", "curiosity", "auc")
    return {name: (each.state, each.spent, *map(each.value, kept)) for name, each in results.items()}


async def test_few_trials_and_steps_in_memory_give_the_same_results(
    told: ControllerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stood_in(planned(SCENARIO), told) as run:
        whole = await run.execute()
    under_way, most, judged = set[str](), list[int](), RunGraph._trial

    async def counted(self: RunGraph, trial: PlannedTrial) -> None:
        under_way.add(trial.result.id)
        most.append(len(under_way))
        await judged(self, trial)
        under_way.discard(trial.result.id)

    monkeypatch.setattr(RunGraph, "_trial", counted)
    for module, bound, value in ((graph, "AT_ONCE", 3), (graph, "UPLOADS", 1), (engine, "REMEMBERED", 1)):
        monkeypatch.setattr(module, bound, value)
    monkeypatch.setattr(journal, "A_PAGE", 2)
    async with stood_in(planned(SCENARIO), told) as run:
        assert figures(await run.execute()) == figures(whole)
        assert max(most) == 3
        assert len(most) == len(whole) > 6
        async with run.database.read() as session:
            events = await Events(session).after(run.run, 0)
        done = [event.data["identity"] for event in events if event.kind == "job.done"]
        assert len(done) == len(set(done))
        sent = [job.identity() for job in run.worker.done]
        assert len(sent) == len(set(sent))


async def test_who_averages_gets_every_draw_of_every_chunk(told: ControllerSettings) -> None:
    async with stood_in(planned(SCENARIO), told) as run:
        await run.execute()
        for knowledge, times in (("aware", 1), ("averaging", 3)):
            jobs = run.worker.fits(knowledge)
            assert len(jobs) == 2  # one of each provider
            for job in jobs:
                auxiliary, observed = job.evidence["auxiliary"], job.evidence["observed"]
                assert [len(draws) for draws in auxiliary] == [times, times]
                assert [len(draws) for draws in observed] == [times, times]
                every = [name for draws in (*auxiliary, *observed) for name in draws]
                assert len(set(every)) == len(every)


@pytest.mark.parametrize(("looks", "sent"), [((False, False), {"j1"}), ((False, True), set())])
async def test_what_another_run_has_finished_meanwhile_is_not_paid_by_this_one(
    looks: tuple[bool, ...], sent: set[str]
) -> None:
    """It is looked up when it is expected, and taken later, when there is room."""
    stored = iter(looks)
    parties = cast(Parties, SimpleNamespace(proxy=None, keeper=SimpleNamespace(want=None)))
    engine = Engine(parties, StepRecord("r1"))

    async def do(begin: Begin) -> None:
        await begin()

    work = Work(
        step=PROBE,
        identity="j1",
        purpose=Purpose(),
        failing="asking",
        stored=lambda: next(stored),
        do=do,
        ended=lambda _already, _outcome: Ended("asked"),
        read=lambda: None,
    )
    await engine.carry_out(work)
    assert engine.sent == sent


@pytest.mark.parametrize("wrong", ["decisions", "values"])
async def test_a_provider_and_users_who_disagree_are_not_believed(
    told: ControllerSettings, wrong: str
) -> None:
    """Whichever of the two is mistaken: figures of such a session would be about other outputs."""

    def other(record: dict[str, Any]) -> None:
        if wrong == "decisions":
            record["decisions"] = [1 - record["decisions"][0], *record["decisions"][1:]]
        else:
            record["values"] = record["values"][:-1]

    async with stood_in(planned(SCENARIO), told) as run:
        run.providers["curious"].misremembers = other
        results = await run.execute()
        for each in results.values():
            if each.provider == "curious":
                assert each.state == "failed"
                assert "provider and edge client disagree about upload" in str(each.error)
                assert each.metrics == {}
            else:
                assert each.state == "done"


async def test_what_is_paid_for_and_cannot_be_kept_ends_the_run(
    told: ControllerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No trial of it is judged, and no other session is asked for."""

    def full(*_: object) -> None:
        raise StorageFull("no room in the folder of releases")

    monkeypatch.setattr(device, "put_session", full)
    async with stood_in(planned(SCENARIO), told) as run:
        with pytest.raises(BaseExceptionGroup) as ended:
            await run.execute()
        assert ended.group_contains(StorageFull)


async def test_an_attack_on_members_is_told_all_that_it_had_answered(told: ControllerSettings) -> None:
    """Sixty records of the pool and twenty of the population, three times over where it averages."""
    async with stood_in(planned(MEMBERSHIP), told, members=range(30)) as run:
        results = await run.execute()
        assert {each.state for each in results.values()} == {"done"}, results
        spent = {(each.defence, each.attack, each.knowledge): each.spent for each in results.values()}
        assert spent == {
            ("none", "loss", "unaware"): 60,
            ("noisy", "loss", "unaware"): 60,
            ("noisy", "loss", "aware"): 60,
            ("noisy", "loss", "averaging"): 180,
            ("none", "rmia", "unaware"): 80,
            ("noisy", "rmia", "unaware"): 80,
            ("noisy", "rmia", "aware"): 80,
            ("noisy", "rmia", "averaging"): 240,
        }
        assert {each.victims for each in results.values()} == {30}


async def test_trials_are_judged_alike_in_other_processes(
    told: ControllerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large run all but the first are; they read the members that a model's record tells."""
    async with stood_in(planned(MEMBERSHIP), told, members=range(30)) as run:
        whole = await run.execute()
    here, judged = list[str](), StoredTrial.judged

    def noted(trial: StoredTrial) -> TrialResult:
        here.append(trial.planned.result.id)
        return judged(trial)

    monkeypatch.setattr(judging, "HERE", 3)
    monkeypatch.setattr(StoredTrial, "judged", noted)
    async with stood_in(planned(MEMBERSHIP), told, members=range(30)) as run:
        results = await run.execute()
    assert {each.state for each in results.values()} == {"done"}
    assert figures(results) == figures(whole)
    assert len(here) == 3 < len(results)


async def test_shadows_are_trained_together_and_each_shows_all_by_one_job(told: ControllerSettings) -> None:
    """Two shadows are one job, for whose model of the target there is another; and each shows the records
    and the population at once, but once alone, since the plain loss is tried on records only."""
    async with stood_in(planned(MEMBERSHIP), told, members=range(30)) as run:
        results = await run.execute()
        assert {each.state for each in results.values()} == {"done"}, results
        trains = [job for job in run.worker.done if isinstance(job, TrainJob)]
        shows = [job for job in run.worker.done if isinstance(job, ShowJob)]
        assert sorted(len(job.recipes) for job in trains) == [1, 2]
        assert {job.recipe.digest() for job in shows} == {
            recipe.digest() for job in trains for recipe in job.recipes if len(job.recipes) == 2
        }
        assert sorted(len(job.apart()) for job in shows) == [2, 2]


async def test_what_is_no_faster_together_is_trained_alone_and_begins_once(told: ControllerSettings) -> None:
    """The fleet leaves the two shadows apart: each is trained by a job of its own, as the target is."""
    async with stood_in(planned(MEMBERSHIP), told, members=range(30)) as run:
        run.worker.apart = True
        results = await run.execute()
        assert {each.state for each in results.values()} == {"done"}, results
        trains = [job for job in run.worker.done if isinstance(job, TrainJob)]
        assert sorted(len(job.recipes) for job in trains) == [1, 1, 1, 2]
        async with run.database.read() as session:
            started = await session.scalars(select(EventRow.data).where(EventRow.kind == "job.started"))
            begun = Counter(each["identity"] for each in started if each["kind"] == "train")
        assert len(begun) == 3
        assert set(begun.values()) == {1}, begun


def test_only_models_that_differ_in_seeds_and_draws_are_a_stack() -> None:
    """Of 70 models of one form 64 are trained together; another net is a stack of its own, a single model
    none."""

    def recipe(number: int, net: str = "mlp") -> TrainingRecipe:
        data = DataSpec(name="synthtable", subset=Subset(pool=100, seed=number // 2, rest=bool(number % 2)))
        return TrainingRecipe(data=data, behaviour="honest", net=NetSpec(name=net), seed=number)

    many = [recipe(number) for number in range(70)]
    others = [recipe(number, "linear") for number in range(3)]
    longer = many[0].model_copy(update={"schedule": Schedule(epochs=99)})
    jobs = stacks([*many, longer, *others])
    assert sorted(len(job.recipes) for job in {id(each): each for each in jobs.values()}.values()) == [
        3,
        6,
        64,
    ]
    assert longer.digest() not in jobs
    assert all(each in jobs[each.digest()].recipes for each in (*many, *others))
