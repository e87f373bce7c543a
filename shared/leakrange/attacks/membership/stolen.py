"""Membership through a copy: the model is asked about other records than those in question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Knowledge, check_lengths
from leakrange.attacks.extraction import CopyParameters, copied_net
from leakrange.attacks.membership.membership import MembershipAttack, MembershipEvidence, check, scaled_logit
from leakrange.jobs.versions import VersionChange
from leakrange.wire.errors import InvalidInput

__all__ = ["StolenModel"]

FEWEST = 50


class StolenParameters(CopyParameters):
    """The most records of the population that the model is asked about (``auxiliary``), and those of a copy.
    ``queries`` is how often it is asked about a record in question: never."""

    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 5000
    queries: Annotated[int, Field(ge=0, le=0)] = 0


@attacks.register("stolen-model")
class StolenModel(MembershipAttack):
    """A copy learns the target's answers about records of the population. It is asked about the records in
    question, and the target never: its API sees no record of the pool, and the copy answers for nothing."""

    name: ClassVar[str] = "stolen-model"
    version: ClassVar[int] = 1
    changes: ClassVar[Mapping[int, VersionChange]] = {}
    summary: ClassVar[str] = "members have less loss in a copy of the model, which alone is asked about them"
    paper: ClassVar[str] = "Jagielski et al. 2023"
    equation: ClassVar[str] = "Section 4 (members of a teacher through its student; by loss)"
    grants: ClassVar[tuple[str, ...]] = (
        "queries",
        "the records and their true classes",
        "population records",
    )
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "averaging")
    needs: ClassVar[tuple[str, ...]] = (
        "samples",
        "population",
        "population_labels",
        "population_samples",
    )
    Parameters: ClassVar[type[BaseModel]] = StolenParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """φ of each record by the copy, (N,). Raises `InvalidInput` for fewer answers than it can learn from,
        and for evidence without the samples."""
        from leakrange.providers.inference import outputs

        check(evidence)
        asked, samples, spec = evidence.population_samples, evidence.samples, evidence.spec
        if asked is None or samples is None or spec is None:
            raise InvalidInput("the attack learns from the samples, and has only answers about them")
        check_lengths(labels=evidence.labels, samples=samples)
        check_lengths(population=evidence.population, population_samples=asked)
        if len(asked) < FEWEST:
            raise InvalidInput(f"a population of {len(asked)} records; a copy learns from {FEWEST} or more")
        copy = copied_net(asked, evidence.population, evidence.release, spec, self.parameters, evidence.seed)
        return scaled_logit(outputs(copy, samples, "logits"), evidence.labels, "logits")
