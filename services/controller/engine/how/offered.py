"""Questions that the users of a load test ask in place of the fleet: chunks of probes, offered with the run's
keys."""

from __future__ import annotations

from functools import partial
from typing import Any

from leakrange.jobs.steps.probe import PROBE
from leakrange.scenario.asked_by import roles
from leakrange.scenario.load import LimitSpec, LoadSpec
from leakrange.scenario.plan import Plan, PlannedModel, PlannedPolicy, PlannedProbe
from leakrange.services.controller.engine.engine import Begin, Ended, Engine, Work, purpose_of
from leakrange.services.controller.engine.how.device import DEVICE
from leakrange.services.controller.range.answers import Answers
from leakrange.services.controller.range.offers import Chunk, LimitReached, Offers, Visit
from leakrange.services.controller.range.together import together
from leakrange.store.files import whole

PLENTY = 10**9
"""The number of samples that honest users may have answered: their budget is not the one that is measured."""


class UnderLoad:
    """Offers the probes of one run; chunks that are stored already are not offered again."""

    def __init__(self, engine: Engine, plan: Plan, load: LoadSpec, offers: Offers) -> None:
        self._engine, self._plan, self._load, self._offers = engine, plan, load, offers
        self._roles = roles(plan)

    async def probe(self, probe: PlannedProbe, model: PlannedModel, policy: PlannedPolicy) -> Answers:
        """Have every chunk of a probe asked; return its answers up to the first that a limit refused for
        good."""
        engine = self._engine
        if "honest" in self._load.users and model.service is None:
            visited = partial(self._visited, model, policy)
            await engine.once.need(f"visited {model.id} {policy.name}", visited)
        keys, under, works = await self._keys(probe, model, policy), probe.under, list[Work[None]]()
        for number, span in enumerate(probe.spans):
            account, key = keys[number % len(keys)]
            job = probe.job(
                model,
                policy,
                span,
                url=engine.parties.proxy_for_clients,
                account=account,
                name=engine.name(model),
                under=engine.run if under is None or not under.name else f"{engine.run}.{under.name}",
            )
            chunk = Chunk(job.identity(), job, key, policy.defence, self._roles[probe.id])
            works.append(self._work(chunk, probe, model))
        await engine.expect(works)
        ends = await together(map(self._asked, works))
        await engine.pack(work.identity for work in works)
        reached = next((place for place, end in enumerate(ends) if end is not None), len(works))
        return Answers(
            [work.identity for work in works[:reached]],
            [span.stop for span in probe.spans[:reached]],
            refused=next((self._words(probe, end.limit) for end in ends if end is not None), ""),
        )

    async def _asked(self, work: Work[None]) -> LimitReached | None:
        """Have a chunk asked; return the limit that refused it, None if it was answered. Raises
        `AskingFailed`."""
        try:
            await self._engine.carry_out(work)
        except LimitReached as error:
            return error
        return None

    def _work(self, chunk: Chunk, probe: PlannedProbe, model: PlannedModel) -> Work[None]:
        account, samples = chunk.job.account, chunk.job.samples

        async def do(begin: Begin) -> None:
            await begin()
            await self._offers.answered(chunk)

        def ended(_already: bool, _: Any) -> Ended:
            return Ended(
                f"{samples} answers for {probe.id} under load",
                {"key": account, "samples": samples},
                {"samples": samples, "requests": 1},
            )

        return Work(
            step=PROBE,
            identity=chunk.identity,
            purpose=purpose_of(model, defence=probe.defence, probe=probe.id, key=account),
            failing=f"asking {probe.id} under load",
            stored=partial(whole, self._engine.parties.releases, PROBE.file(chunk.identity)),
            do=do,
            ended=ended,
            read=lambda: None,
            gate="",  # all are on offer at once
        )

    def _words(self, probe: PlannedProbe, limit: str) -> str:
        assert probe.under is not None
        name, kind = probe.under.limit, self._limits(probe)[limit].kind
        return f"the limit {name!r} ({kind})"

    async def _keys(
        self, probe: PlannedProbe, model: PlannedModel, policy: PlannedPolicy
    ) -> list[tuple[str, str]]:
        """The accounts of a probe and their keys, each with its share of the budget: the share is that of the
        chunks that come to it in turn."""
        engine = self._engine
        number = min(1 if probe.under is None else probe.under.keys, len(probe.spans))
        limits = self._limits(probe)
        for name, limit in limits.items():
            await engine.parties.proxy.put_limit(name, limit.kind, **(limit.model_extra or {}))
        keys = []
        for place in range(number):
            account = f"{engine.run}.{probe.by}.{probe.id}" + (f".k{place}" if number > 1 else "")
            key = await engine.accounts.key(
                account,
                holder=probe.by,
                purpose=purpose_of(model, defence=probe.defence, probe=probe.id),
                policy=policy.name,
                budget=sum(span.stop - span.start for span in probe.spans[place::number]),
                models=[engine.name(model)],
                endpoints=[model.endpoint],
                keys=engine.parties.fleet_keys(account),
                limits=list(limits),
                counting=self._load.counting,
            )
            keys.append((account, key))
        return keys

    def _limits(self, probe: PlannedProbe) -> dict[str, LimitSpec]:
        """The limits of a probe's keys, by their names at the proxy: those of each model under each defence
        are counted apart, for keys that ask the same under another defence belong to another attack."""
        limits = [] if probe.under is None else probe.under.limits
        prefix = f"{self._engine.run}.{probe.model}.{probe.defence}"
        return {f"{prefix}.{number}": limit for number, limit in enumerate(limits)}

    async def _visited(self, model: PlannedModel, policy: PlannedPolicy) -> None:
        """Let honest users visit a model under a defence, with a key of their own. Nobody may download one
        that somebody else serves: its users ask."""
        engine, asks = self._engine, model.remote is not None
        key = await engine.accounts.key(
            f"{engine.run}.honest.{model.id}.{policy.defence}",
            holder="honest",
            purpose=purpose_of(model, defence=policy.defence),
            policy=policy.name,
            budget=PLENTY,
            models=[engine.name(model)],
            endpoints=[model.endpoint] if asks else DEVICE,
            counting=self._load.counting,
        )
        visit = Visit(
            url=engine.parties.proxy_for_clients,
            key=key,
            model=engine.name(model),
            release=model.release,
            defence=policy.defence,
            data=model.recipe.data,
            plain=not policy.chain.transforms
            and model.release in ("logits", "softmax")
            and len(self._plan.heads(model)) == 1,
            endpoint=model.endpoint if asks else None,
        )
        self._offers.visits.append(visit)
