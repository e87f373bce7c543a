"""Membership attacks on records: their input and output, how sure a model is of each record, and the simplest
of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge, check_lengths
from leakrange.jobs.samples import MOST_VARIANTS
from leakrange.jobs.versions import VersionChange
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = [
    "FLOOR",
    "LossThreshold",
    "MembershipAttack",
    "MembershipEvidence",
    "QueryParameters",
    "ShadowParameters",
    "check",
    "log_confidence",
    "scaled_logit",
]


class QueryParameters(Strict):
    """How often a record is asked about: ``queries`` variants of it, the record itself first (see
    `leakrange.wire.samples.Encoding.variant`), each ``repeats`` times by an averaging attacker."""

    queries: Annotated[int, Field(ge=1, le=MOST_VARIANTS + 1, exclude_if=lambda queries: queries == 1)] = 1
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


class ShadowParameters(QueryParameters):
    """The number of shadow models that the attacker trains.

    Shadows come in pairs that split the pool: each record is a member of exactly one of the two. So half of
    ``shadows`` were trained on a given record.
    """

    shadows: Annotated[int, Field(ge=2, le=512, multiple_of=2)] = 16


@dataclass(frozen=True)
class MembershipEvidence:
    """The input of a membership attack on N records.

    observed: the target's releases (Q, N, Y) for Q queries of each record (unchanged, mirrored, ...). labels:
    their true classes (N,). shadows: the releases of the attacker's K own models for the same queries (K, Q,
    N, Y). members: (K, N), which records each shadow was trained on. population: the target's releases (Z, Y)
    for Z records that no model was trained on, with population_labels (Z,) and population_shadows (K, Z, Y).
    release: "logits" or "softmax". samples: the records (N, *shape) themselves, of ``spec``, and
    population_samples (Z, *shape); None where an attacker has only answers about them.
    """

    observed: NDArray[np.floating]
    labels: NDArray[np.integer]
    shadows: NDArray[np.floating]
    members: NDArray[np.bool_]
    population: NDArray[np.floating]
    population_labels: NDArray[np.integer]
    population_shadows: NDArray[np.floating]
    release: str
    samples: NDArray[Any] | None = None
    population_samples: NDArray[Any] | None = None
    spec: SampleSpec | None = None
    seed: int = 0


_MAY_BE_MISSING = ("shadows", "members", "population", "population_labels", "population_shadows")


class MembershipAttack(Attack):
    """An attack that gives each record a score. A higher score means that the target was more likely trained
    on it."""

    kind: ClassVar[str] = "membership"
    version: ClassVar[int] = 2
    changes: ClassVar[Mapping[int, VersionChange]] = {
        2: VersionChange(
            "it finds what probabilities below a ten-millionth tell", {"release": ("softmax", None)}
        )
    }
    crafts: ClassVar[bool] = False
    """Whether it asks about samples that are crafted against its shadow models, in place of the records."""
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    arrays: ClassVar[type[Any] | None] = MembershipEvidence

    @classmethod
    def arrays_filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """With the axis of a single query, and no shadows and no population, where they are not given."""
        if "population" in given and "observed" not in given and "labels" in given:
            nobody = np.empty((0, len(given["labels"]), given["population"].shape[-1]), np.float32)
            given = {"observed": nobody, **given}
        if "observed" not in given:
            return dict.fromkeys(_MAY_BE_MISSING, np.empty(0)) | given
        axes = {"observed": (2, 0), "shadows": (3, 1)}
        for name, (count, place) in axes.items():
            if name in given and given[name].ndim == count:
                given = given | {name: np.expand_dims(given[name], place)}
        observed = given["observed"]
        count, width = observed.shape[-2:]
        filled = {
            "shadows": np.empty((0, *observed.shape), np.float32),
            "members": np.empty((0, count), bool),
            "population": np.empty((0, width), np.float32),
            "population_labels": np.empty(0, np.int64),
        } | given
        nothing = np.empty((len(filled["members"]), *filled["population"].shape), np.float32)
        return {"population_shadows": nothing, **filled}

    def on_arrays(self, evidence: Any) -> Any:
        """See `score`."""
        return self.score(evidence)

    @abstractmethod
    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """One finite score per record, (N,). Raises `InvalidInput` for evidence that cannot be used."""


def check(evidence: MembershipEvidence) -> None:
    """Raise `InvalidInput` where the evidence's arrays do not fit together."""
    observed, shadows, members = evidence.observed, evidence.shadows, evidence.members
    check_lengths(population=evidence.population, population_labels=evidence.population_labels)
    if observed.ndim != 3 or observed.shape[1] != len(evidence.labels):
        raise InvalidInput(f"observed releases {observed.shape} of {len(evidence.labels)} labelled records")
    if shadows.shape != (len(members), *observed.shape) or members.shape[1:] != evidence.labels.shape:
        raise InvalidInput(
            f"shadows' releases {shadows.shape} and memberships {members.shape} for observed {observed.shape}"
        )
    if evidence.population_shadows.shape != (len(members), *evidence.population.shape):
        raise InvalidInput(
            f"shadows' releases {evidence.population_shadows.shape} of a population with "
            f"{evidence.population.shape}"
        )


