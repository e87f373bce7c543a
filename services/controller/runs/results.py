"""Collects everything known about a run for the report."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.data import datasets, names
from leakrange.metrics import entropy_bits, entropy_histogram, softmax
from leakrange.scenario.plan import Plan, PlannedModel
from leakrange.scenario.results import ModelResult, RunResults, TrialResult
from leakrange.scenario.summary import summarise
from leakrange.scenario.under_load import Loaded, LoadPart
from leakrange.services.controller.range.record import stored_plan
from leakrange.store.files import ObjectStore, get_array, whole
from leakrange.store.loads import Loads
from leakrange.store.models import Models
from leakrange.store.runs import RunStore
from leakrange.store.tables import LedgerRow, RunRow
from leakrange.store.trials import ALL, CellName, Ledger, Names, Trials
from leakrange.wire.errors import Conflict, NotFound


@dataclass(frozen=True)
class RunData:
    """The data of a run in the database. ``figures`` are by the digests of trained models; ``notes`` are
    about the environment."""

    run: RunRow
    plan: Plan
    trials: Sequence[dict[str, Any]]
    figures: dict[str, dict[str, Any]]
    accounts: Sequence[LedgerRow]
    notes: dict[str, str]
    loads: dict[str, dict[str, Any]]


async def read_record(
    session: AsyncSession, run_id: str, names: Names = ALL, cells: Collection[CellName] | None = None
) -> RunData:
    """Read the record, with the trials of these ``names``, or of these ``cells`` alone; raises `NotFound`.
    For a run that another version planned, it holds the trials without their models."""
    run = await RunStore(session).get(run_id)
    notes = {}
    try:
        plan = await stored_plan(session, run_id)
    except Conflict:
        plan = Plan(models=[], policies=[], streams=[], probes=[], trials=[], classes={})
        notes["models"] = "not shown: another version of Leakrange planned this run"
    figures = {}
    for artifact in {planned.artifact for planned in plan.models}:
        try:
            figures[artifact] = (await Models(session).get(artifact)).figures
        except NotFound:
            continue  # not trained yet
    stored = Trials(session)
    trials = await (stored.of_run(run_id, names) if cells is None else stored.of_cells(run_id, cells))
    return RunData(
        run,
        plan,
        trials,
        figures,
        await Ledger(session).of_run(run_id),
        notes,
        await Loads(session).of_run(run_id),
    )


def gather(record: RunData, releases: ObjectStore) -> RunResults:
    """The results of a run so far. Call it in a thread: it reads files and computes."""
    run, plan = record.run, record.plan
    trials = [TrialResult.model_validate(result) for result in record.trials]
    models = [
        _model(plan, planned, record.figures[planned.artifact], _outputs(plan, planned, releases))
        for planned in plan.models
        if planned.artifact in record.figures
    ]
    return RunResults(
        run=run.id,
        name=run.name,
        state=run.state,
        created=run.created.isoformat(),
        finished=run.finished.isoformat() if run.finished else None,
        scenario_yaml=run.scenario_yaml,
        scenario=run.scenario,
        environment=run.environment | record.notes,
        data_notes={planned.data: list(datasets[planned.recipe.data.name].notes) for planned in plan.models},
        classes=plan.classes,
        trials=trials,
        models=models,
        summaries=summarise(trials),
        ledger=[
            {
                "name": account.name,
                "policy": account.policy,
                "budget": account.budget,
                "spent": account.spent,
                "distinct": account.distinct,
            }
            for account in record.accounts
        ],
        seconds=run.seconds,
        load=loaded(plan, record.loads),
    )


def loaded(plan: Plan, parts: dict[str, dict[str, Any]]) -> Loaded | None:
    """The observations of a run under load; None for any other run."""
    if plan.load is None:
        return None
    seen = {name: LoadPart.model_validate(part) for name, part in parts.items()}
    return Loaded(spec=plan.load.model_dump(mode="json"), parts=seen)


def _outputs(plan: Plan, model: PlannedModel, releases: ObjectStore) -> np.ndarray[Any, Any] | None:
    """The uploads of users of ``model`` without any defence, as soft outputs (V, Y); None if there are no
    such uploads, or if users sent something other than outputs."""
    if model.release not in ("logits", "softmax"):
        return None
    plain = {policy.defence: policy for policy in plan.policies if not policy.chain.transforms}
    for stream in plan.streams:
        if stream.model != model.id or stream.defence not in plain or stream.local or stream.draw:
            continue
        identities = [stream.identity(model, plain[stream.defence], span) for span in stream.spans]
        if not all(whole(releases, f"{identity}.npy") for identity in identities):
            return None
        values = np.concatenate([get_array(releases, f"{name}.npy") for name in identities]).astype(
            np.float64
        )
        return values if model.release == "softmax" else softmax(values, plan.heads(model))
    return None


def _model(
    plan: Plan, planned: PlannedModel, figures: dict[str, Any], soft: np.ndarray[Any, Any] | None
) -> ModelResult:
    result = ModelResult(
        provider=planned.provider,
        seed=planned.seed,
        data=planned.data,
        behaviour=planned.recipe.behaviour,
        release=planned.release,
        target=", ".join(names(planned.target)),
        sensitive=", ".join(names(planned.sensitive)) or None,
        artifact=planned.artifact,
        parameters=figures["parameters"],
        train_seconds=figures["seconds"],
        history=figures["history"],
    )
    if soft is None:
        return result
    heads = plan.heads(planned)
    bits, answers = entropy_bits(soft, heads), math.prod(heads)
    return result.model_copy(
        update={
            "entropy_mean": float(bits.mean()),
            "entropy_max": float(np.log2(answers)),
            "entropy_histogram": entropy_histogram(bits, answers).tolist(),
        }
    )
