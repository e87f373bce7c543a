"""A run of very many trials on a controller: planned, carried out, and read.

    python -m leakrange.load.bench.trials --trials 100000 [--plan | --made-up]

An embedded range with one worker trains small curious nets and has their users upload 64 samples each behind
50 defences; every trial is the provider's own decoder under one of 50 budgets, judged by what was uploaded.
So what is measured is the controller: its CPU and its resident memory while it plans, while it carries out,
and, together with the process that reads for it, while somebody reads. ``--plan`` ends when the run is
planned. ``--followers`` so many read the events while it is carried out; at the end 1, 10 and 100 read the
last ones. ``--made-up`` stores results that mean nothing, and reads these. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Any

import httpx
import numpy as np
import psutil
import yaml

from leakrange.load.embedded import EmbeddedRange, embedded_range
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import Expansion
from leakrange.store.engine import Database
from leakrange.store.runs import RunStore
from leakrange.store.trials import Trials

__all__ = ["main", "scenario"]

DEFENCES, BUDGETS, SEEDS = 50, 50, 100
EVENTS_BEFORE = 15
"""Of ten events for each ten trials so many are passed over: a trial has two, and few more."""
FOLLOWERS = (1, 10, 100)
FIGURES = (
    "auc",
    "honesty",
    "curiosity",
    "majority",
    "nag",
    "advantage",
    "imputation_auc",
    "beyond_imputation",
)
READS = ("overview", "results?format=csv", "results?format=arrow", "report", "report?provider=p0&defence=n1")


def scenario(trials: int) -> str:
    """A scenario with about so many trials: 2,500 for each provider under each seed."""
    seeds = min(SEEDS, max(1, trials // (2 * DEFENCES * BUDGETS)))
    number = range(max(1, trials // (seeds * DEFENCES * BUDGETS)))
    curious = {"behaviour": "curious", "method": "parameterized", "target": "y", "sensitive": "s"}
    rounded = {f"n{place}": [{"temperature": 1 + place / 10}] for place in range(1, DEFENCES)}
    return yaml.safe_dump(
        {
            "name": "trials",
            "seeds": list(range(seeds)),
            "data": {"name": "quadrants", "count": 1000},
            "schedule": {"epochs": 1, "batch": 128},
            "providers": {f"p{n}": curious | {"net": {"name": "mlp", "width": 4 + n}} for n in number},
            "clients": {"phones": {"kind": "edge", "count": 4, "samples": 64}},
            "defences": {"none": []} | rounded,
            "attacks": {"inside": {"kind": "curious-decoder"}},
            "budgets": list(range(65 - BUDGETS, 65)),
        }
    )


class Watched:
    """The controller and the processes that it has, from the beginning of a part of the work to its end: CPU
    seconds of all, and the greatest resident memory of them together."""

    def __init__(self, controller: psutil.Process) -> None:
        self._controller, self._most, self._ended = controller, 0, threading.Event()
        self._took: dict[int, float] = {}
        """CPU seconds of each process when it was last seen: some end before the part does."""
        self._before, self._began = self._cpu(), time.monotonic()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _all(self) -> list[psutil.Process]:
        return [self._controller, *self._controller.children(recursive=True)]

    def _cpu(self) -> float:
        for each in self._all():
            with suppress(psutil.NoSuchProcess):
                self._took[each.pid] = sum(each.cpu_times()[:2])
        return sum(self._took.values())

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            try:
                self._most = max(self._most, sum(each.memory_info().rss for each in self._all()))
                self._cpu()
            except psutil.NoSuchProcess:
                continue

    def figures(self) -> dict[str, float]:
        """Seconds, CPU seconds, and MiB."""
        self._ended.set()
        self._thread.join()
        wall = time.monotonic() - self._began
        return {"s": wall, "cpu_s": self._cpu() - self._before, "resident_MiB": self._most / 2**20}


def follow(standing: EmbeddedRange, run: str, followers: int, after: int) -> int:
    """Have so many followers, each with a connection of its own, read a run's events; returns the bytes. They
    have no key: viewers may be more than operators."""
    url = f"{standing.first.controller}/v1/runs/{run}/events?after={after}"

    def read(_place: int) -> int:
        with httpx.stream("GET", url, timeout=3600, trust_env=False) as events:
            events.raise_for_status()
            return sum(len(piece) for piece in events.iter_raw())

    with ThreadPoolExecutor(max(1, followers)) as threads:
        return sum(threads.map(read, range(followers)))


def tell(part: str, figures: Any) -> None:
    """Print the figures of a part, as soon as there are some: the next may take long."""
    print(json.dumps({part: figures}), flush=True)


def measure(standing: EmbeddedRange, trials: int, followers: int, *, plan: bool) -> None:
    """Tell the figures of each part; so many ``followers`` read while the run is carried out."""
    controller = psutil.Process(standing.first.party("controller").pid)
    runs, key = f"{standing.first.controller}/v1/runs", standing.first.operator_key
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=3600, trust_env=False) as client:
        watched = Watched(controller)
        accepted = client.post(runs, content=scenario(trials)).raise_for_status().json()
        run = accepted["id"]
        tell("planned", watched.figures() | {"trials": accepted["trials"]})
        if plan:
            client.delete(f"{runs}/{run}")
            return
        watched = Watched(controller)
        judging = None
        following = ThreadPoolExecutor(1).submit(follow, standing, run, followers, after=0)
        while (view := client.get(f"{runs}/{run}").json())["state"] in ("queued", "running"):
            if judging is None and view["trials"]["done"] > accepted["trials"] / 10:
                judging = time.monotonic(), view["trials"]["done"]
            time.sleep(0.5)
        assert view["state"] == "done", view
        figures = watched.figures() | {"MB": following.result() / 1e6}
        if judging is not None:
            passed = view["trials"]["done"] - judging[1]
            figures["trials_a_second"] = passed / (time.monotonic() - judging[0])
        tell("carried out", figures)
        for number in FOLLOWERS:
            watched = Watched(controller)
            size = follow(standing, run, number, after=EVENTS_BEFORE * accepted["trials"] // 10)
            tell(f"{number} followers", watched.figures() | {"MB": size / 1e6})
        reads(client, f"{runs}/{run}", controller)


def reads(client: httpx.Client, run: str, controller: psutil.Process) -> None:
    """Tell the figures of each way to read a run."""
    for each in READS:
        watched = Watched(controller)
        with client.stream("GET", f"{run}/{each}") as answer:
            answer.raise_for_status()
            size = sum(len(piece) for piece in answer.iter_raw())
        tell(each, watched.figures() | {"MB": size / 1e6})


async def store(database: Database, trials: int) -> str:
    """Store a run with so many made-up results of the scenario's trials; returns its id."""
    parsed, rng = parse(scenario(trials)), np.random.default_rng(0)
    async with database.write() as session:
        stored = parsed.model_dump(mode="json")
        run = (await RunStore(session).create("made-up", scenario_yaml="", scenario=stored)).id
    expansion = iter(Expansion(parsed))
    while part := [each.result.model_dump(mode="json") for each in islice(expansion, 1000)]:
        rows = []
        for result in part:
            drawn = dict(zip(FIGURES, rng.uniform(0.5, 0.9, len(FIGURES)).tolist(), strict=True))
            metrics = {name: {"value": v, "low": v - 0.1, "high": v + 0.1} for name, v in drawn.items()}
            result |= {"state": "done", "victims": 64, "spent": 64, "metrics": metrics}
            rows.append((result["id"], result))
        async with database.write() as session:
            await Trials(session).add(run, rows)
            values = {name: (result, result["metrics"]["auc"]["value"]) for name, result in rows}
            await Trials(session).put(run, values)
    async with database.write() as session:
        await RunStore(session).move(run, "running")
        await RunStore(session).move(run, "done")
    await database.close()
    return run


def measure_reads(standing: EmbeddedRange, trials: int) -> None:
    """Tell the figures of reading a run that was made up."""
    database = Database(f"sqlite:///{standing.folder.database}")
    run = asyncio.run(store(database, trials))
    controller = psutil.Process(standing.first.party("controller").pid)
    headers = {"Authorization": f"Bearer {standing.first.operator_key}"}
    with httpx.Client(headers=headers, timeout=3600, trust_env=False) as client:
        reads(client, f"{standing.first.controller}/v1/runs/{run}", controller)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--followers", type=int, default=0)
    parser.add_argument("--plan", action="store_true", help="plan it, and no more")
    parser.add_argument("--made-up", action="store_true", help="read made-up results of it, and no more")
    options = parser.parse_args()
    with embedded_range(1) as standing:
        if options.made_up:
            measure_reads(standing, options.trials)
        else:
            measure(standing, options.trials, options.followers, plan=options.plan)
        tell("database_MB", standing.folder.database.stat().st_size / 1e6)


if __name__ == "__main__":
    main()
