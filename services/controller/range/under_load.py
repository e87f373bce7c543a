"""Probes of a run under load: their chunks are offered to load users, who ask with the run's keys."""

from __future__ import annotations

from leakrange.scenario.load import LimitSpec, LoadSpec
from leakrange.scenario.plan import PlannedModel, PlannedPolicy, PlannedProbe
from leakrange.store.files import whole
from leakrange.wire.endpoints import ARTIFACT, UPLOADS
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.keys import api_key
from services.controller.range.answers import Answers
from services.controller.range.context import RunContext
from services.controller.range.offers import Chunk, LimitReached, Visit
from services.controller.range.together import Once, being_cancelled, together

PLENTY = 10**9
"""Samples that honest users may have answered: theirs is not the budget that is measured."""


class UnderLoad:
    """Offers the probes of one run; what is stored already is not offered again."""

    def __init__(self, context: RunContext, load: LoadSpec) -> None:
        self._context, self._load = context, load
        self._once = Once()

    async def probe(self, probe: PlannedProbe, model: PlannedModel, policy: PlannedPolicy) -> Answers:
        """Have every chunk of a probe asked: its answers up to the first that a limit refused for good."""
        context = self._context
        if "honest" in self._load.users and model.service is None:
            await self._once.need(f"{model.id} {policy.name}", lambda: self._visited(model, policy))
        keys, under, chunks = await self._keys(probe, model, policy), probe.under, list[Chunk]()
        for number, span in enumerate(probe.spans):
            account, key = keys[number % len(keys)]
            job = probe.job(
                model,
                policy,
                span,
                url=context.parties.proxy_for_clients,
                account=account,
                name=context.own.name(model),
                under=context.run if under is None or not under.name else f"{context.run}.{under.name}",
            )
            chunks.append(Chunk(job.identity(), job, key, policy.defence, context.roles[probe.id]))
        purposes = {
            chunk.identity: context.purpose(model, probe.defence, probe=probe.id, key=chunk.job.account)
            for chunk in chunks
        }
        await context.journal.expect("probe", purposes)
        ends = await together(self._asked(chunk, probe) for chunk in chunks)
        reached = next((place for place, end in enumerate(ends) if end is not None), len(chunks))
        return Answers(
            [chunk.identity for chunk in chunks[:reached]],
            [span.stop for span in probe.spans[:reached]],
            refused=next((self._words(probe, end.limit) for end in ends if end is not None), ""),
        )

    def _words(self, probe: PlannedProbe, limit: str) -> str:
        assert probe.under is not None
        name, kind = probe.under.limit, self._limits(probe)[limit].kind
        return f"the limit {name!r} ({kind})"

    async def _keys(
        self, probe: PlannedProbe, model: PlannedModel, policy: PlannedPolicy
    ) -> list[tuple[str, str]]:
        """The accounts of a probe and their keys, each with its share of the budget: that of the chunks that
        come to it in turn."""
        context = self._context
        number = min(1 if probe.under is None else probe.under.keys, len(probe.spans))
        limits = self._limits(probe)
        for name, limit in limits.items():
            await context.parties.proxy.put_limit(name, **limit.model_dump())
        found = []
        for place in range(number):
            own = f"{context.run}.{probe.by}.{probe.id}" + (f".k{place}" if number > 1 else "")
            key = await context.accounts.key(
                own,
                holder=probe.by,
                purpose=context.purpose(model, probe.defence, probe=probe.id),
                policy=policy.name,
                budget=sum(span.stop - span.start for span in probe.spans[place::number]),
                models=[context.own.name(model)],
                endpoints=[model.endpoint],
                key=api_key(context.parties.fleet_secret.get_secret_value(), own),
                limits=list(limits),
                counting=self._load.counting,
            )
            found.append((own, key))
        return found

    def _limits(self, probe: PlannedProbe) -> dict[str, LimitSpec]:
        """The limits of a probe's keys, by their names at the proxy: those of each model under each defence
        are counted apart, for keys that ask the same under another defence belong to another attack."""
        limits = [] if probe.under is None else probe.under.limits
        own = f"{self._context.run}.{probe.model}.{probe.defence}"
        return {f"{own}.{number}": limit for number, limit in enumerate(limits)}

    async def _asked(self, chunk: Chunk, probe: PlannedProbe) -> LimitReached | None:
        """None where the chunk was answered. Raises `AskingFailed`."""
        context = self._context
        if not whole(context.parties.releases, f"{chunk.identity}.npy"):
            await context.journal.dispatch(chunk.identity, "probe")
            try:
                await context.offers.answered(chunk)
            except LimitReached as error:
                return error
            except LeakrangeError as error:
                if not being_cancelled():
                    said = f"asking {probe.id} under load: {error.detail}"
                    await context.journal.job_failed(chunk.identity, "probe", said)
                raise
        if chunk.identity not in context.done:
            await context.journal.job_done(
                chunk.identity,
                "probe",
                {"key": chunk.job.account, "samples": chunk.job.samples},
                message=f"{chunk.job.samples} answers for {probe.id} under load",
                samples=chunk.job.samples,
                requests=1,
            )
        return None

    async def _visited(self, model: PlannedModel, policy: PlannedPolicy) -> None:
        """Let honest users visit a model under a defence, with a key of their own."""
        context = self._context
        name = f"{context.run}.honest.{model.id}.{policy.defence}"
        key = await context.accounts.key(
            name,
            holder="honest",
            purpose=context.purpose(model, policy.defence),
            policy=policy.name,
            budget=PLENTY,
            models=[context.own.name(model)],
            endpoints=[ARTIFACT, UPLOADS],
            counting=self._load.counting,
        )
        visit = Visit(
            url=context.parties.proxy_for_clients,
            key=key,
            model=context.own.name(model),
            release=model.release,
            defence=policy.defence,
            data=model.recipe.data,
            plain=not policy.chain
            and model.release in ("logits", "softmax")
            and len(context.plan.heads(model)) == 1,
        )
        context.offers.visits.append(visit)
