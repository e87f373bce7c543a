"""Attribute inference from few labelled records as an attack of the fleet (FACELEAKS Algorithm 2)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack, Evidence, Inference, Knowledge
from leakrange.attacks.people.attribute import attribute_scores
from leakrange.wire.errors import InvalidInput

__all__ = ["PeopleAttribute"]

FEWEST = 4


class PeopleAttributeParameters(BaseModel):
    """The attribute; the largest number of pictures of the public whose attribute the attacker knows; how
    often an averaging attacker repeats a query."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sensitive: str
    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 400
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


@attacks.register("people-attribute")
class PeopleAttribute(AttributeAttack):
    """Logistic regression on a service's answers about pictures of people whose attribute is known."""

    name: ClassVar[str] = "people-attribute"
    summary: ClassVar[str] = "reads an attribute of people whom a teacher never saw from a service's answers"
    paper: ClassVar[str] = "FACELEAKS"
    equation: ClassVar[str] = "Algorithm 2, Figure 7"
    kind: ClassVar[str] = "people-attribute"
    consumes: ClassVar[tuple[str, ...]] = ("features", "softmax")
    grants: ClassVar[tuple[str, ...]] = ("queries", "pictures of other people with the attribute")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    Parameters: ClassVar[type[BaseModel]] = PeopleAttributeParameters

    def infer(self, evidence: Evidence) -> Inference:
        """Scores (V, 2) are −s and s, of which s is above 0 where the second class is predicted."""
        if evidence.classes != 2:
            raise InvalidInput(f"the attack tells two classes apart, not {evidence.classes}")
        score = attribute_scores(
            evidence.auxiliary,
            evidence.auxiliary_labels == 1,
            evidence.observed,
            evidence.auxiliary_group,
            evidence.seed,
        )
        scores = np.stack([-score, score], axis=1).astype(np.float32)
        return Inference((score > 0).astype(np.int64), scores)
