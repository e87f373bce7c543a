"""Playing a user who has a model of its own: taught by a provider's answers, used on the victims' samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.distillation import DistillationParameters
from leakrange.jobs.job import FitJob, Span
from leakrange.jobs.recipe import NetSpec, Schedule
from leakrange.store.files import FolderStore
from leakrange.wire.errors import InvalidInput
from services.attacker.evidence import joined
from services.attacker.spans import span_of

__all__ = ["student_outputs"]


def student_outputs(job: FitJob, store: FolderStore) -> NDArray[np.float32]:
    """Soft outputs (V, Y) of the student that the job's answers teach, for the samples of its victims.

    No label is read. Raises `NotFound` for answers that are not stored, `InvalidInput` for such as do not fit
    the samples.
    """
    from leakrange.providers.distillation import distil
    from leakrange.providers.inference import outputs

    if job.student is None:
        raise InvalidInput(f"attack {job.attack!r} needs a student, and the job describes none")
    parameters = DistillationParameters.model_validate(job.parameters)
    answers = joined(store, job.auxiliary)[: job.auxiliary_count]
    data, chosen = span_of(job.span)
    student = distil(
        data.values[chosen[: job.auxiliary_count]],
        answers,
        spec=data.spec,
        net=NetSpec(name=job.student.teacher.name, width=job.student.teacher.width * parameters.width),
        schedule=Schedule(epochs=parameters.epochs, batch=parameters.batch, lr=parameters.lr),
        temperature=parameters.temperature,
        seed=job.seed,
    )
    return np.concatenate([outputs(student, _values(span), "softmax") for span in job.student.victims])


def _values(span: Span) -> NDArray[Any]:
    data, chosen = span_of(span)
    return data.values[chosen]
