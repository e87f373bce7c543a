"""The graph of a run by itself: what a run asks of its parties, and what it makes of what they answer."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.steps.probe import PROBE
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.services.controller.engine.engine import Begin, Ended, Engine, Work
from leakrange.services.controller.engine.how import device
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import StepRecord
from leakrange.services.controller.settings import ControllerSettings
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
