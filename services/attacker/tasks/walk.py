"""Walking: requests that depend on earlier answers, each under an identity that makes a repeat free."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.membership.boundary import BoundaryWalk
from leakrange.data.spans import span_of
from leakrange.jobs.steps.walk import WALK, WalkJob
from leakrange.services.attacker.keys import derived_key
from leakrange.services.attacker.task import JobContext, fleet_task
from leakrange.services.attacker.tasks.probe import connection
from leakrange.store.files import put_arrays
from leakrange.wire.digests import digest

REQUEST = 256
"""The most samples of one request."""


@fleet_task(WALK, seconds=180.0)
def walk(job: WalkJob, context: JobContext) -> dict[str, Any]:
    """Find the distances of the span's samples from the border, and store them."""
    key = derived_key(job.account, context.settings)
    server = connection(context.settings.request_timeout)
    numbers, identity = itertools.count(), job.identity()

    def ask(samples: NDArray[Any]) -> NDArray[np.integer]:
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
        classes: NDArray[np.intp] = np.concatenate(answers).argmax(axis=1)
        return classes

    begun = time.perf_counter()
    data, chosen = span_of(job.span)
    labels = data.labels[job.target][chosen]
    walks = BoundaryWalk(data.values[chosen], labels, data.spec, ask, job.queries, job.seed)
    distances = walks.distances()
    put_arrays(context.releases, WALK.file(identity), {"distances": distances, "asked": walks.asked})
    return {"samples": int(walks.asked.sum()), "seconds": round(time.perf_counter() - begun, 4)}
