"""How the controller takes the step: the model is trained first, then the fleet weighs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakrange.scenario.plan import PlannedPolicy
from leakrange.scenario.stored_trial import StoredTrial
from leakrange.services.controller.engine.engine import Ended, Engine, Work, hows, purpose_of
from leakrange.services.controller.engine.how.fleet import by_fleet, released, trained
from leakrange.store.files import get_arrays
from scales.step import WEIGH, WeighJob


@hows.register(WEIGH.name)
async def weighed(
    engine: Engine, trial: StoredTrial, policy: PlannedPolicy, parameters: Mapping[str, Any]
) -> int:
    """How many weights of the trial's model are so large."""
    await trained(engine, trial.model)
    job = WeighJob(artifact=trial.model.artifact, **parameters)
    file = WEIGH.file(job.identity())
    return await engine.carry_out(
        Work(
            step=WEIGH,
            identity=job.identity(),
            purpose=purpose_of(trial.model, defence=policy.defence, trial=trial.planned.result.id),
            failing=f"weighing {trial.model.id}",
            stored=released(engine, WEIGH, job.identity()),
            do=by_fleet(engine, job),
            ended=lambda already, _: Ended(f"weighed {trial.model.id}", more={"already": already}),
            read=lambda: int(get_arrays(engine.parties.releases, file)["count"]),
        )
    )
