"""A run without a range: broker, ledger, proxy and database are real ones; in place of the rest stand a
provider, an edge client and a worker that make up what they answer, by rules that tests know.

Sample number i of any split has the parity i mod 2 and is large where i div 2 is odd.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import redis
import redis.asyncio as aioredis
from fastapi import FastAPI, Request
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.jobs.orders import ORDER, REPORTS, JobReport, Order
from leakrange.jobs.step import Job
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.jobs.steps.show import ShowJob
from leakrange.jobs.steps.stream import Session
from leakrange.jobs.steps.train import TrainJob
from leakrange.scenario.plan import Plan
from leakrange.scenario.results import TrialResult
from leakrange.services.controller.engine.graph import RunGraph
from leakrange.services.controller.range.calls import EdgeCalls, Providers
from leakrange.services.controller.range.fleet import Fleet
from leakrange.services.controller.range.journal import Journal
from leakrange.services.controller.range.news import News
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.served_models import ModelKeeper
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.store.engine import Database
from leakrange.store.files import FolderStore, get_array, put_array, put_arrays
from leakrange.store.runs import RunStore
from leakrange.store.trials import Ledger, Trials
from leakrange.wire.client import NativeClient
from leakrange.wire.names import PublicNames
from leakrange.wire.operator import Proxy
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import Deployment
from leakrange.wire.tensors import decode_npy
from leakrange.wire.transport import HttpxTransport
from tests.serving import serving


def classes_of(start: int, stop: int) -> dict[str, NDArray[np.int64]]:
    """The truth about those samples."""
    number = np.arange(start, stop)
    return {"parity": number % 2, "large": number // 2 % 2}


@dataclass
class Provider:
    """A provider that decides by the larger of two outputs, and, where it ``decodes``, reads by that one's
    size whether the sample was large. ``misremembers`` changes what it says later of an upload."""

    decodes: bool
    intake: dict[str, dict[str, Any]] = field(default_factory=dict)
    misremembers: Callable[[dict[str, Any]], None] | None = None

    def app(self) -> FastAPI:
        """Its API, as far as a run uses it."""
        app = FastAPI()

        @app.put("/v1/operator/models/{model}")
        async def deploy(model: str, told: Deployment) -> dict[str, Any]:
            return _card(model, told)

        @app.get("/v1/models/{model}")
        async def card(model: str) -> dict[str, Any]:
            return _card(model, Deployment(artifact="0" * 64))

        @app.post("/v1/models/{model}/outputs")
        async def outputs(model: str, request: Request) -> dict[str, Any]:
            values = decode_npy(await request.body())
            decisions = values.argmax(axis=1).tolist()
            large = (values.max(axis=1) > 1.5).astype(int)
            upload = request.headers["idempotency-key"]
            self.intake[upload] = {
                "upload": upload,
                "model": model,
                "release": "logits",
                "values": values.tolist(),
                "decisions": decisions,
                "inferred": large.tolist() if self.decodes else None,
                "scores": np.eye(2)[large].tolist() if self.decodes else None,
            }
            return {"model": model, "version": "1", "decisions": decisions}

        @app.get("/v1/operator/models/{model}/intake/{upload}")
        async def intake(model: str, upload: str) -> dict[str, Any]:
            record = self.intake[upload] | {"model": model}
            if self.misremembers is not None:
                self.misremembers(record)
            return record

        return app


def _card(model: str, told: Deployment) -> dict[str, Any]:
    return {
        "name": model,
        "version": "1",
        "sha256": "0" * 64,
        "task": "parity",
        "classes": ["even", "odd"],
        "input": SampleSpec.picture(8, 8, 1).model_dump(mode="json"),
        "releases": ["logits", "softmax"],
        "default_release": told.release or "logits",
        "features": 0,
        "max_batch": 256,
        "parameters": 1,
    }


@dataclass
class Phones:
    """An edge client whose model is wrong about every tenth sample, and whose outputs for large ones are
    larger."""

    sessions: list[Session] = field(default_factory=list)

    def app(self) -> FastAPI:
        """Its API, as far as a run uses it."""
        app = FastAPI()

        @app.post("/v1/sessions")
        async def play(order: Session) -> dict[str, Any]:
            self.sessions.append(order)
            number = np.arange(order.span.start, order.span.stop)
            truth = classes_of(order.span.start, order.span.stop)
            said = np.where(number % 10 == 9, 1 - truth["parity"], truth["parity"])
            values = (np.eye(2)[said] * (1.0 + truth["large"])[:, np.newaxis]).astype(np.float32)
            transport = HttpxTransport()
            client = NativeClient(transport, order.url, order.api_key)
            decisions = await client.upload(order.model, "logits", values, idempotency_key=order.upload)
            await transport.close()
            return {
                "upload": order.upload,
                "samples": len(values),
                "decisions": decisions,
                "labels": {name: own.tolist() for name, own in truth.items()},
                "input_bytes": 64 * len(values),
                "sent_bytes": values.nbytes,
            }

        return app


class Worker:
    """A fleet of one, which stores under a job's name something of the right shape."""

    def __init__(self, url: str, models: FolderStore, releases: FolderStore) -> None:
        self._redis = aioredis.Redis.from_url(url, decode_responses=True)
        self._models, self._releases = models, releases
        self.ended = False
        self.done: list[Job] = []
        self.apart = False
        """Whether it leaves models that could be trained together to single jobs."""
        self.members: list[int] = []
        """The places in a pool that every model was trained on."""

    def fits(self, knowledge: str) -> list[FitJob]:
        """The attacks of an attacker with that knowledge."""
        return [job for job in self.done if isinstance(job, FitJob) and job.knowledge == knowledge]

    async def work(self) -> None:
        """Until it is ``ended``."""
        try:
            while not self.ended:
                try:
                    found = await self._redis.blpop(["train", "probe", "fit"], timeout=1)  # type: ignore[misc]
                except redis.TimeoutError:  # on a busy machine; what was lost with it is sent again
                    continue
                if found is None:
                    continue
                _, taken = found
                body = orjson.loads(base64.b64decode(orjson.loads(taken)["body"]))
                [identity] = body[0]
                order = await self._redis.get(ORDER.format(identity=identity))
                job = Order.model_validate_json(order).job
                report = JobReport(identity=job.identity(), kind=job.kind, state="done", worker="w")
                try:
                    self._do(job)
                except Exception as error:  # a mistake of the test's, which would else wait for ever
                    report = report.model_copy(update={"state": "failed", "message": repr(error)})
                if self.apart and isinstance(job, TrainJob) and job.with_others:
                    report = report.model_copy(update={"data": {"apart": True}})
                self.done.append(job)
                await self._redis.xadd(REPORTS, {"json": report.model_dump_json()})
        finally:
            await self._redis.aclose()

    def _do(self, job: Job) -> None:
        if isinstance(job, TrainJob | ShowJob):
            record = {"figures": {}, "history": [], "seconds": 1.0, "parameters": 1, "members": self.members}
            recipes = job.recipes if isinstance(job, TrainJob) else [job.recipe]
            if self.apart and len(recipes) > 1:
                return
            for recipe in recipes:
                self._models.put(f"{recipe.digest()}/training.json", orjson.dumps(record))
            if isinstance(job, ShowJob):
                for each in job.apart():
                    self._answer(each.identity(), each.span.stop - each.span.start)
        elif isinstance(job, ProbeJob):
            self._answer(job.identity(), job.samples)
        elif "data" in job.evidence:  # a control of membership, which sees no answers
            count = job.evidence["data"]["subset"]["pool"]
            scores = np.random.default_rng(count).normal(size=count).astype(np.float32)
            control = {"scores": scores, "fold": np.arange(count) % 5, "group": np.arange(count)}
            put_arrays(self._releases, f"{job.identity()}.npz", control)
        else:
            users = "observed" in job.evidence  # else they are records of a pool
            chunks = job.evidence["observed" if users else "answers"]
            victims = sum(len(get_array(self._releases, f"{draws[0]}.npy")) for draws in chunks)
            scores = np.random.default_rng(victims).normal(size=(victims, 2)).astype(np.float32)
            found = (
                {"scores": scores, "predicted": scores.argmax(axis=1)} if users else {"scores": scores[:, 0]}
            )
            put_arrays(self._releases, f"{job.identity()}.npz", found)

    def _answer(self, identity: str, count: int) -> None:
        put_array(self._releases, f"{identity}.npy", np.zeros((count, 2), dtype=np.float32))


