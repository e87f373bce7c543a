"""What each party spends on a request, as data: every number says how it was measured, and by which command.

``costs.yaml`` beside this module holds ours. Whoever measured her own machines gives a file of her own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import Field, ValidationError

from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["COSTS", "Cost", "Costs", "read", "read_costs"]

COSTS = Path(__file__).with_name("costs.yaml")
Model = TypeVar("Model", bound=Strict)
LONGEST = 1 << 20
"""Bytes of a file of costs."""


class Cost(Strict):
    """So many ms of CPU time, what for, how that was measured, and the command that measures it."""

    value: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
    what: str
    how: str
    command: str


class Costs(Strict):
    """The costs of a request at each part, by name, and the machine that they were measured on."""

    machine: str
    client_request: Cost
    client_megabyte: Cost
    client_wake: Cost
    proxy_exact: Cost
    proxy_leased: Cost
    proxy_megabyte: Cost
    proxy_wake: Cost
    redis_script: Cost
    redis_wake: Cost
    provider_request: Cost
    provider_megabyte: Cost
    provider_wake: Cost
    sample: Cost
    each_pass: Cost
    worker_chunk: Cost
    worker_sample: Cost
    controller_chunk: Cost
    variation: Cost
    """No time, but the deviation of a time over its mean."""

    def seconds(self, name: str) -> float:
        """The seconds of the cost of that name."""
        cost: Cost = getattr(self, name)
        return cost.value / 1e3


def read_costs(path: Path = COSTS) -> Costs:
    """The costs in a YAML file. Raises `InvalidInput` where it cannot be read, or lacks a number, or says
    nothing of how one was measured."""
    return read(path, Costs, f"{COSTS} is complete")


def read(path: Path, model: type[Model], hint: str) -> Model:
    """What a file of YAML or JSON holds. Raises `InvalidInput`, with all that is wrong and the ``hint``."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise InvalidInput(f"{path} has more than {LONGEST:,} characters", hint=hint)
        return model.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, each['loc'])) or 'the file'}: {each['msg']}" for each in error.errors())
        raise InvalidInput(f"{path}: {'; '.join(wrong)}", hint=hint) from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", hint=hint) from error
