"""Audits: a worker downloads a model with a key that is good for nothing else, and stores its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.steps.audit import AUDIT, AuditJob
from leakrange.jobs.verdict import Verdict
from leakrange.scenario.plan import PlannedPolicy
from leakrange.scenario.stored_trial import StoredTrial
from leakrange.services.controller.engine.engine import Ended, Engine, Work, hows, purpose_of
from leakrange.services.controller.engine.how.fleet import by_fleet, served
from leakrange.wire.endpoints import ARTIFACT
from leakrange.wire.errors import Forbidden, InvalidInput
from leakrange.wire.events import Purpose
from leakrange.wire.schemas import ModelCard

__all__ = ["audit_job", "audited"]


@hows.register(AUDIT.name)
async def audit_of_trial(
    engine: Engine, trial: StoredTrial, policy: PlannedPolicy, parameters: Mapping[str, Any]
) -> Verdict:
    """The verdict on the model of a trial, under the trial's seed."""
    model = trial.model
    plan = AuditPlan.model_validate(parameters).model_copy(update={"seed": trial.seed})
    await served(engine, model)
    served_as, account = engine.name(model), f"{engine.run}.auditor.{model.id}"
    purpose = purpose_of(model, defence=policy.defence, trial=trial.planned.result.id)
    key = await engine.accounts.key(
        account,
        holder="auditor",
        purpose=purpose,
        policy=policy.name,
        budget=0,
        models=[served_as],
        endpoints=[ARTIFACT],
        keys=engine.parties.fleet_keys(account),
    )
    card = await engine.parties.proxy.as_user(key).card(served_as)
    where = {"url": engine.parties.proxy_for_clients, "model": served_as, "account": account}
    job = audit_job(card, plan, **where, key=None)
    return await audited(engine, job, model.id, purpose.model_copy(update={"key": account}))


async def audited(engine: Engine, job: AuditJob, name: str, purpose: Purpose) -> Verdict:
    """The verdict of a job; ``name`` tells people which model it is about."""
    file, releases = AUDIT.file(job.identity()), engine.parties.releases
    return await engine.carry_out(
        Work(
            step=AUDIT,
            identity=job.identity(),
            purpose=purpose,
            failing=f"auditing {name}",
            stored=lambda: False,  # a worker tells whether the verdict that it stored is one of this version
            do=by_fleet(engine, job),
            ended=lambda _, __: Ended(f"audited {name}"),
            read=lambda: Verdict.model_validate_json(releases.get(file)),
        )
    )


def audit_job(
    card: ModelCard, plan: AuditPlan, *, url: str, model: str, account: str | None, key: str | None
) -> AuditJob:
    """The job that audits the model of that card, which ``url`` serves as ``model``; ``account`` and ``key``
    as in `AuditJob`. Raises `InvalidInput` or `Forbidden` for a model that cannot be downloaded."""
    if card.service != "classifier":
        raise InvalidInput(f"{model!r} is a {card.service} service, whose model nobody can download")
    if not card.sha256:
        raise Forbidden(
            f"the model {model!r} may not be downloaded with this key",
            hint="ask for a key that may",
        )
    return AuditJob(url=url, model=model, sha256=card.sha256, account=account, key=key, plan=plan)
