"""The base of defences that know which attributes the features are for."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leakrange.data.samples import Names
from leakrange.defences.representation.federated import FederatedParameters

__all__ = ["TaskParameters"]


class TaskParameters(FederatedParameters):
    """``useful``: the attributes of the task, whose labels devices have. ``strength``: the weight of hiding,
    from 0 to 1; the remaining weight is the task's."""

    useful: Names
    strength: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
