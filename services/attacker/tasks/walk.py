"""Walking: requests that depend on earlier answers, each under an identity that makes a repeat free."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.attack import Walk, WalkingAttack
from leakrange.data import datasets
from leakrange.data.spans import span_of
from leakrange.jobs.steps.walk import WALK, WalkJob
from leakrange.services.attacker.keys import derived_key
from leakrange.services.attacker.task import JobContext, fleet_task
from leakrange.services.attacker.tasks.probe import connection
from leakrange.store.files import put_arrays
from leakrange.store.releases import StoredReleases
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import RELEASES
from leakrange.wire.errors import InvalidInput

REQUEST = 256
"""The most samples of one request."""


@fleet_task(WALK, seconds=1800.0)
def walk(job: WalkJob, context: JobContext) -> dict[str, Any]:
    """Let the attack ask about the span's samples, and store what it gives. Raises `Conflict` for an attack
    of other versions than were planned."""
    job.check_versions()
    key = derived_key(job.account, context.settings)
    server = connection(context.settings.request_timeout)
    numbers, identity = itertools.count(), job.identity()

    def ask(samples: NDArray[Any]) -> NDArray[np.float32]:
        answers = [
            server.query(
                job.url,
                key,
                job.model,
                job.endpoint,
                samples[start : start + REQUEST],
                digest([identity, next(numbers)]),
            )
            for start in range(0, len(samples), REQUEST)
        ]
        return np.concatenate(answers)

    begun = time.perf_counter()
    data, chosen = span_of(job.span)
    kept = StoredReleases(context.releases)
    of_span = [job.span.model_dump(mode="json"), datasets[job.span.data.name].version]
    start = Walk(
        samples=data.values[chosen],
        labels=None if job.target is None else data.labels[job.target][chosen],
        spec=data.spec,
        release=RELEASES[job.endpoint],
        queries=job.queries,
        seed=job.seed,
        once=lambda name, make: kept.once(digest([name, *of_span]), make),
    )
    entry = attacks[job.attack]
    if not issubclass(entry, WalkingAttack):
        raise InvalidInput(f"the attack {job.attack!r} does not choose what it asks")
    arrays = entry(entry.Parameters.model_validate(job.parameters)).walk(start, ask)
    put_arrays(context.releases, WALK.file(identity), arrays)
    return {"samples": int(arrays["asked"].sum()), "seconds": round(time.perf_counter() - begun, 4)}
