"""Runs under load: what is offered, to whom, with which keys, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from leakrange.scenario.language import parse
from leakrange.scenario.limited import under_limits
from leakrange.scenario.plan import Plan
from leakrange.scenario.results import TrialResult
from leakrange.services.controller.engine.graph import RunGraph
from leakrange.services.controller.range import offers
from leakrange.services.controller.range.journal import Journal
from leakrange.services.controller.range.news import News
from leakrange.services.controller.range.offers import Chunk
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.files import put_array
from leakrange.store.runs import RunStore
from leakrange.store.trials import Trials
from leakrange.wire.tensors import NPY, encode_npy
from tests.controller.conftest import OPERATOR, SCENARIO, Api, problem
from tests.controller.parties import StoodIn, stood_in
from tests.controller.test_graph import planned, told

__all__ = ["told"]

ASKED = """\
name: asked
seeds: [0]
data: {name: digits, size: 16}
providers: {honest: {behaviour: honest, target: parity, sensitive: large}}
clients: {phones: {kind: edge, count: 2, samples: 40}}
defences: {none: [], noisy: [noise: {scale: 0.01}]}
attacks: {outside: {kind: attribute-inference, knowledge: aware}}
budgets: [20, 60]
chunk: 8
load: {users: {attribute: 2, botnet: 1}, keys: 3}
"""
CHUNKS = 8
"""Of each defence's 60 questions."""
UNKNOWN = "0" * 64
PAUSE = 0.002
"""Seconds between two looks: whoever looks all the time takes from those who are looked at."""


def under_load(text: str = ASKED) -> Plan:
    load = parse(text).load
    assert load is not None
    return under_limits(planned(text), load)


@asynccontextmanager
async def driven(run: StoodIn) -> AsyncIterator[tuple[RunGraph, asyncio.Task[None]]]:
    """The run being driven, until the block ends."""
    journal = Journal(run.run, run.database, News(run.database))
    await journal.begin(run.plan)
    graph = RunGraph(run.plan, run.parties, journal, run.settings)
    task = asyncio.create_task(graph.execute())
    try:
        yield graph, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def offered(graph: RunGraph, chunks: int) -> None:
    """Return once so many chunks wait."""
    async with asyncio.timeout(60):
        while graph.offers.waiting < chunks:  # noqa: ASYNC110 - nobody says when
            await asyncio.sleep(PAUSE)


async def asked(
    run: StoodIn, graph: RunGraph, task: asyncio.Task[None], kind: Any = "attribute", most: int = 1000
) -> list[Chunk]:
    """Take chunks and hand in answers until the run is over, or so many are answered."""
    taken: list[Chunk] = []
    while not task.done() and len(taken) < most:
        for chunk in graph.offers.take(kind, 1):
            values = np.zeros((chunk.job.samples, 2), dtype=np.float32)
            put_array(run.parties.releases, f"{chunk.identity}.npy", values)
            graph.offers.stored(chunk.identity)
            taken.append(chunk)
        await asyncio.sleep(PAUSE)
    return taken


async def test_every_chunk_is_offered_once_and_keys_share_the_budget(told: ControllerSettings) -> None:
    async with stood_in(under_load(), told) as run, driven(run) as (graph, task):
        await offered(graph, 2 * CHUNKS)
        taken = await asked(run, graph, task, "botnet")
        await task
        assert graph.offers.over
        assert len({chunk.identity for chunk in taken}) == len(taken) == 2 * CHUNKS
        assert [chunk.defence for chunk in taken[:4]] in (
            ["none", "noisy"] * 2,
            ["noisy", "none"] * 2,
        )
        keys: dict[str, int] = {}
        for chunk in taken:
            keys[chunk.job.account] = keys.get(chunk.job.account, 0) + chunk.job.samples
        assert sorted(keys.values()) == [16, 16, 20, 20, 24, 24]  # of 8, 8, ... 8 and 4 in turn
        assert len(keys) == len({chunk.key for chunk in taken}) == 6
        for account, samples in keys.items():
            assert (await run.parties.proxy.account(account)).budget == samples
        assert not [job for job in run.worker.done if job.kind == "probe"]
        assert {chunk.job.under for chunk in taken} == {run.run}


