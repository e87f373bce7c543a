"""The fleet's work for a run: it trains, shows, fits and probes. Models that are trained are served."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from leakrange.attacks.kinds.trial import Fitted
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.orders import JobReport
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.step import Job, Step
from leakrange.jobs.steps.craft import CRAFT, CraftJob
from leakrange.jobs.steps.fit import FIT, FitJob
from leakrange.jobs.steps.probe import PROBE, ProbeJob
from leakrange.jobs.steps.show import SHOW
from leakrange.jobs.steps.train import TRAIN, TrainJob
from leakrange.providers.artifact_files import DEFENCE
from leakrange.scenario.plan import PlannedModel, PlannedObfuscator, PlannedPolicy, PlannedProbe
from leakrange.services.controller.engine.engine import Begin, Ended, Engine, Work, purpose_of
from leakrange.services.controller.range.answers import Answers
from leakrange.services.controller.range.fleet import OnReport
from leakrange.services.controller.range.together import in_turn, together
from leakrange.store.files import get_arrays, whole
from leakrange.store.folders import whole_folder
from leakrange.wire.endpoints import ARTIFACT
from leakrange.wire.errors import NotFound
from leakrange.wire.events import Purpose

__all__ = [
    "by_fleet",
    "crafted",
    "deployed",
    "file_hash",
    "fitted",
    "probed",
    "ready",
    "released",
    "served",
    "shown",
    "stacks",
    "train_work",
    "trained",
]

MOST_STACKED = 64
"""Models that one job trains at the same time: so many are lost with a worker."""
NO_FIGURES = ("progress", "seconds")
"""The members of a training's report beside its figures."""


def by_fleet(
    engine: Engine, job: Job, watch: OnReport | None = None
) -> Callable[[Begin], Awaitable[JobReport]]:
    """Do a job by the fleet: it is sent unless another run has sent it already."""

    async def do(begin: Begin) -> JobReport:
        return await engine.parties.fleet.run(job, watch, run=engine.run, before_sending=begin)

    return do


def by_one_job(
    engine: Engine, job: Job, watch: OnReport | None = None
) -> Callable[[Begin], Awaitable[JobReport]]:
    """Do a step by a job of the fleet that does other steps as well: whichever of these comes first has it
    sent, and ``watch`` its reports."""

    async def do(begin: Begin) -> JobReport:
        await begin()
        identity = job.identity()
        engine.under_way.add(identity)
        sent = partial(engine.parties.fleet.run, job, watch, run=engine.run)
        return await engine.once.need(f"job {identity}", sent)

    return do


def released(engine: Engine, step: Step, identity: str) -> Callable[[], bool]:
    """Whether the result of a step lies among the releases, whole."""
    return partial(whole, engine.parties.releases, step.file(identity))


# --- models ----------------------------------------------------------------------------------------------


def train_work(engine: Engine, model: PlannedModel | PlannedObfuscator) -> Work[None]:
    """The training of a model or an obfuscator. The models that it builds on have to be trained first."""
    job = TrainJob(recipe=model.recipe)
    identity, models = job.identity(), engine.parties.models
    stack = engine.stacks.get(identity)
    last = 0.0

    def progressed(report: JobReport) -> None:
        nonlocal last
        if report.state == "progress" and time.monotonic() - last > 1.0:
            last, so_far = time.monotonic(), _figures(report.data)
            text = f"training {model.id}: {100 * report.progress:.0f} % {report.message}".rstrip()
            engine.once.begin(
                f"progress {identity} {last}",
                lambda: engine.record.progress(identity, TRAIN.name, report.progress, text, so_far),
                kept=False,
            )

    def ended(already: bool, _: Any) -> Ended:
        record = orjson.loads(models.get(f"{identity}/training.json"))
        kept = {name: record[name] for name in ("figures", "history", "seconds", "parameters")}
        return Ended(
            f"trained {model.id} in {record['seconds']:.1f} s" + (" already" if already else ""),
            {"seconds": record["seconds"]},
            {
                "model": (model.recipe, kept),
                "already": already,
                "figures": _figures(record["figures"].get("validation", {})),
            },
        )

    async def do(begin: Begin) -> Any:
        if stack is None:
            return await by_fleet(engine, job, progressed)(begin)
        report = await by_one_job(engine, stack, progressed)(begin)
        if report.data.get("apart"):  # it has begun, and is trained alone
            report = await engine.parties.fleet.run(job, progressed, run=engine.run)
        return report

    return Work(
        step=TRAIN,
        identity=identity,
        purpose=purpose_of(model),
        failing=f"training {model.id}",
        stored=lambda: whole_folder(models, identity) is not None,
        do=do,
        ended=ended,
        read=lambda: None,
    )


