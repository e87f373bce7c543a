"""The attack `multilateration`: a hidden embedding, from its distances to known ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput
from leakrange.wire.schemas import Distance

__all__ = ["FEWEST_REFERENCES", "Multilateration", "TemplateEvidence", "multilaterate"]

FEWEST_REFERENCES = 4
"""The least number of distances of a picture: with fewer no penalty can be chosen."""
PENALTIES = np.logspace(-12, 2, 15)
"""What the penalty is chosen from, as shares of the variance of the known embeddings."""
TINY = 1e-12
"""An influence on the own fit is held this far below 1."""


class MultilaterationParameters(Strict):
    """``references``: the largest number of pictures of the public with which every hidden picture is
    compared. ``targets``: the number of people whose hidden picture is recovered, one of each; all by
    default. ``net``: the embeddings of the references are by a net of the attacker's "own", which is trained
    on the public, or by the "provider"'s, for an attacker who has a copy. ``repeats``: how often an averaging
    attacker repeats a query."""

    references: Annotated[int, Field(ge=FEWEST_REFERENCES, le=100_000)] = 200
    targets: Annotated[int, Field(ge=2, le=100_000)] | None = None
    net: Literal["own", "provider"] = "own"
    repeats: Annotated[int, Field(ge=2, le=1000)] = 8


@dataclass(frozen=True)
class TemplateEvidence:
    """The embeddings of the references as the attacker knows them (R, d), and the ``distances`` (T, R) of
    hidden embeddings to the provider's own embeddings of the same references."""

    references: NDArray[np.floating]
    distances: NDArray[np.floating]
    distance: Distance


def multilaterate(
    references: NDArray[np.floating], distances: NDArray[np.floating], distance: Distance
) -> NDArray[np.float64]:
    """The embeddings (T, d) that lie at ``distances`` (T, R) from ``references`` (R, d); of cosine distances
    their directions.

    The square of a Euclidean distance to r is ‖z‖² + ‖r‖² − 2·r·z, and a cosine distance 1 − r·z of unit
    vectors. So (‖r‖² − D²)/2 or 1 − D is linear in r, with the slope z: d + 1 references in general position
    determine z (Tan and Zhou 2019, whose equations are differences of these). The slope is that of a ridge
    regression, whose penalty has the least error of distances that are left out one by one. From d + 2 exact
    distances on there is no such error, and no penalty. Answers that are all alike tell nothing: zeros.

    Raises `InvalidInput` for arrays that do not fit, fewer than four references, and values that are not
    finite.
    """
    if references.ndim != 2 or distances.ndim != 2 or distances.shape[1] != len(references):
        raise InvalidInput(
            f"{distances.shape} distances to references {references.shape} do not match: there is one of each"
        )
    if len(references) < FEWEST_REFERENCES:
        raise InvalidInput(
            f"{len(references)} references are too few: {FEWEST_REFERENCES} are needed at least"
        )
    if not (np.isfinite(references).all() and np.isfinite(distances).all()):
        raise InvalidInput("an embedding or a distance holds values that are not finite")
    known, answers = np.asarray(references, np.float64), np.asarray(distances, np.float64)
    if distance == "cosine":
        length = np.linalg.norm(known, axis=1, keepdims=True)
        known = known / np.where(length > 0, length, 1.0)
        products = 1.0 - answers
    else:
        products = ((known**2).sum(axis=1) - answers**2) / 2.0
    told = answers.std(axis=1) > 0
    slopes: NDArray[np.float64] = np.where(told[:, np.newaxis], _slopes(known, products.T).T, 0.0)
    return slopes


def _slopes(known: NDArray[np.float64], products: NDArray[np.float64]) -> NDArray[np.float64]:
    """The slopes (d, T) of the ridge regressions of ``products`` (R, T) on ``known`` (R, d), which share the
    penalty that is best for products that are left out (Allen, Technometrics 16, 1974)."""
    centred, shifted = known - known.mean(axis=0), products - products.mean(axis=0)
    left, singular, right = np.linalg.svd(centred, full_matrices=False)
    size = float((singular**2).sum())
    if size == 0:  # all references are one
        return np.zeros((known.shape[1], products.shape[1]))
    along = left.T @ shifted
    errors = []
    for penalty in size * PENALTIES:
        kept = singular**2 / (singular**2 + penalty)
        influence = 1.0 / len(known) + (left**2 * kept).sum(axis=1, keepdims=True)
        residual = shifted - left @ (kept[:, np.newaxis] * along)
        errors.append(float(((residual / np.maximum(1.0 - influence, TINY)) ** 2).sum()))
    penalty = size * PENALTIES[int(np.argmin(errors))]
    slopes: NDArray[np.float64] = right.T @ ((singular / (singular**2 + penalty))[:, np.newaxis] * along)
    return slopes


@attacks.register("multilateration")
class Multilateration(Attack):
    """A verification tells how far an enrolled picture is from pictures that the attacker sends. From enough
    distances follows the enrolled embedding, by which its person is found in a gallery of photographs."""

    name: ClassVar[str] = "multilateration"
    summary: ClassVar[str] = "recovers an enrolled embedding from its distances, and names its person"
    paper: ClassVar[str] = "Tan and Zhou 2019 (arXiv 1901.09769)"
    equation: ClassVar[str] = "‖z − r‖² = ‖z‖² + ‖r‖² − 2·r·z, solved for z"
    kind: ClassVar[str] = "template"
    consumes: ClassVar[tuple[str, ...]] = ("score",)
    grants: ClassVar[tuple[str, ...]] = (
        "comparisons with an enrolled picture",
        "pictures of the public",
        "photographs of people who may be enrolled",
    )
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "averaging")
    Parameters: ClassVar[type[BaseModel]] = MultilaterationParameters
    arrays: ClassVar[type[Any] | None] = TemplateEvidence

    def on_arrays(self, evidence: Any) -> Any:
        """See `recover`."""
        return self.recover(evidence)

    def recover(self, evidence: TemplateEvidence) -> NDArray[np.float64]:
        """See `multilaterate`."""
        return multilaterate(evidence.references, evidence.distances, evidence.distance)
