"""The models and obfuscators of a run: trains and deploys each once, and has shadow models release their
outputs."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from typing import Any

import orjson

from leakrange.jobs.job import JobReport, Span, TrainJob
from leakrange.providers.artifact_files import DEFENCE, find_whole
from leakrange.scenario.plan import PlannedModel, PlannedObfuscator
from leakrange.store.files import whole
from leakrange.wire.errors import NotFound
from leakrange.wire.events import Purpose
from services.controller.range.dispatch import Dispatch
from services.controller.range.journal import Journal
from services.controller.range.parties import Parties
from services.controller.range.together import Once

NO_FIGURES = ("progress", "seconds")
"""What a training says beside its figures."""


class Models:
    """What a run's trials need of its models, done when the first trial needs it."""

    def __init__(self, parties: Parties, journal: Journal, once: Once, dispatch: Dispatch) -> None:
        self._parties, self._journal, self._once, self._dispatch = parties, journal, once, dispatch

    def name(self, model: PlannedModel) -> str:
        """The name under which the model is served."""
        return model.served_as(self._parties.names)

    def upload(self, identity: str) -> str:
        """The name that users give the upload of that identity. The identity itself would let a reader
        test guesses of the model's recipe."""
        return f"{self._journal.run}.{self._parties.names.of('upload', identity)}"

    async def trained(self, model: PlannedModel | PlannedObfuscator) -> None:
        """Have the model or obfuscator trained and stored, unless it is already."""
        await self._once.need(f"train {model.artifact}", lambda: self._train(model))

    async def file(self, digest: str) -> str:
        """The SHA-256 of the file of a trained obfuscator; raises `NotFound` where there is none of that
        digest. The files, which may be large, are read once for all streams and probes."""
        return await self._once.need(f"file {digest}", lambda: self._file(digest))

    async def _file(self, digest: str) -> str:
        if await asyncio.to_thread(find_whole, self._parties.models.root, digest):
            record = orjson.loads(self._parties.models.get(f"{digest}/training.json"))
            if DEFENCE in record["files"]:
                return str(record["files"][DEFENCE])
        raise NotFound(
            f"the range has no obfuscator {digest[:12]}",
            hint="leave 'artifact' out of the scenario, and a run trains what it needs",
        )

    async def served(self, model: PlannedModel) -> None:
        """Have the model trained, deployed at the provider of its behaviour, and routed to by the proxy."""
        await self._once.need(f"serve {model.id}", lambda: self._serve(model))

    def begin(self, model: PlannedModel) -> None:
        """Start training a model that is needed later."""
        self._once.begin(f"train {model.artifact}", lambda: self._train(model))

    async def _train(self, model: PlannedModel | PlannedObfuscator) -> None:
        job = TrainJob(recipe=model.recipe)
        identity = job.identity()
        if isinstance(model, PlannedModel) and model.teacher is not None:
            await self._journal.expect("train", {model.teacher.artifact: of_model(model.teacher)})
            await self.trained(model.teacher)
        if isinstance(model, PlannedModel) and model.extractor is not None:
            await self.trained(model.extractor)
        last = 0.0

        def progressed(report: JobReport) -> None:
            nonlocal last
            if report.state == "progress" and time.monotonic() - last > 1.0:
                last, so_far = time.monotonic(), _figures(report.data)
                text = f"training {model.id}: {100 * report.progress:.0f} % {report.message}".rstrip()
                self._once.begin(
                    f"progress {identity} {last}",
                    lambda: self._journal.progress(identity, "train", report.progress, text, so_far),
                )

        already = await asyncio.to_thread(find_whole, self._parties.models.root, identity) is not None
        if not already:
            await self._dispatch.run(job, f"training {model.id}", progressed)
        record = orjson.loads(self._parties.models.get(f"{identity}/training.json"))
        figures = {
            "figures": record["figures"],
            "history": record["history"],
            "seconds": record["seconds"],
            "parameters": record["parameters"],
        }
        await self._journal.job_done(
            identity,
            "train",
            {"seconds": record["seconds"]},
            message=f"trained {model.id} in {record['seconds']:.1f} s" + (" already" if already else ""),
            model=(model.recipe, figures),
            already=already,
            figures=_figures(record["figures"].get("validation", {})),
        )

    async def _serve(self, model: PlannedModel) -> None:
        await self.trained(model)
        name = self.name(model)
        await self._parties.keeper.want(self._journal.run, name, model.plays)
        deployment = model.deployment.model_copy(update={"for_runs": True})
        await self._parties.providers.put(model.plays, name, deployment)
        await self._parties.proxy.put_route(name, self._parties.providers.url(model.plays))
        await self._journal.served(of_model(model))

    async def shown(self, shadow: PlannedModel, span: Span) -> str:
        """The identity of a shadow's stored releases for ``span``."""
        job = shadow.shows(span)
        await self.trained(shadow)
        await self._once.need(f"shown {job.identity()}", lambda: self._show(shadow, job))
        return job.identity()

    async def _show(self, shadow: PlannedModel, job: TrainJob) -> None:
        identity = job.identity()
        await self._journal.expect("train", {identity: of_model(shadow)})
        if not whole(self._parties.releases, f"{identity}.npy"):
            await self._dispatch.run(job, f"asking {shadow.id}")
        await self._journal.job_done(identity, "train", {}, message=f"asked {shadow.id}")


def of_model(model: PlannedModel | PlannedObfuscator) -> Purpose:
    """What is done for a model."""
    if isinstance(model, PlannedObfuscator):
        return Purpose(model=model.id)
    return Purpose(model=model.id, provider=model.provider, behaviour=model.plays)


def _figures(said: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a training among what was ``said`` of it."""
    return {
        name: float(value)
        for name, value in said.items()
        if isinstance(value, int | float) and math.isfinite(value) and name not in NO_FIGURES
    }
