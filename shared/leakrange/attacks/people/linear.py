"""The attack `people-attribute`: infers an attribute from few labelled pictures (FACELEAKS Section 6)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack, Evidence, Inference, Knowledge, check_lengths
from leakrange.attacks.people.classifiers import choose_setting, fitted_scores
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["PeopleAttribute", "attribute_scores"]

Vectors = NDArray[np.floating]
Mask = NDArray[np.bool_]


def attribute_scores(
    auxiliary: Vectors,
    labels: Mask,
    target: Vectors,
    person: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Scores (t,) of the ``target`` releases (t, d), higher meaning that the attribute is present. A logistic
    regression is fitted on auxiliary releases (a, d) with ``labels`` (a,).

    Releases may be features, distances to reference identities x₂ (one column each), or confidence vectors.
    They are standardised. With `ENOUGH` records or more, the penalty is chosen by inner cross-validation that
    keeps the records of one ``person`` (a,) together. Raises as `fitted_scores`.
    """
    setting = choose_setting("logistic", auxiliary, labels, person, seed)
    return fitted_scores("logistic", auxiliary, labels, target, setting, seed)


FEWEST = 4


class PeopleAttributeParameters(Strict):
    """What is inferred, and from how many answers.

    ``sensitive``: the attribute. ``auxiliary``: the largest number of pictures of the public whose attribute
    the attacker knows. ``references``: the number of people of the public, one picture each, with whom a
    verification compares every picture. ``targets``: the number of pictures of the pool for which the
    attribute is inferred; all by default. ``among``: only pictures with these classes of other attributes are
    judged, such as ``source: lfw``. ``repeats``: how often an averaging attacker repeats a query.
    """

    sensitive: str
    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 400
    references: Annotated[int, Field(ge=1, le=1000)] = 20
    targets: Annotated[int, Field(ge=2, le=10_000_000)] | None = None
    among: dict[str, str] = {}
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


@attacks.register("people-attribute")
class PeopleAttribute(AttributeAttack):
    """Logistic regression on a service's answers about pictures of people whose attribute is known.

    An attacker who happens to know pictures of one class alone infers that class for everybody.
    """

    name: ClassVar[str] = "people-attribute"
    summary: ClassVar[str] = "infers an attribute of people whom a teacher never saw from a service's answers"
    paper: ClassVar[str] = "FACELEAKS"
    equation: ClassVar[str] = "Algorithm 2, Figures 7 and 8"
    kind: ClassVar[str] = "people-attribute"
    consumes: ClassVar[tuple[str, ...]] = ("features", "score", "softmax")
    grants: ClassVar[tuple[str, ...]] = ("queries", "pictures of other people with the attribute")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    Parameters: ClassVar[type[BaseModel]] = PeopleAttributeParameters

    def infer(self, evidence: Evidence) -> Inference:
        """Scores (V, 2) are −s and s, of which s is above 0 where the second class is predicted."""
        if evidence.classes != 2:
            raise InvalidInput(f"the attack tells two classes apart, not {evidence.classes}")
        check_lengths(auxiliary=evidence.auxiliary, auxiliary_labels=evidence.auxiliary_labels)
        labels = evidence.auxiliary_labels == 1
        if len(set(evidence.auxiliary_labels.tolist())) == 1:
            score = np.full(len(evidence.observed), 1.0 if labels[0] else -1.0)
        else:
            score = attribute_scores(
                evidence.auxiliary, labels, evidence.observed, evidence.auxiliary_group, evidence.seed
            )
        scores = np.stack([-score, score], axis=1).astype(np.float32)
        return Inference((score > 0).astype(np.int64), scores)