def stacks(recipes: Iterable[TrainingRecipe]) -> dict[str, TrainJob]:
    """Jobs that each train several models of ``recipes`` which differ in seeds and draws of data alone, by
    the identities of the models."""
    alike: dict[str, list[TrainingRecipe]] = {}
    for recipe in recipes:
        everyone = recipe.model_copy(update={"seed": 0, "data": recipe.data.of_everyone()})
        alike.setdefault(everyone.digest(), []).append(recipe)
    jobs = [
        TrainJob(recipe=first, with_others=others)
        for group in alike.values()
        for first, *others in (group[at : at + MOST_STACKED] for at in range(0, len(group), MOST_STACKED))
        if others
    ]
    return {recipe.digest(): job for job in jobs for recipe in job.recipes}


async def trained(engine: Engine, model: PlannedModel | PlannedObfuscator) -> None:
    """Have a model or obfuscator trained and stored, after the models that it builds on."""
    await engine.once.need(f"trained {model.artifact}", partial(_train, engine, model))


async def _train(engine: Engine, model: PlannedModel | PlannedObfuscator) -> None:
    if isinstance(model, PlannedModel):
        for first in (model.teacher, model.extractor):
            if first is not None:
                await trained(engine, first)
    await engine.carry_out(train_work(engine, model))


async def served(engine: Engine, model: PlannedModel) -> None:
    """Have a model trained, deployed at the provider of its behaviour, and routed to by the proxy."""
    await engine.once.need(f"serve {model.id}", partial(_serve, engine, model))


async def _serve(engine: Engine, model: PlannedModel) -> None:
    if model.remote is None:
        await trained(engine, model)
    await deployed(engine, model)
    await engine.record.served(purpose_of(model))


async def deployed(engine: Engine, model: PlannedModel) -> None:
    """Deploy a model, which is trained, at the provider of its behaviour, and have the proxy route to it."""
    name, parties = engine.name(model), engine.parties
    if model.remote is not None:
        await engine.keep(engine.run, name, model.plays)
        await parties.proxy.put_target(name, model.remote.model_dump(mode="json", exclude_defaults=True))
        return
    await engine.keep(engine.run, name, model.plays)
    deployment = model.deployment.model_copy(update={"for_runs": True})
    await parties.providers.put(model.plays, name, deployment)
    await parties.proxy.put_route(name, parties.providers.url(model.plays))


async def shown(engine: Engine, shadow: PlannedModel, spans: Sequence[Span]) -> None:
    """Have a shadow model, which nobody serves, release its outputs for each of the ``spans``. One job does
    them all: to load a model and its samples costs more than to pass these through it."""
    if not spans:
        return
    await trained(engine, shadow)
    job = shadow.shows(*spans)
    works = [
        Work(
            step=SHOW,
            identity=(identity := each.identity()),
            purpose=purpose_of(shadow),
            failing=f"asking {shadow.id}",
            stored=released(engine, SHOW, identity),
            do=by_one_job(engine, job),
            ended=lambda already, _: Ended(f"asked {shadow.id}", more={"already": already}),
            read=lambda: None,
        )
        for each in job.apart()
    ]
    await together(engine.carry_out(work) for work in works)


async def crafted(engine: Engine, job: CraftJob, shadows: Iterable[PlannedModel]) -> None:
    """Have samples crafted against those shadow models, which are trained first."""
    models = list(shadows)
    await together(trained(engine, each) for each in models)
    identity, purpose = job.identity(), purpose_of(models[0])
    await engine.carry_out(
        Work(
            step=CRAFT,
            identity=identity,
            purpose=purpose,
            failing=f"crafting questions for {purpose.provider}",
            stored=released(engine, CRAFT, identity),
            do=by_fleet(engine, job),
            ended=lambda already, _: Ended("crafted questions", more={"already": already}),
            read=lambda: None,
        )
    )


async def ready(
    engine: Engine, model: PlannedModel, local: DefenceChain, planned: Mapping[str, PlannedObfuscator]
) -> dict[str, str]:
    """Have a model served, and the obfuscators trained that the chain ``local`` of its users' devices names:
    ``planned`` are those of the run by their digests. Returns the SHA-256 of each obfuscator's file, by its
    digest. Raises `NotFound` if the range has none of that digest."""
    needed = [planned[each] for each in local.artifacts if each in planned]
    await together([served(engine, model), *(trained(engine, each) for each in needed)])
    return {each: await file_hash(engine, each) for each in local.artifacts}


