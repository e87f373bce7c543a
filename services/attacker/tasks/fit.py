"""Fits an attack on stored releases and stores its inferences, or the outputs of its own model."""

from __future__ import annotations

import time
from typing import Any

from leakrange.attacks.kinds import fit_attack
from leakrange.jobs.steps.fit import FIT, FitJob
from leakrange.services.attacker.task import JobContext, fleet_task
from leakrange.store.files import put_arrays
from leakrange.store.releases import StoredReleases


@fleet_task(FIT, seconds=1800.0)
def fit(job: FitJob, context: JobContext) -> dict[str, Any]:
    """Run the attack's `Kind.infer` on the job's evidence, and store the arrays."""
    begun = time.perf_counter()
    _one_thread()
    arrays = fit_attack(job, StoredReleases(context.releases, job.versions))
    put_arrays(context.releases, FIT.file(job.identity()), arrays)
    return {"seconds": round(time.perf_counter() - begun, 4)}


def _one_thread() -> None:
    """Workers share the cores. Imported here: the process that forks the workers must never have torch."""
    import torch

    torch.set_num_threads(1)
