"""The answer to a try: row by row what was released, and what was made of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from leakrange.data import Samples
from leakrange.scenario.plan import PlannedModel, PlannedPolicy
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.schemas import IntakeRecord
from leakrange.wire.trying import Released, Row
from services.controller.victim import telling
from services.controller.victim.demonstration import behaviour
from services.controller.victim.samples import samples_of
from services.controller.victim.standing import Standing

__all__ = ["rows"]


def rows(
    standing: Standing,
    found: Mapping[tuple[str, str], IntakeRecord],
    sample: NDArray[np.uint8],
    truth: Mapping[str, int],
) -> list[Row]:
    """A row for each defence, from the ``found`` releases by model and defence."""
    shown = standing.shown
    data, _ = samples_of(shown)
    made = []
    for policy in shown.defences:
        releases = [
            _told(standing, model, policy, found[model.id, policy.defence], data, sample, truth)
            for model in shown.models
            if (model.id, policy.defence) in found
        ]
        chain = [next(iter(each)) if isinstance(each, dict) else str(each) for each in policy.chain]
        made.append(Row(defence=policy.defence, chain=chain, releases=releases))
    return made


def _told(
    standing: Standing,
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
        with suppress(LeakrangeError):  # it keeps nothing of what it learnt, say
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
