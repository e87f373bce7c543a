"""Messages between the controller and the fleet: orders of jobs, and reports on them.

The controller stores an `Order` under ``leakrange:order:{identity}`` and sends a message that names the
identity alone. A worker that gets the message reads the order, takes the lease ``leakrange:lease:{identity}``
and keeps it alive. If the result is not stored yet, it does the work and stores the result atomically. It
deletes the order, gives up the lease, and reports to the Redis stream `REPORTS`. A job without a lease that
is in no queue was lost, and the controller sends it again.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny

from leakrange.jobs.step import Job, steps

__all__ = ["CANCEL", "LEASE", "ORDER", "REPORTS", "JobReport", "Order"]

REPORTS = "leakrange:reports"
LEASE = "leakrange:lease:{identity}"
ORDER = "leakrange:order:{identity}"
"""Holds the `Order` of a job until the job is brought to an end. A message that finds none is left alone."""
CANCEL = "leakrange:cancel:{identity}"
"""Set by the controller: a queued job that finds it is dropped, a training that runs is stopped."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _of_its_step(value: object) -> object:
    """Build the job of a mapping whose ``kind`` names a step that the fleet does."""
    if not isinstance(value, dict):
        return value
    step = steps.get(str(value.get("kind")))
    if step is None or step.job is None:
        raise ValueError(f"the fleet does nothing of the kind {value.get('kind')!r}")
    return step.job.model_validate(value)


class Order(_Strict):
    """A job as the controller sent it last.

    ``attempt`` counts the failures so far that may pass. ``until`` (Unix time) is when what an earlier
    attempt has left in flight is over.
    """

    job: Annotated[SerializeAsAny[Job], BeforeValidator(_of_its_step)]
    attempt: Annotated[int, Field(ge=0)] = 0
    until: float | None = None


class JobReport(_Strict):
    """One entry of the stream `REPORTS` (field ``json``): a job was started, made progress, was done, failed,
    or has to be sent again later (``postponed``).

    ``progress`` in [0, 1]. ``data`` depends on the kind of job (an epoch's figures, queries a second,
    ...); of a postponed one it is the pause in ``seconds``, and the next order's ``attempt`` and ``until``.
    """

    identity: str
    kind: str
    state: Literal["started", "progress", "postponed", "done", "failed"]
    worker: str
    progress: float = 0.0
    message: str = ""
    data: dict[str, Any] = {}
