"""Real workers in processes of their own, and the controller's side of their Redis."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import redis
from celery import Celery

from leakrange.jobs.orders import LEASE, REPORTS, JobReport
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.jobs.steps.train import TrainJob
from leakrange.services.controller.range.fleet import Fleet as ControllersSide
from leakrange.store.files import FolderStore
from leakrange.wire.digests import digest
from tests.patience import until

FACES = DataSpec(name="synthfaces", size=16, count=800)
"""Drawn in a moment, by a worker that has imported little."""
FLEET_SECRET = "0123456789abcdef-fleet-of-the-tests"
T = TypeVar("T")


def probe_job(url: str, start: int, stop: int, **changes: Any) -> ProbeJob:
    """A chunk of the auxiliary faces; ``draw`` makes it another one."""
    fields: dict[str, Any] = {
        "url": url,
        "account": "an-account",
        "model": "digits",
        "artifact": digest(url),  # no two upstreams share results
        "policy": digest([]),
        "endpoint": "logits",
        "span": Span(data=FACES, split="auxiliary", start=start, stop=stop),
    }
    return ProbeJob(**(fields | changes))


def _die_with_test() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _proc(pid: int, file: str) -> str:
    """What the kernel says of a process; nothing once it is gone."""
    try:
        return Path(f"/proc/{pid}/{file}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    state = _proc(pid, "stat").rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def children(pid: int) -> list[int]:
    """All descendants of a process; none once it is gone."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    found: list[int] = []
    for task in tasks:
        for child in map(int, _proc(pid, f"task/{task}/children").split()):
            found += [child, *children(child)]
    return found


def has_torch(pid: int) -> bool:
    """Whether the process has mapped the deep learning framework."""
    return "libtorch" in _proc(pid, "maps")


class Worker:
    """One worker process and its forks, in a group of their own."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log_file = process, log

    @property
    def pid(self) -> int:
        return self.process.pid

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def dropped(self, identity: str) -> int:
        """How many deliveries of a job it left to whoever was at it."""
        lines = self.log().splitlines()
        return sum("another worker is at this job" in line and identity in line for line in lines)

    def kill(self) -> None:
        """SIGKILL to all of the group."""
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()


class Fleet:
    """A database of Redis, two folders, the workers that were started on them, and the controller's side."""

    def __init__(self, redis_url: str, folder: Path, broker_url: str = "") -> None:
        self.redis_url, self.folder, self.broker_url = redis_url, folder, broker_url
        self.redis = redis.Redis.from_url(redis_url, decode_responses=True)
        self.redis.flushdb()
        self.releases, self.models = FolderStore(folder / "releases"), FolderStore(folder / "models")
        self.workers: list[Worker] = []
        self._celery = Celery("leakrange", broker=broker_url or redis_url, set_as_current=False)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._controller = ControllersSide(redis_url, broker_url)
        self._asked: dict[str, Future[JobReport]] = {}
        self._await(self._controller.start())

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def environment(self, **settings: Any) -> dict[str, str]:
        """What a worker is started with."""
        told = {
            "REDIS_URL": self.redis_url,
            "BROKER_URL": self.broker_url,
            "FLEET_SECRET": FLEET_SECRET,
            "RELEASES_DIR": self.releases.root,
            "MODELS_DIR": self.models.root,
            **{name.upper(): value for name, value in settings.items()},
        }
        return os.environ | {f"LEAKRANGE_{name}": str(value) for name, value in told.items()}

    def start(self, queues: str = "probe,fit", concurrency: int = 2, **settings: Any) -> Worker:
        """Start a worker; use `ready` before relying on it."""
        options = [f"--queues={queues}", f"--concurrency={concurrency}"]
        log = self.folder / f"worker-{len(self.workers)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "leakrange.services.attacker", *options],
                env=self.environment(**settings),
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_die_with_test,
            )
        self.workers.append(Worker(process, log))
        return self.workers[-1]

    def ready(self, worker: Worker) -> Worker:
        """Wait until it takes jobs."""
        until(lambda: " ready." in worker.log() or worker.process.poll() is not None, 60, worker.log())
        assert worker.process.poll() is None, worker.log()
        return worker

    def close(self) -> None:
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.kill()
        self._await(self._controller.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        self._celery.close()
        self.redis.close()

    # What the controller does

    def send(self, job: ProbeJob | FitJob | TrainJob) -> str:
        """Have the controller's side send it, and again where it is lost; gives the identity."""
        identity = job.identity()
        if (earlier := self._asked.get(identity)) is not None:
            until(earlier.done)
        self._asked[identity] = asyncio.run_coroutine_threadsafe(self._controller.run(job), self._loop)
        return identity

    def heard(self, identity: str, seconds: float = 60.0) -> JobReport:
        """The report by which the controller's side knows the end of a job; raises what it was told of."""
        return self._asked[identity].result(seconds)

    def cancel(self, identity: str) -> None:
        """As the controller cancels a job that nobody waits for any more."""
        self._asked.pop(identity).cancel()
        self._await(self._controller.cancel({identity}))

    def deliver(self, kind: str, identity: Any) -> None:
        """One more message about a job, whoever sent it."""
        self._celery.send_task(f"leakrange.{kind}", args=[identity], queue=kind)

    def reports(self, identity: str) -> list[JobReport]:
        """All reports on a job so far, in order."""
        entries = self.redis.xrange(REPORTS)
        told = [JobReport.model_validate_json(fields["json"]) for _, fields in entries]
        return [report for report in told if report.identity == identity]

    def states(self, identity: str) -> list[str]:
        return [report.state for report in self.reports(identity)]

    def wait_for(self, identity: str, state: str, seconds: float = 120.0) -> JobReport:
        """The first report of that state."""

        def found() -> JobReport | None:
            return next((report for report in self.reports(identity) if report.state == state), None)

        try:
            return until(found, seconds)
        except AssertionError:
            logs = "\n".join(worker.log()[-3000:] for worker in self.workers)
            raise AssertionError(f"no report {state!r}: {self.reports(identity)}\n{logs}") from None

    def end_of(self, identity: str, seconds: float = 120.0) -> JobReport:
        """The report that ends a job, whichever it is."""

        def ended() -> JobReport | None:
            told = self.reports(identity)
            return next((report for report in told if report.state in ("done", "failed")), None)

        return until(ended, seconds, f"no end of {identity}")

    def wait_until_idle(self, seconds: float = 30.0) -> None:
        """Until no message waits in a queue, and no worker is at a job."""

        def idle() -> bool:
            waiting = sum(self.redis.llen(queue) for queue in ("probe", "fit", "train"))
            return not waiting and not self.redis.keys(LEASE.format(identity="*"))

        until(idle, seconds, "messages left")


@contextmanager
def fleet_on(redis_url: str, database: int, folder: Path, broker_url: str = "") -> Iterator[Fleet]:
    """A fleet without workers, in a database of its own: what one test leaves does not meet the next."""
    fleet = Fleet(redis_url.rpartition("/")[0] + f"/{database}", folder, broker_url)
    try:
        yield fleet
    finally:
        fleet.close()
