"""How a worker of the fleet does it."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakrange.services.attacker.artifacts import find_whole
from leakrange.services.attacker.task import JobContext, fleet_task
from leakrange.store.files import put_arrays
from leakrange.wire.errors import NotFound
from scales.step import WEIGH, WeighJob


@fleet_task(WEIGH, seconds=60.0)
def weigh(job: WeighJob, context: JobContext) -> dict[str, Any]:
    """Read the model's file, and store the count."""
    from safetensors.numpy import load_file

    folder = find_whole(context.settings.models_dir, job.artifact)
    if folder is None:
        raise NotFound(f"the model {job.artifact[:12]} is not trained")
    tensors = load_file(folder / "classifier.safetensors").values()
    count = sum(int((np.abs(each) >= job.least).sum()) for each in tensors)
    put_arrays(context.releases, WEIGH.file(job.identity()), {"count": np.asarray(count)})
    return {"count": count}