async def file_hash(engine: Engine, digest: str) -> str:
    """The SHA-256 of the file of a trained obfuscator, which is read once for all streams and probes. Raises
    `NotFound` if there is none of that digest."""
    return await engine.once.need(f"file {digest}", partial(_file_hash, engine, digest))


async def _file_hash(engine: Engine, digest: str) -> str:
    models = engine.parties.models
    if await asyncio.to_thread(whole_folder, models, digest):
        record = orjson.loads(models.get(f"{digest}/training.json"))
        if DEFENCE in record["files"]:
            return str(record["files"][DEFENCE])
    raise NotFound(
        f"the range has no obfuscator {digest[:12]}",
        hint="leave 'artifact' out of the scenario, and a run trains what it needs",
    )


# --- attacks ---------------------------------------------------------------------------------------------


async def fitted(
    engine: Engine, jobs: Iterable[FitJob], names: Iterable[str], purpose: Purpose
) -> list[Fitted]:
    """The results of fits, in order; ``names`` tell people what each of them fits."""
    works = [_fit_work(engine, job, name, purpose) for job, name in zip(jobs, names, strict=True)]
    await engine.expect(works)
    return await together(map(engine.carry_out, works))


def _fit_work(engine: Engine, job: FitJob, name: str, purpose: Purpose) -> Work[Fitted]:
    identity, releases = job.identity(), engine.parties.releases
    return Work(
        step=FIT,
        identity=identity,
        purpose=purpose,
        failing=f"fitting {name}",
        stored=released(engine, FIT, identity),
        do=by_fleet(engine, job),
        ended=lambda already, _: Ended(f"fitted {name}", more={"already": already}),
        read=lambda: Fitted(identity, get_arrays(releases, FIT.file(identity))),
    )


async def probed(
    engine: Engine, probe: PlannedProbe, model: PlannedModel, policy: PlannedPolicy, files: Mapping[str, str]
) -> Answers:
    """Have the fleet ask every chunk of a probe. ``files`` is what `ready` gives."""
    parties, account = engine.parties, f"{engine.run}.{probe.by}.{probe.id}"
    purpose = purpose_of(model, defence=probe.defence, probe=probe.id, key=account)
    await engine.accounts.key(
        account,
        holder=probe.by,
        purpose=purpose,
        policy=policy.name,
        budget=0 if probe.downloads else sum(span.stop - span.start for span in probe.spans),
        models=[engine.name(model), *files],
        endpoints=[ARTIFACT] if probe.downloads else [model.endpoint],
        keys=parties.fleet_keys(account),
    )
    where = {"url": parties.proxy_for_clients, "account": account, "name": engine.name(model)}
    jobs = probe.jobs(model, policy, **where, obfuscators=files)
    works = [_chunk_work(engine, job, probe, account, purpose) for job in jobs]
    await engine.expect(works)
    await in_turn((partial(engine.carry_out, work) for work in works), engine.probes)
    await engine.pack(work.identity for work in works)
    return Answers([work.identity for work in works], [span.stop for span in probe.spans])


def _chunk_work(
    engine: Engine, job: ProbeJob, probe: PlannedProbe, account: str, purpose: Purpose
) -> Work[None]:
    identity, size = job.identity(), job.samples

    def ended(_already: bool, _: Any) -> Ended:
        # Answers that another run had asked for were paid with its key.
        sent_by_run = identity in engine.sent
        asked = sent_by_run and not probe.downloads
        return Ended(
            f"{size} answers for {probe.id}" + ("" if sent_by_run else ", known already"),
            {"key": account if sent_by_run else None, "samples": 0 if probe.downloads else size},
            {"samples": size if asked else 0, "requests": int(asked), "already": not sent_by_run},
        )

    return Work(
        step=PROBE,
        identity=identity,
        purpose=purpose,
        failing=f"probing {probe.id}",
        stored=released(engine, PROBE, identity),
        do=by_fleet(engine, job),
        ended=ended,
        read=lambda: None,
    )


def _figures(reported: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a training, from its report."""
    return {
        name: float(value)
        for name, value in reported.items()
        if isinstance(value, int | float) and math.isfinite(value) and name not in NO_FIGURES
    }
