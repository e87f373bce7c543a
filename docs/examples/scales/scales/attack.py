"""The attack: all that it has is a number."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge


class Least(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    least: Annotated[float, Field(ge=0)] = 0.1


@attacks.register("scales")
class Scales(Attack):
    """How many weights of a model are large."""

    name: ClassVar[str] = "scales"
    summary: ClassVar[str] = "counts the large weights of a model's file"
    paper: ClassVar[str] = ""
    equation: ClassVar[str] = "#{w: |w| ≥ least}"
    kind: ClassVar[str] = "weighing"
    consumes: ClassVar[tuple[str, ...]] = ("logits",)
    grants: ClassVar[tuple[str, ...]] = ("the model's file",)
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    Parameters: ClassVar[type[BaseModel]] = Least
