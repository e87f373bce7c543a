"""The kinds of steps that a run is made of. Each is one file of `leakrange.jobs.steps`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from leakrange.registry import Registry

__all__ = ["Gate", "Job", "Step", "in_order", "label", "steps"]

Gate = Literal["", "sessions", "probes", "fits"]


class Job(BaseModel):
    """What a worker of the fleet is asked to do. ``kind`` is the name of its step.

    A job is idempotent by its identity: a worker stores the result under it, and never does it again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str

    def identity(self) -> str:
        """Digest of everything that decides the result, in hexadecimal digits."""
        raise NotImplementedError


@dataclass(frozen=True)
class Step:
    """A kind of step.

    - ``name``: at most 16 small letters, digits and hyphens. Events, tallies and messages use it.
    - ``label``: what a step of this kind is for people, in small letters: "training".
    - ``rank``: its place among the others in lists: those come first that a run begins with.
    - ``job``: what a worker is given. Without one, the controller takes the step itself.
    - ``queue``: the queue of its messages, where it is not ``name``.
    - ``stored``: how the file of the result ends, among the releases: it is ``{identity}.{stored}``. Empty
      where the result lies elsewhere.
    - ``gate``: the steps of one gate share a limit on how many of them a run takes at the same time. Empty
      for no limit.

    Raises `ValueError` for a name of another form.
    """

    name: str
    label: str
    rank: int
    job: type[Job] | None = None
    queue: str = ""
    stored: str = ""
    gate: Gate = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,15}", self.name):
            raise ValueError(f"a step is named by up to 16 small letters, digits and hyphens: {self.name!r}")
        object.__setattr__(self, "queue", self.queue or self.name)

    def file(self, identity: str) -> str:
        """The file that holds the result of that identity, among the releases."""
        return f"{identity}.{self.stored}"


steps = Registry[Step]("step", "leakrange.jobs.steps")


def in_order() -> list[Step]:
    """Return all kinds of steps by their rank."""
    return sorted(steps.values(), key=lambda step: (step.rank, step.name))


def label(name: str) -> str:
    """Return the label of a step of that name: the name itself, if no kind of step has it any more."""
    step = steps.get(name)
    return name if step is None else step.label