FLOOR = 1e-7
"""The least probability that is read from a soft output, where no smaller one above 0 was released: values
that were rounded, cut or drowned in noise may be 0 or less. A sure model releases much smaller ones, and
float32 holds them to 1e-38 with all their digits."""


def log_confidence(
    releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str
) -> NDArray[np.float64]:
    """log p_y: releases (..., N, Y) and true classes (N,) to (..., N), at most 0.

    For ``kind`` "logits" by log-softmax. For "softmax", values below `FLOOR`, or below the least one above 0
    that the same model gave to the same query of any record, are raised to it, and each row is normalised to
    sum 1, so that defended outputs can be read as distributions.

    Raises `InvalidInput` for another kind, shapes that do not fit, or values that are not finite.
    """
    true_class, others = _log_odds(releases, labels, kind)
    return true_class - np.logaddexp(true_class, others)


def scaled_logit(
    releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str
) -> NDArray[np.float64]:
    """φ = log(p_y / (1 − p_y)) (Carlini et al. 2022, Section IV), (..., N). Arguments and errors as for
    `log_confidence`.

    1 − p_y is computed as the sum of the other classes' probabilities, not as a difference, so that φ stays
    exact where p_y is near 1.
    """
    true_class, others = _log_odds(releases, labels, kind)
    return true_class - others


def _log_odds(
    releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of p_y and of the sum of the other classes' probabilities, up to a common constant."""
    if kind not in ("logits", "softmax"):
        raise InvalidInput(f"membership is read from logits or softmax, not from {kind}")
    if releases.ndim < 2 or releases.shape[-1] < 2 or releases.shape[-2:-1] != labels.shape:
        raise InvalidInput(f"releases {releases.shape} and {labels.shape} labels do not fit together")
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= releases.shape[-1]:
        raise InvalidInput(f"labels must be at least one, and lie in 0..{releases.shape[-1] - 1}")
    odds = np.empty((2, *releases.shape[:-1]))
    for place in np.ndindex(releases.shape[:-2]):  # one model at a time: many need much memory
        odds[(slice(None), *place)] = _odds_of_one(releases[place], labels, kind)
    return odds[0], odds[1]


def _odds_of_one(
    releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """See `_log_odds`: for the answers (N, Y) of one model to one query of each record."""
    logs = np.asarray(releases, dtype=np.float64)
    if not np.isfinite(logs).all():
        raise InvalidInput("a release holds values that are not finite")
    if kind == "softmax":
        logs = np.log(np.maximum(logs, logs.min(initial=FLOOR, where=logs > 0)))
    logs = logs - logs.max(axis=-1, keepdims=True)
    mine = np.arange(logs.shape[-1]) == labels[:, np.newaxis]
    true_class = logs[np.arange(len(labels)), labels]
    rest = np.where(mine, -np.inf, logs)
    top = rest.max(axis=-1)
    others = top + np.log(np.exp(rest - top[:, np.newaxis]).sum(axis=-1))
    return true_class, others


@attacks.register("loss-threshold")
class LossThreshold(MembershipAttack):
    """Predicts membership from the cross-entropy −log p_y, with one threshold for all records.

    It uses no shadow models, so records that are easy for every model look like members.
    """

    name: ClassVar[str] = "loss-threshold"
    summary: ClassVar[str] = "members have less loss: one threshold for all records"
    paper: ClassVar[str] = "Yeom et al. 2018"
    equation: ClassVar[str] = "Adversary 2 (threshold)"
    grants: ClassVar[tuple[str, ...]] = ("queries", "the records and their true classes")
    Parameters: ClassVar[type[BaseModel]] = QueryParameters

    def score(self, evidence: MembershipEvidence) -> NDArray[np.float64]:
        """φ of each record, averaged over its queries. For a single query it ranks records as −loss does, but
        keeps losses near 0 apart."""
        check(evidence)
        return np.asarray(scaled_logit(evidence.observed, evidence.labels, evidence.release).mean(axis=0))