async def test_chunks_are_asked_in_order_however_they_come_and_come_back(
    told: ControllerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stood_in(under_load(), told) as run, driven(run) as (graph, _task):
        await offered(graph, 2 * CHUNKS)
        chunks = [chunk for chunk in graph.offers.take("botnet", 99) if chunk.defence == "noisy"]
    waiting = offers.Offers(run.plan.load)
    answers = [asyncio.create_task(waiting.answered(chunk)) for chunk in chunks[::-1]]
    await asyncio.sleep(0)
    first = waiting.take("botnet", 3)
    assert [chunk.job.span.start for chunk in first] == [0, 8, 16]
    monkeypatch.setattr(offers, "HELD_FOR", -1.0)
    assert waiting.take("botnet", 99) == chunks
    for chunk in chunks:
        waiting.stored(chunk.identity)
    await asyncio.gather(*answers)
    assert waiting.waiting == 0


async def test_users_get_only_what_is_theirs(told: ControllerSettings) -> None:
    async with stood_in(under_load(), told) as run, driven(run) as (graph, task):
        await offered(graph, 1)
        assert graph.offers.take("attribute", 1)[0].role == "attribute"
        assert graph.offers.take("membership", 9) == graph.offers.take("verification", 9) == []
        assert not task.done()


async def test_a_restarted_controller_offers_what_has_no_answers(told: ControllerSettings) -> None:
    async with stood_in(under_load(), told) as run:
        async with driven(run) as (graph, task):
            before = await asked(run, graph, task, most=5)
        async with driven(run) as (graph, task):
            after = await asked(run, graph, task)
            await task
        names = [chunk.identity for chunk in before + after]
        assert len(before) == 5
        assert len(names) == len(set(names)) == 2 * CHUNKS
        # every sample was received once, for the key that it was asked with
        received = [distinct for name, (_, distinct) in (await run.ledger()).items() if "attacker" in name]
        assert sum(received) == 120


async def test_what_a_dead_user_has_taken_is_offered_again(
    told: ControllerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stood_in(under_load(), told) as run, driven(run) as (graph, task):
        await offered(graph, 4)
        lost = graph.offers.take("attribute", 3)
        assert not {each.identity for each in graph.offers.take("attribute", 1)} & {
            each.identity for each in lost
        }
        monkeypatch.setattr(offers, "HELD_FOR", -1.0)
        taken = await asked(run, graph, task)
        await task
        assert {each.identity for each in lost} <= {each.identity for each in taken}


async def test_a_refusal_fails_the_trials_that_need_it_and_no_others(told: ControllerSettings) -> None:
    async with stood_in(under_load(), told) as run, driven(run) as (graph, task):
        refused = False
        while not task.done():
            for chunk in graph.offers.take("attribute", 1):
                if chunk.defence == "noisy" and not refused:
                    graph.offers.refused(chunk.identity, "HTTP 429: 0 samples remain")
                    refused = True
                    continue
                values = np.zeros((chunk.job.samples, 2), dtype=np.float32)
                put_array(run.parties.releases, f"{chunk.identity}.npy", values)
                graph.offers.stored(chunk.identity)
            await asyncio.sleep(PAUSE)
        await task
        async with run.database.read() as session:
            found = await Trials(session).of_run(run.run)
        results = {str(each["id"]): TrialResult.model_validate(each) for each in found}
        by_defence = {(each.defence, each.state) for each in results.values()}
        assert by_defence == {("none", "done"), ("noisy", "failed")}
        errors = {each.error for each in results.values() if each.state == "failed"}
        assert errors == {"HTTP 429: 0 samples remain"}


async def test_budgets_below_a_refusal_for_good_are_judged_and_those_beyond_are_not_reached(
    told: ControllerSettings,
) -> None:
    text = ASKED.replace("keys: 3", "keys: 2, limits: {small: [{kind: global, samples: 32}]}")
    async with stood_in(under_load(text), told) as run, driven(run) as (graph, task):
        await offered(graph, 2 * CHUNKS)
        asked_for: dict[str, int] = {}
        while not task.done():
            for chunk in graph.offers.take("attribute", 1):
                asked_for[chunk.defence] = asked_for.get(chunk.defence, 0) + 1
                if chunk.defence == "noisy.small" and asked_for["noisy.small"] > 4:
                    graph.offers.refused(chunk.identity, "HTTP 429", f"{run.run}.honest-s0.noisy.small.0")
                    continue
                values = np.zeros((chunk.job.samples, 2), dtype=np.float32)
                put_array(run.parties.releases, f"{chunk.identity}.npy", values)
                graph.offers.stored(chunk.identity)
            await asyncio.sleep(PAUSE)
        await task
        async with run.database.read() as session:
            found = await Trials(session).of_run(run.run)
        results = [TrialResult.model_validate(each) for each in found]
        assert {(each.defence, each.budget): each.state for each in results} == {
            ("none.small", 20): "done",
            ("none.small", 60): "done",
            ("noisy.small", 20): "done",
            ("noisy.small", 60): "refused",
        }
        [beyond] = [each for each in results if each.state == "refused"]
        said = "the limit 'small' (global) refused after 32 answers, and this budget takes 60"
        assert beyond.error == said
        # each of the two keys asked until it was refused, and no more
        assert asked_for == {"none.small": CHUNKS, "noisy.small": 4 + 2}
        [fit] = [job for job in run.worker.fits("aware") if len(job.evidence["auxiliary"]) == 3]
        assert fit.evidence["span"]["stop"] == 20  # of chunks of 8, those that hold 20
        journal = Journal(run.run, run.database, News(run.database))
        await journal.finish()
        async with run.database.read() as session:
            ended = await RunStore(session).get(run.run)
        assert (ended.state, ended.error) == ("done", None)


async def test_limits_are_compared_each_with_keys_and_answers_of_its_own(told: ControllerSettings) -> None:
    text = ASKED.replace("keys: 3", "keys: [1, 2], limits: {open: [], shared: [{kind: global, samples: 99}]}")
    async with stood_in(under_load(text), told) as run, driven(run) as (graph, task):
        await offered(graph, 8 * CHUNKS)
        taken = await asked(run, graph, task)
        await task
        names = ["", ".2keys", ".shared", ".shared.2keys"]
        keys: dict[str, set[str]] = {}
        for chunk in taken:
            keys.setdefault(chunk.defence, set()).add(chunk.job.account)
        assert {name: len(own) for name, own in keys.items()} == {
            f"{defence}{name}": 1 + name.endswith("2keys") for defence in ("none", "noisy") for name in names
        }
        assert len({chunk.identity for chunk in taken}) == len(taken) == 8 * CHUNKS
        assert {chunk.job.under for chunk in taken} == {f"{run.run}{name}" for name in names}
        for chunk in taken:
            key = await run.parties.proxy.account(chunk.job.account)
            own = [f"{run.run}.honest-s0.{chunk.defence}.0"] if "shared" in chunk.defence else []
            assert key.limits == own
        # what is counted under one defence is nothing to the other
        for defence in ("none", "noisy"):
            for name in names[2:]:
                limit = await run.parties.proxy.limit(f"{run.run}.honest-s0.{defence}{name}.0")
                assert (limit.kind, limit.model_extra) == ("global", {"samples": 99})
        async with run.database.read() as session:
            found = await Trials(session).of_run(run.run)
        ended = {(each["defence"], each["budget"], each["state"]) for each in found}
        assert ended == {(defence, budget, "done") for defence in keys for budget in (20, 60)}
        assert len(found) == len(ended)


async def test_honest_users_are_counted_as_the_scenario_says(told: ControllerSettings) -> None:
    text = ASKED.replace("botnet: 1}, keys: 3", "honest: 1}, counting: leased")
    async with stood_in(under_load(text), told) as run, driven(run) as (graph, _):
        await offered(graph, 2 * CHUNKS)
        names = [f"{run.run}.honest.honest-s0.{defence}" for defence in ("none", "noisy")]
        keys = [await run.parties.proxy.account(name) for name in names]
        assert [key.counting for key in keys] == ["leased", "leased"]


# --- the API ----------------------------------------------------------------------------------------------


def test_a_run_under_load_needs_the_section(api: Api) -> None:
    answer = api.ask("POST", "/v1/runs?load=true", key=OPERATOR, content=SCENARIO)
    body = problem(answer, 422, "invalid-scenario")
    assert "'load' is missing" in body["mistakes"][0]["message"]


@pytest.fixture
def loaded(api: Api) -> str:
    text = SCENARIO + "load: {users: {attribute: 2, honest: 1}}\n"
    answer = api.ask("POST", "/v1/runs?load=true", key=OPERATOR, content=text)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def test_only_the_operator_may_take_and_hand_in(api: Api, loaded: str) -> None:
    path = f"/v1/runs/{loaded}"
    for method, where in (
        ("GET", "/load"),
        ("POST", "/offers"),
        ("PUT", f"/releases/{UNKNOWN}"),
        ("PUT", f"/refusals/{UNKNOWN}"),
        ("PUT", "/load/part"),
    ):
        assert api.ask(method, path + where, json={"kind": "attribute"}).status_code == 401, where
    api.cancel(loaded)


def test_what_load_users_see_is_kept_with_the_run(api: Api, loaded: str) -> None:
    def ask(method: str, where: str, **more: Any) -> Any:
        return api.ask(method, f"/v1/runs/{loaded}{where}", key=OPERATOR, **more)

    view = ask("GET", "/load").json()
    assert (view["over"], view["spec"]["users"]) == (False, {"attribute": 2, "honest": 1})
    assert ask("POST", "/offers", json={"kind": "attribute"}).json()["chunks"] == []
    body = encode_npy(np.zeros((4, 2), dtype=np.float32))
    answer = ask("PUT", f"/releases/{UNKNOWN}", content=body, headers={"Content-Type": NPY})
    problem(answer, 404, "not-found")
    for answered in (3, 8):  # the second in place of the first
        line = {"defence": "none", "user": "attribute", "answered": answered, "milliseconds": {"7": answered}}
        seen = {"seconds": 2.0, "measured": [line], "errors": {"none: HTTP 502": 1}}
        assert ask("PUT", "/load/first", json=seen).status_code == 204
    assert ask("PUT", "/load/second", json={"seconds": 1.0}).status_code == 204
    found = api.get(f"/v1/runs/{loaded}/results")["load"]
    assert list(found["parts"]) == ["first", "second"]
    assert found["parts"]["first"]["measured"][0]["answered"] == 8
    assert api.ask("GET", f"/v1/runs/{loaded}/load/table").json() == []
    problem(api.ask("GET", f"/v1/runs/{loaded}/load/picture"), 404, "not-found")
    api.cancel(loaded)
    assert ask("GET", "/load").json()["over"]
    assert ask("POST", "/offers", json={"kind": "attribute"}).json() == {
        "chunks": [],
        "visits": [],
        "over": True,
    }


def test_a_plain_run_is_not_under_load(api: Api) -> None:
    run = api.start()
    answer = api.ask("GET", f"/v1/runs/{run}/load", key=OPERATOR)
    assert "not under load" in problem(answer, 409, "conflict")["detail"]
    assert api.get(f"/v1/runs/{run}/results")["load"] is None
    api.cancel(run)
