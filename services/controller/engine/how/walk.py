"""Walks: the fleet asks a served model step by step, with one key for all chunks of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from leakrange.jobs.steps.walk import WALK, WalkJob, WalkOrder, Walks
from leakrange.scenario.plan import PlannedPolicy
from leakrange.scenario.stored_trial import StoredTrial
from leakrange.services.controller.engine.engine import Ended, Engine, Work, hows, purpose_of
from leakrange.services.controller.engine.how.fleet import by_fleet, released, served
from leakrange.services.controller.range.together import in_turn
from leakrange.store.files import get_arrays
from leakrange.wire.events import Purpose

__all__ = ["walked"]


@hows.register(WALK.name)
async def walked(
    engine: Engine, trial: StoredTrial, policy: PlannedPolicy, parameters: Mapping[str, Any]
) -> Walks:
    """What the attack of a trial learnt, chunk by chunk."""
    order, model, parties = WalkOrder.model_validate(parameters), trial.model, engine.parties
    await served(engine, model)
    trial_id = trial.planned.result.id
    account = f"{engine.run}.attacker.{trial_id}"
    purpose = purpose_of(model, defence=policy.defence, trial=trial_id, key=account)
    await engine.accounts.key(
        account,
        holder="attacker",
        purpose=purpose,
        policy=policy.name,
        budget=order.samples,
        models=[engine.name(model)],
        endpoints=[model.endpoint],
        keys=parties.fleet_keys(account),
    )
    jobs = [
        WalkJob(
            url=parties.proxy_for_clients,
            account=account,
            model=engine.name(model),
            artifact=model.deployment.answers(),
            policy=policy.digest,
            endpoint=model.endpoint,
            span=span,
            target=order.target,
            attack=order.attack,
            parameters=order.parameters,
            queries=order.queries,
            seed=trial.seed,
        )
        for span in order.chunks()
    ]
    works = [_work(engine, job, trial_id, purpose) for job in jobs]
    await engine.expect(works)
    await in_turn((partial(engine.carry_out, work) for work in works), engine.probes)
    identities = [job.identity() for job in jobs]
    return Walks(identities, [get_arrays(parties.releases, WALK.file(each)) for each in identities])


def _work(engine: Engine, job: WalkJob, trial: str, purpose: Purpose) -> Work[None]:
    identity, file = job.identity(), WALK.file(job.identity())

    def ended(_already: bool, _: Any) -> Ended:
        sent = identity in engine.sent
        asked = int(get_arrays(engine.parties.releases, file)["asked"].sum()) if sent else 0
        return Ended(
            f"{asked} answers for {trial}" if sent else f"walks of {trial}, known already",
            {"key": job.account if sent else None, "samples": asked},
            {"samples": asked, "already": not sent},
        )

    return Work(
        step=WALK,
        identity=identity,
        purpose=purpose,
        failing=f"walking for {trial}",
        stored=released(engine, WALK, identity),
        do=by_fleet(engine, job),
        ended=ended,
        read=lambda: None,
    )
