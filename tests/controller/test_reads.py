"""Whatever somebody reads, the controller goes on: no read keeps its event loop from its turn."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest

from leakrange.load.bench.reads import (
    LONGEST,
    MOST,
    Read,
    ReadTarget,
    hostile,
    reads,
    scenario,
    see,
    standing,
)
from leakrange.services.controller import turns
from leakrange.services.controller.beside import Beside
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.controller.turns import Turns
from leakrange.store.engine import Database
from leakrange.store.tables import PlanRow
from leakrange.wire.errors import Unavailable
from tests.controller.conftest import OPERATOR, Api, problem, serve
from tests.controller.test_views import put
from tests.report.build import run, trials

READING, DESK = "leakrange.services.controller.reads", "leakrange.services.controller.scenarios.desk"
VIEWER = "0123456789abcdef-viewer-of-the-tests"
NAMES = [read.name for read in reads("", "", "", "")]


@pytest.fixture(scope="module")
def place() -> Iterator[ReadTarget]:
    with standing(420, 2520) as stood:
        yield stood


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
async def test_the_loop_has_its_turns_while_somebody_reads(place: ReadTarget, number: int) -> None:
    read: Read = await asyncio.to_thread(lambda: place.named(place.reads()[number]))
    seen = await see(place, read)
    assert seen.statuses <= set(read.fine)
    assert 200 in seen.statuses
    assert seen.size > 0
    assert seen.stretch < LONGEST


@pytest.mark.parametrize(("text", "valid"), [(scenario(MOST), True), (hostile("draws"), False)])
def test_a_scenario_as_large_as_any_may_be_is_checked_to_the_end(
    place: ReadTarget, text: str, valid: bool
) -> None:
    checked = httpx.post(f"{place.url}/v1/scenario/check", content=text, timeout=120).json()
    assert checked["valid"] is valid
    assert "takes more than" not in str(checked["mistakes"])


@dataclass(frozen=True)
class Controller:
    """A controller with a run. Others of this process may have processes beside them as well."""

    api: Api
    stored: str
    others: set[int]

    def processes(self, module: str) -> set[int]:
        return processes(module) - self.others


@pytest.fixture
def alone(settings: Callable[..., ControllerSettings]) -> Iterator[Controller]:
    chosen, others = settings(viewer_key=VIEWER), processes(READING) | processes(DESK)
    with serve(chosen) as url, httpx.Client(base_url=url, timeout=120) as client:
        few = [each for each in trials() if each.provider == "digits-regularized"]
        yield Controller(Api(client), put(chosen, run(trials=few, models=[])), others)


def processes(module: str) -> set[int]:
    """Those beside any controller of this process."""
    running = set()
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it has ended just now
            if module in child.cmdline():
                running.add(child.pid)
    return running


def test_who_may_not_read_is_refused_before_anything_is_begun(alone: Controller) -> None:
    api, stored = alone.api, alone.stored
    for path in (f"/v1/runs/{stored}/report", f"/v1/compare?run={stored}&run={stored}", "/compare"):
        problem(api.ask("GET", path), 401, "unauthenticated")
        problem(api.ask("GET", path, key="wrong-key-0123456789"), 403, "forbidden")
    assert not alone.processes(READING)


def test_nobody_says_over_http_who_they_are(alone: Controller) -> None:
    api, stored = alone.api, alone.stored
    claim = {"X-Leakrange-Visitor": '{"role": "operator", "token": "t", "root": "/in/evil"}'}
    problem(api.ask("GET", f"/v1/runs/{stored}/report", headers=claim), 401, "unauthenticated")
    page = api.ask("GET", f"/runs/{stored}/board", key=VIEWER, headers=claim)
    assert page.status_code == 200
    assert "/in/evil" not in page.text
    assert "operator" not in page.text.partition('<div class="who">')[2].partition("</div>")[0]


@pytest.mark.parametrize(
    ("module", "method", "path", "body"),
    [
        (READING, "GET", "/v1/runs/RUN/results", b""),
        (DESK, "POST", "/v1/scenario/check", b"name: x"),
    ],
)
def test_a_process_that_dies_is_begun_again(
    alone: Controller, module: str, method: str, path: str, body: bytes
) -> None:
    def ask() -> httpx.Response:
        return alone.api.ask(method, path.replace("RUN", alone.stored), content=body, key=VIEWER)

    first = ask()
    assert first.status_code == 200
    [process] = alone.processes(module)
    os.kill(process, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        while not _waits(process):
            assert not asked.done()
            time.sleep(0.01)
        os.kill(process, signal.SIGKILL)
        problem(asked.result(), 503, "unavailable")
    assert ask().content == first.content
    [again] = alone.processes(module)
    assert again != process


LEAVING = """
import socket, sys, time
listening = socket.socket(fileno=int(sys.argv[1]))
listening.accept()[0].close()
time.sleep(0.5)
"""


async def test_whoever_asks_after_one_that_was_not_answered_has_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends closes its connections first."""
    (tmp_path / "leaving.py").write_text(LEAVING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    beside = Beside("leaving")

    async def ask() -> None:
        reading, writing = await asyncio.open_unix_connection(beside.place)
        answer = await reading.read()
        writing.close()
        if not answer:
            raise ConnectionResetError("no answer")

    try:
        with pytest.raises(ConnectionResetError, match="no answer"):
            await beside.answered(ask())
        assert beside.pid is None
    finally:
        await beside.close()


def _waits(process: int) -> bool:
    """Whether somebody has connected to the process, which stands still."""
    sockets = Path(f"/proc/{process}/net/unix").read_text().splitlines()
    places = {
        os.readlink(each).removeprefix("socket:[").rstrip("]")
        for each in Path(f"/proc/{process}/fd").iterdir()
        if os.readlink(each).startswith("socket:")
    }
    [mine] = {line.split()[7] for line in sockets if line.split()[6] in places and len(line.split()) > 7}
    return sum(line.endswith(mine) for line in sockets) > 1


def test_what_reads_has_bounds(alone: Controller) -> None:
    api, stored = alone.api, alone.stored
    api.get(f"/v1/runs/{stored}/results", key=VIEWER)
    [process] = alone.processes(READING)
    limits = Path(f"/proc/{process}/limits").read_text()
    [line] = [each for each in limits.splitlines() if each.startswith("Max data size")]
    assert line.split()[3] == str(ControllerSettings.model_fields["reading_memory"].default)


def test_a_read_that_needs_more_memory_than_there_is_ends_what_reads(
    settings: Callable[..., ControllerSettings],
) -> None:
    chosen, others = settings(reading_memory=2**29), processes(READING)
    few = [each for each in trials() if each.provider == "digits-regularized"][:4]
    with serve(chosen) as url, httpx.Client(base_url=url, timeout=120) as client:
        api = Api(client)
        small, large = (put(chosen, run(trials=few, models=[])) for _ in range(2))
        asyncio.run(_swell(chosen.database_url, large))
        assert api.ask("GET", f"/v1/runs/{small}/results").status_code == 200
        [process] = processes(READING) - others
        refused = problem(api.ask("GET", f"/v1/runs/{large}/results"), 503, "unavailable")
        assert "LEAKRANGE_READING_MEMORY" in refused["hint"]
        assert process not in processes(READING)
        again = api.ask("GET", f"/v1/runs/{small}/results")
        assert again.status_code == 200, again.text


async def _swell(url: str, run: str) -> None:
    """Give the run a plan that takes a gigabyte to read."""
    database = Database(url)
    async with database.write() as session:
        await session.merge(PlanRow(run_id=run, plan={"trials": [0.5] * 30_000_000}))
    await database.close()


async def test_viewers_take_turns_and_wait_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    monkeypatch.setattr(turns, "WAITING", 2)
    some, go_on, had = Turns(1, "busy"), asyncio.Event(), []

    async def work(name: str) -> None:
        async with some.turn():
            had.append(name)
            await go_on.wait()

    first = asyncio.create_task(work("first"))
    await asyncio.sleep(0)
    late = [asyncio.create_task(work("late")) for _ in range(3)]
    with pytest.raises(Unavailable, match="busy"):
        await late[2]  # at once: two wait already
    for each in late[:2]:
        with pytest.raises(Unavailable, match="busy"):
            await each
    go_on.set()
    await first
    await work("after")
    assert had == ["first", "after"]


@pytest.mark.parametrize("path", ["/v1/runs/{}/results", "/v1/scenario/check", "/v1/runs/{}/events"])
def test_viewers_cannot_take_what_is_kept_for_operators(
    settings: Callable[..., ControllerSettings], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for module in ("reading.process", "scenarios.service", "turns"):
        monkeypatch.setattr(f"leakrange.services.controller.{module}.VIEWERS", 0)
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    chosen = settings()
    few = [each for each in trials() if each.provider == "digits-regularized"][:4]
    with serve(chosen) as url, httpx.Client(base_url=url, timeout=120) as client:
        api, asked = Api(client), path.format(put(chosen, run(trials=few, models=[])))
        method = "POST" if "check" in asked else "GET"
        problem(api.ask(method, asked, content="name: x"), 503, "unavailable")
        assert api.ask(method, asked, key=OPERATOR, content="name: x").status_code == 200
