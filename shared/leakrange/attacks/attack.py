"""What an attack is: what it consumes, what its threat model grants it, and what it gives."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

__all__ = ["Attack", "Evidence", "Hidden", "Inference"]

Knowledge = Literal["unaware", "aware", "averaging"]
Hidden = Literal["attribute", "membership"]


@dataclass(frozen=True)
class Evidence:
    """All that a fleet attack gets.

    auxiliary: releases (A, N) float32 of samples whose hidden attribute it knows; auxiliary_labels: (A,), 0
    .. classes − 1. observed: the victims' releases (V, N) float32. release: their kind. Repeated draws of a
    release are averaged before they get here.
    """

    auxiliary: NDArray[np.float32]
    auxiliary_labels: NDArray[np.int64]
    observed: NDArray[np.float32]
    classes: int
    release: str
    seed: int = 0


@dataclass(frozen=True)
class Inference:
    """What an attack says of the victims: predicted (V,) int64, and scores (V, S) float32, higher meaning
    more likely."""

    predicted: NDArray[np.int64]
    scores: NDArray[np.float32]


class Attack(ABC):
    """A registered attack; instances carry its parameters.

    ``where`` is "provider" for what a curious provider does with what it is sent (nothing is fitted by the
    fleet), "fleet" for what an outsider does with what it could query, "user" for what a provider reads in
    the outputs of a model that its answers have taught a user, whom the fleet plays. ``hides`` is what it
    infers: an "attribute" of the users' records, or the "membership" of records in the training set (see
    `leakrange.attacks.membership`). ``knowledge`` are the kinds of attacker it can play, ``grants`` what it
    is given.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    equation: ClassVar[str]
    consumes: ClassVar[tuple[str, ...]]
    grants: ClassVar[tuple[str, ...]]
    where: ClassVar[Literal["provider", "fleet", "user"]]
    hides: ClassVar[Hidden] = "attribute"
    knowledge: ClassVar[tuple[Knowledge, ...]]
    Parameters: ClassVar[type[BaseModel]]

    def __init__(self, parameters: Any = None) -> None:
        self.parameters: Any = self.Parameters() if parameters is None else parameters

    def infer(self, evidence: Evidence) -> Inference:
        """Predict the victims' hidden attribute; only where ``where`` is "fleet"."""
        raise NotImplementedError(
            f"attack {self.name!r} is carried out by the {self.where}, not by the fleet"
        )
