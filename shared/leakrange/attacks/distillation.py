"""Distillation: a user's own model, trained on a curious provider's answers, leaks as well (HBC Section
5.8)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge

__all__ = ["Distillation", "DistillationParameters"]

FEWEST = 50


class DistillationParameters(BaseModel):
    """The student and its training.

    ``auxiliary``: the largest number of the user's own unlabelled records to query; its data and its budget
    may allow fewer. ``more`` names another data set whose training samples the user queries as well.
    ``width``: of the student's layers, relative to the teacher's. ``temperature`` of the soft outputs in the
    loss; 1 leaves them as they are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 100_000
    more: str | None = None
    width: Annotated[float, Field(gt=0.0, le=2.0)] = 0.5
    temperature: Annotated[float, Field(ge=0.1, le=100.0)] = 1.0
    epochs: Annotated[int, Field(ge=1, le=1000)] = 30
    batch: Annotated[int, Field(ge=8, le=4096)] = 50
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 2e-3


@attacks.register("distillation")
class Distillation(Attack):
    """A user queries unlabelled records and trains a student on the soft outputs by Eq. 11. Users of the
    student upload its outputs, and the provider applies its decoder to these.

    The student is trained in the fleet, which does not have the decoder; the provider never sees the student.
    """

    name: ClassVar[str] = "distillation"
    summary: ClassVar[str] = "the provider decodes the outputs of a student that its answers have taught"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Eq. 11, Table 6"
    consumes: ClassVar[tuple[str, ...]] = ("softmax",)
    grants: ClassVar[tuple[str, ...]] = ("training of the teacher", "every release of the student's users")
    kind: ClassVar[str] = "student"
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("aware",)
    Parameters: ClassVar[type[BaseModel]] = DistillationParameters
