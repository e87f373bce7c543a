"""Uploads and queries: carries out each stream and each probe of a plan, chunk by chunk."""

from __future__ import annotations

import asyncio

import numpy as np

from leakrange.jobs.job import ProbeJob, Span
from leakrange.jobs.session import Session
from leakrange.scenario.plan import PlannedModel, PlannedProbe, PlannedStream
from leakrange.store.files import whole
from leakrange.store.uploads import put_session, session_stored
from leakrange.wire.endpoints import ARTIFACT, UPLOADS
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.keys import api_key
from leakrange.wire.names import upload_name
from services.controller.range.answers import Answers
from services.controller.range.context import RunContext
from services.controller.range.together import together
from services.controller.range.under_load import UnderLoad

DEVICE = [ARTIFACT, UPLOADS]
"""What a user's device asks for: the model once, then decisions on its outputs."""


class Asking:
    """Carries out streams and probes; what is stored already is not done again."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        load = context.plan.load
        self._under_load = UnderLoad(context, load) if load is not None else None

    async def stream(self, stream: PlannedStream) -> list[str]:
        """Carry out every session of a stream; the identities of its stored releases, in order."""
        context = self._context
        model, policy = context.models[stream.model], context.policies[stream.defence]
        files = await context.ready(model, stream.local)
        identities = [stream.identity(model, policy, span) for span in stream.spans]
        name = f"{context.run}.users.{stream.id}"
        purpose = context.purpose(model, stream.defence, stream=stream.id, key=name)
        await context.journal.expect("stream", dict.fromkeys(identities, purpose))
        samples = sum(span.stop - span.start for span in stream.spans)
        key = await context.accounts.key(
            name,
            holder="users",
            purpose=purpose,
            policy=policy.name,
            budget=samples,
            models=[context.own.name(model), *files],
            endpoints=DEVICE,
        )
        users = asyncio.Semaphore(stream.clients)  # each of whom does one thing at a time

        async def session_of(span: Span, identity: str) -> None:
            async with users:
                await self._session(stream, model, files, name, key, span, identity)

        await together(
            session_of(span, identity) for span, identity in zip(stream.spans, identities, strict=True)
        )
        return identities

    async def _session(
        self,
        stream: PlannedStream,
        model: PlannedModel,
        files: dict[str, str],
        name: str,
        key: str,
        span: Span,
        identity: str,
    ) -> None:
        context = self._context
        if not (session_stored(context.parties.releases, identity) and identity in context.done):
            async with context.sessions:
                await context.journal.dispatch(identity, "stream")
                order = Session(
                    url=context.parties.proxy_for_clients,
                    api_key=key,
                    model=context.own.name(model),
                    release=model.release,
                    span=span,
                    upload=context.own.upload(identity),
                    defence=stream.local,
                    obfuscators=files,
                    audit=stream.audit,
                )
                try:
                    reply = await context.parties.edge.session(order, context.run)
                    record = await context.parties.providers.intake(
                        model.recipe.behaviour, order.model, upload_name(name, order.upload)
                    )
                    if len(record.values) != reply.samples or record.decisions != reply.decisions:
                        raise LeakrangeError(f"provider and edge client disagree about upload {order.upload}")
                    samples = record.samples()
                except LeakrangeError as error:
                    await context.journal.job_failed(identity, "stream", f"{stream.id}: {error.detail}")
                    raise
            inferred = None
            if record.inferred is not None and record.scores is not None:
                inferred = record.inferred, record.scores
            put_session(
                context.parties.releases,
                identity,
                np.asarray(record.values),
                record.decisions,
                inferred,
                samples,
            )
            await context.journal.job_done(
                identity,
                "stream",
                {"key": name, "samples": reply.samples},
                message=f"{reply.samples} users' outputs of {stream.id}",
                truth=reply,
                samples=reply.samples,
                requests=1,
                sent=reply.sent_bytes,
            )

    async def probe(self, probe: PlannedProbe) -> Answers:
        """Carry out every chunk of a probe; the identities of its stored releases, in order. In a run under
        load the fleet does what asks nobody, or with obfuscators of its own."""
        try:
            return await self._probe(probe)
        finally:
            self._context.offers.ended(probe.id)

    async def _probe(self, probe: PlannedProbe) -> Answers:
        context = self._context
        model, policy = context.models[probe.model], context.policies[probe.defence]
        files = await context.ready(model, probe.local)
        samples = 0 if probe.downloads else sum(span.stop - span.start for span in probe.spans)
        if self._under_load is not None and probe.offered:
            return await self._under_load.probe(probe, model, policy)
        name = f"{context.run}.{probe.by}.{probe.id}"
        purpose = context.purpose(model, probe.defence, probe=probe.id, key=name)
        await context.accounts.key(
            name,
            holder=probe.by,
            purpose=purpose,
            policy=policy.name,
            budget=samples,
            models=[context.own.name(model), *files],
            endpoints=[ARTIFACT] if probe.downloads else [model.endpoint],
            key=api_key(context.parties.fleet_secret.get_secret_value(), name),
        )
        where = {
            "url": context.parties.proxy_for_clients,
            "account": name,
            "name": context.own.name(model),
        }
        jobs = [probe.job(model, policy, span, **where, obfuscators=files) for span in probe.spans]
        await context.journal.expect("probe", {job.identity(): purpose for job in jobs})

        async def chunk(job: ProbeJob) -> None:
            identity = job.identity()
            size = job.samples
            known = whole(context.parties.releases, f"{identity}.npy")
            if not known:
                async with context.probing:
                    await context.dispatch.run(job, f"probing {probe.id}")
            if identity not in context.done:
                # Answers that another run had asked for were paid with its key.
                own = identity in context.dispatch.sent
                asked = own and not probe.downloads
                await context.journal.job_done(
                    identity,
                    "probe",
                    {"key": name if own else None, "samples": 0 if probe.downloads else size},
                    message=f"{size} answers for {probe.id}" + ("" if own else ", known already"),
                    samples=size if asked else 0,
                    requests=int(asked),
                    already=not own,
                )

        await together(chunk(job) for job in jobs)
        return Answers([job.identity() for job in jobs], [span.stop for span in probe.spans])