@dataclass
class StoodIn:
    """One run of a plan on those parties."""

    run: str
    plan: Plan
    database: Database
    parties: Parties
    settings: ControllerSettings
    phones: Phones
    providers: dict[str, Provider]
    worker: Worker

    async def execute(self) -> dict[str, TrialResult]:
        """Drive it to its end, as a controller that was just started; the results by trial."""
        journal = Journal(self.run, self.database, News(self.database))
        await journal.begin(self.plan)
        async with asyncio.timeout(120):
            await RunGraph(self.plan, self.parties, journal, self.settings).execute()
        async with self.database.read() as session:
            results = await Trials(session).of_run(self.run)
        return {str(each["id"]): TrialResult.model_validate(each) for each in results}

    async def ledger(self) -> dict[str, tuple[int, int]]:
        """What each key of the run has spent, and how many distinct samples it was for."""
        async with self.database.read() as session:
            entries = await Ledger(session).of_run(self.run)
        return {entry.name.removeprefix(f"{self.run}."): (entry.spent, entry.distinct) for entry in entries}


async def put_planned(session: AsyncSession, run: str, plan: Plan) -> None:
    """Store a plan and its trials, as a controller does that accepts a scenario."""
    trials = [trial.model_dump(mode="json") for trial in plan.trials]
    await Trials(session).add(run, [(each["result"]["id"], each.pop("result")) for each in trials], trials)
    await RunStore(session).put_plan(run, plan.dumped())


