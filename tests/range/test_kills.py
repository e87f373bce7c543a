"""Parties that are killed in the middle of a run, and runs that are cancelled: nothing is lost or double."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from leakrange.clients.cli.embedded.process import kill_group
from leakrange.jobs.orders import LEASE
from leakrange.service.parties import REDIS, SERVERS
from tests.controller.conftest import NOWHERE
from tests.embedded import EmbeddedRange, wait_for
from tests.range.conftest import (
    PATIENCE,
    Controller,
    Finished,
    another,
    job,
    rounded,
    scenario,
    second,
    significant,
)

pytestmark = pytest.mark.timeout(900)
SMALL_CHUNKS = {"chunk": 4}
"""48 requests of an attacker: it is killed long before the last."""

HOURS = {"epochs": 1000, "batch": 8}
"""A training that is not over by itself while a test looks at it, however slow the machine is."""


@pytest.fixture(autouse=True)
def ready_afterwards(embedded_range: EmbeddedRange) -> Iterator[None]:
    """The next test finds every party at its place."""
    yield
    wait_for(
        lambda: all(party.state == "ready" for party in embedded_range.record.parties),
        "every party to be ready again",
        PATIENCE,
    )


def kill(embedded: EmbeddedRange, name: str) -> None:
    """``kill -9`` of a party with all its children; over when the launcher has seen it, since a short run may
    be over before."""
    pid, before = embedded.pid(name), restarts(embedded, name)
    assert pid is not None
    kill_group(pid, signal.SIGKILL)
    wait_for(lambda: restarts(embedded, name) > before, f"the launcher to miss {name}", PATIENCE)


def restarts(embedded: EmbeddedRange, name: str) -> int:
    return embedded.record.party(name).restarts


def test_a_killed_attacker_loses_nothing_and_pays_nothing_twice(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    before = restarts(embedded_range, "attacker-1")
    run = controller.start(scenario("attacker-killed", defences=rounded(2), **SMALL_CHUNKS))
    controller.until(run, job("probe"))
    kill(embedded_range, "attacker-1")
    over = controller.finished(run)
    over.check(2)
    assert over.view["jobs"]["probe"]["total"] == 48
    assert over.account("attacker", "honest-s0.round-2.q0")["spent"] == 192
    assert restarts(embedded_range, "attacker-1") == before + 1


def test_a_killed_controller_goes_on_where_it_was(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    before = restarts(embedded_range, "controller")
    run = controller.start(scenario("controller-killed", defences=rounded(3), **SMALL_CHUNKS))
    heard = []
    for event in controller.follow(run):
        heard.append(event)
        if job("probe")(event):
            kill(embedded_range, "controller")
            break
    over = controller.finished(run)  # from the first event on
    over.check(2)
    assert over.events[: len(heard)] == heard
    assert over.view["jobs"]["stream"]["total"] == 2 * 48
    assert over.account("attacker", "honest-s0.round-3.q0")["spent"] == 192
    assert restarts(embedded_range, "controller") == before + 1


def test_a_provider_that_is_killed_is_waited_for(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    """Or, on a machine on which it takes long to come back, named in the failure. Never a hang."""
    before = restarts(embedded_range, "provider-curious")
    run = controller.start(
        scenario("provider-killed", defences=rounded(4), attacks={"inside": {"kind": "curious-decoder"}})
    )
    controller.until(run, job("stream"))
    kill(embedded_range, "provider-curious")
    over = controller.finished(run)
    assert restarts(embedded_range, "provider-curious") == before + 1
    if over.view["state"] == "done":
        over.check(1)
    else:
        [trial] = over.trials.values()
        assert trial["state"] == "failed"
        assert "provider" in trial["error"]
        assert trial["error"] in over.view["error"]


def test_trials_of_a_provider_that_stays_away_fail_by_its_name_and_the_others_go_on(
    first: Finished,
    embedded_range: EmbeddedRange,
    tmp_path: Path,
) -> None:
    with another(embedded_range, second(embedded_range, tmp_path, curious=NOWHERE, attempts=2)) as other:
        over = other.run(scenario("provider-away", defences=rounded(5)))
    assert over.view["state"] == "failed"
    outcomes = {trial["attack"]: trial for trial in over.trials.values()}
    assert outcomes["outside"]["state"] == "done"
    assert outcomes["inside"]["state"] == "failed"
    assert outcomes["inside"]["error"].startswith(f"the curious provider: no answer from {NOWHERE}")
    assert outcomes["inside"]["error"] in over.view["error"]
    assert over.events[-1]["data"]["state"] == "failed"


@pytest.mark.parametrize("end", ["done", "cancelled", "failed"])
def test_a_run_that_was_gone_on_with_has_a_ledger_of_all_its_keys_however_it_ends(
    first: Finished, embedded_range: EmbeddedRange, tmp_path: Path, end: str
) -> None:
    """Those too that only trials have used which were judged before the restart."""
    defence = rounded({"done": 6, "cancelled": 7, "failed": 8}[end])
    without = second(embedded_range, tmp_path, curious=NOWHERE, attempts=1000)
    with another(embedded_range, without) as other:
        run = other.start(scenario(f"goes-on-{end}", defences=defence))
        other.until(run, lambda event: event["event"] == "trial.done")
    if end == "failed":
        with sqlite3.connect(tmp_path / "other.sqlite") as database:  # planned by another version
            database.execute("UPDATE plans SET plan = json_set(plan, '$.form', 1)")
    curious = embedded_range.record.url("provider-curious") if end == "done" else NOWHERE
    again = second(embedded_range, tmp_path, curious=curious, attempts=1000)
    with another(embedded_range, again) as other:
        if end == "cancelled":
            other.ask("DELETE", f"/v1/runs/{run}")
        over = other.finished(run)
        report = other.ask("GET", f"/v1/runs/{run}/report").text
    assert over.view["state"] == end
    [name] = defence
    keys = {f"{run}.attacker.honest-s0.{name}.q0", f"{run}.users.honest-s0.{name}.u0"}
    if end == "done":
        over.check(2)
        keys.add(f"{run}.users.curious-s0.{name}.u0")
    ledger = {entry["name"]: (entry["spent"], entry["distinct"]) for entry in over.results["ledger"]}
    assert ledger == dict.fromkeys(keys, (192, 192))
    assert "no API key was used" not in report


def test_a_run_that_loses_redis_data_says_so_and_can_be_started_again(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    text = scenario("redis-emptied", defences=significant(1), **SMALL_CHUNKS)
    run = controller.start(text)
    controller.until(run, job("probe"))
    before = restarts(embedded_range, REDIS)
    pid = embedded_range.pid(REDIS)
    assert pid is not None
    kill_group(pid, signal.SIGKILL)
    shutil.rmtree(embedded_range.folder.of_redis(REDIS) / "appendonlydir")
    over = controller.finished(run)
    assert over.view["state"] == "failed"
    assert "Redis has lost its data" in over.view["error"]
    assert "Start the run again" in over.view["error"]
    wait_for(lambda: restarts(embedded_range, REDIS) > before, "the launcher to miss redis", PATIENCE)
    again = controller.run(text)
    assert again.view["state"] == "done", again.view["error"]
    assert 0 < again.account("attacker", "honest-s0.figures-1.q0")["spent"] < 192  # the rest was stored


def test_each_redis_is_killed_and_then_a_worker_and_nobody_has_to_lend_a_hand(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    launcher = embedded_range.record.launcher
    run = controller.start(scenario("redis-killed", defences=significant(2), **SMALL_CHUNKS))
    controller.until(run, job("probe"))
    for name in (*SERVERS, "attacker-1"):
        kill(embedded_range, name)
    over = controller.finished(run)
    over.check(2)
    assert over.account("attacker", "honest-s0.figures-2.q0")["spent"] == 192
    assert embedded_range.record.launcher == launcher


def test_trainer_edge_clients_and_proxy_are_killed_in_one_run(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    run = controller.start(scenario("three-killed", seeds=[3], schedule={"epochs": 24}, **SMALL_CHUNKS))
    trainer = embedded_range.pid("trainer")
    assert trainer is not None
    wait_for(lambda: bool(_trainings(trainer)), "a training to begin", PATIENCE)
    kill(embedded_range, "trainer")
    for moment, name in (("stream", "edge"), ("probe", "proxy")):
        controller.until(run, job(moment))
        kill(embedded_range, name)
    over = controller.finished(run)
    over.check(2)
    assert over.view["jobs"]["train"]["total"] == 2
    assert [entry["spent"] for entry in over.results["ledger"]] == [192] * 3


def test_a_cancelled_run_frees_its_workers(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    run = controller.start(scenario("cancelled", seeds=[1], schedule=HOURS))
    trainer = embedded_range.pid("trainer")
    assert trainer is not None
    wait_for(lambda: bool(_trainings(trainer)), "a training to begin", PATIENCE)
    view = controller.ask("DELETE", f"/v1/runs/{run}").json()
    assert view["state"] == "cancelled"
    wait_for(lambda: not _trainings(trainer), "the training to be stopped", PATIENCE)
    over = controller.finished(run)
    assert {trial["state"] for trial in over.trials.values()} == {"cancelled"}
    assert over.events[-1]["event"] == "run.finished"
    assert over.events[-1]["data"]["state"] == "cancelled"
    assert embedded_range.pid("trainer") == trainer
    with redis.Redis.from_url(embedded_range.redis_url("operator")) as broker:
        wait_for(lambda: not any(broker.llen(queue) for queue in ("train", "probe", "fit")), "empty queues")
        wait_for(lambda: not broker.keys(LEASE.format(identity="*")), "no job in any worker's hands")
    inside = {"inside": {"kind": "curious-decoder"}}
    controller.run(scenario("next", seeds=[2], schedule={"epochs": 1}, attacks=inside)).check(1)


def _trainings(trainer: int) -> list[int]:
    """The processes below the trainer's worker that train: each is a fork of one that waits for the next
    training."""
    fields = "pid=,ppid=,stat=,args="
    listing = subprocess.run(["ps", "-ww", "-e", "-o", fields], capture_output=True, text=True)
    parents, waiting_or_training = {}, set()
    for line in listing.stdout.splitlines():
        pid, parent, state, command = line.split(maxsplit=3)
        parents[int(pid)] = int(parent)
        if "leakrange.services.attacker.trainer " in command and not state.startswith("Z"):
            waiting_or_training.add(int(pid))
    return [
        pid
        for pid in waiting_or_training
        if parents[pid] in waiting_or_training and trainer in _above(pid, parents)
    ]


def _above(pid: int, parents: dict[int, int]) -> Iterator[int]:
    """Who started it, and who started that one, up to the first of all."""
    while pid := parents.get(pid, 0):
        yield pid
