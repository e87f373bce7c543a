"""The answer to a try: row by row the releases, and what providers and attackers made of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from leakrange.data import Samples
from leakrange.scenario.plan import PlannedModel, PlannedPolicy
from leakrange.services.controller.victim import telling
from leakrange.services.controller.victim.demonstration import behaviour
from leakrange.services.controller.victim.samples import samples_of
from leakrange.services.controller.victim.standing import StandingDemonstration
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.schemas import IntakeRecord
from leakrange.wire.trying import Released, Row

__all__ = ["rows"]


def rows(
    standing: StandingDemonstration,
    records: Mapping[tuple[str, str], IntakeRecord],
    sample: NDArray[np.uint8],
    truth: Mapping[str, int],
) -> list[Row]:
    """A row for each defence, from the ``records`` of releases by model and defence."""
    shown = standing.shown
    data, _ = samples_of(shown)
    table = []
    for policy in shown.defences:
        releases = [
            _released(standing, model, policy, records[model.id, policy.defence], data, sample, truth)
            for model in shown.models
            if (model.id, policy.defence) in records
        ]
        chain = [name for name, _ in policy.chain.stages]
        table.append(Row(defence=policy.defence, chain=chain, releases=releases))
    return table


def _released(
    standing: StandingDemonstration,
    model: PlannedModel,
    policy: PlannedPolicy,
    record: IntakeRecord,
    data: Samples,
    sample: NDArray[np.uint8],
    truth: Mapping[str, int],
) -> Released:
    plan, cell = standing.shown.plan, (model.id, policy.defence)
    stream, attacker = standing.shown.stream(model, policy), standing.attackers.get(cell)
    assert stream is not None
    release = stream.released(model, policy)
    samples = record.samples()
    drawn = telling.redrawn(sample, None if samples is None else samples[0])
    average = None
    if drawn is not None:
        average = telling.average(data, model, sample, np.ravel(record.decisions[0]).tolist())
    guess = None
    if attacker is not None:
        with suppress(LeakrangeError):  # for instance, it keeps nothing of what it learnt
            guess = telling.guessed(plan, model, record, attacker, standing.learnt.get(cell), truth)
    return Released(
        behaviour=behaviour(model),
        provider=model.provider,
        labels=telling.labels(plan, model, record, truth, release),
        release=release,
        left=telling.left(plan, model, record),
        guess=guess,
        redrawn=drawn,
        average=average,
    )