@asynccontextmanager
async def stood_in(
    plan: Plan,
    settings: ControllerSettings,
    members: Iterable[int] = (),
    scenario: dict[str, Any] | None = None,
) -> AsyncIterator[StoodIn]:
    """Everything that a run of ``plan`` needs; ``settings`` name a migrated database and an empty Redis."""
    key = settings.operator_key.get_secret_value()
    providers, phones = {"honest": Provider(decodes=False), "curious": Provider(decodes=True)}, Phones()
    models, releases = FolderStore(settings.models_dir), FolderStore(settings.releases_dir)
    with ExitStack() as servers:
        urls = {name: servers.enter_context(serving(each.app())) for name, each in providers.items()}
        edge_url = servers.enter_context(serving(phones.app()))
        told = ProxySettings(redis_url=settings.redis_url, operator_key=settings.operator_key)
        proxy_url = servers.enter_context(serving(proxy(told)))
        fleet, worker = Fleet(settings.redis_url), Worker(settings.redis_url, models, releases)
        worker.members = list(members)
        database, transport = Database(settings.database_url), HttpxTransport()
        served = Providers(transport, urls, key, attempts=1)
        before = Proxy(transport, proxy_url, key, attempts=1)
        parties = Parties(
            fleet=fleet,
            providers=served,
            proxy=before,
            edge=EdgeCalls(transport, edge_url, key, attempts=1),
            names=PublicNames(key),
            keeper=ModelKeeper(database, served, before, after=3600),
            fleet_secret=settings.fleet_secret,
            models=models,
            releases=releases,
            proxy_for_clients=proxy_url,
        )
        async with database.write() as session:
            run = (await RunStore(session).create("stood-in", scenario_yaml="", scenario=scenario or {})).id
            await put_planned(session, run, plan)
        await fleet.start()
        working = asyncio.create_task(worker.work())
        try:
            yield StoodIn(run, plan, database, parties, settings, phones, providers, worker)
        finally:
            worker.ended = True
            await working
            await fleet.stop()
            await transport.close()
            await database.close()
