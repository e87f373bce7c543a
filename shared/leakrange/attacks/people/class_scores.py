"""Scores and features of people, from a service's answers about their images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.covariance import class_covariances, covariance_score, upper_triangle
from leakrange.attacks.people.pair_statistics import STATISTICS, class_statistics
from leakrange.attacks.people.projection import Projection
from leakrange.attacks.people.unsupervised import mixture_log_odds

__all__ = ["ClassScores", "of_distances", "of_vectors"]

NORMS = ((1.0, 1.0), (1.0, 0.0), (2.0, 1.0), (2.0, 0.0))
"""p and λ of Eq. 3; with λ = 0 only the variances count."""
COMPONENTS = {"features": 50, "recognition": 15}
"""Principal components of the upper triangles (Sections 5.1 and 5.3)."""
MIXTURE = {"features": 2, "recognition": 3, "verification": 3}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClassScores:
    """``scores`` (people, s) that need no auxiliary data, the ``names`` of their columns, and the columns of
    each method (``families``). ``features`` (people, d) are for a classifier; where ``components`` is not
    None, they are reduced to that many principal components first."""

    names: tuple[str, ...]
    families: Mapping[str, tuple[int, ...]]
    scores: Floats
    features: Floats
    components: int | None


def of_vectors(
    api: str, releases: NDArray[np.floating], people: int, *, mixture: bool = True, seed: int = 0
) -> ClassScores:
    """Scores from releases (people · m, k), person by person: S of Eq. 3 and, with ``mixture``, a Gaussian
    mixture of the upper triangles after PCA (Sections 5.1, 5.3). Covariances are unshrunk."""
    person = np.repeat(np.arange(people), len(releases) // people)
    covariances = class_covariances(releases, person)
    families = {"S": {f"S p={p:g} λ={w:g}": covariance_score(covariances, p, w) for p, w in NORMS}}
    features = upper_triangle(covariances)
    components = COMPONENTS[api]
    if mixture:
        reduced = Projection.fit(features, components).apply(features)
        odds = mixture_log_odds(reduced, MIXTURE[api], covariance="diag", seed=seed)
        families["mixture"] = _components(odds)
    return _joined(families, features, components)


def of_distances(
    distances: NDArray[np.floating], person: NDArray[np.int64], *, mixture: bool = True, seed: int = 0
) -> ClassScores:
    """Scores from distances (q,), each between two images of one ``person`` (q,): the statistics of Section
    5.2 and, with ``mixture``, a mixture of all six."""
    statistics = class_statistics(distances.ravel(), person)[1]
    families: dict[str, dict[str, Floats]] = {
        name: {name: column} for name, column in zip(STATISTICS, statistics.T, strict=True)
    }
    if mixture:
        odds = mixture_log_odds(statistics, MIXTURE["verification"], scale="each", seed=seed)
        families["mixture"] = _components(odds)
    return _joined(families, statistics, None)


def _components(odds: Floats) -> dict[str, Floats]:
    return {f"mixture {k}": column for k, column in enumerate(odds.T)}


def _joined(
    families: Mapping[str, Mapping[str, Floats]], features: Floats, components: int | None
) -> ClassScores:
    names = [name for family in families.values() for name in family]
    places = {family: tuple(names.index(name) for name in columns) for family, columns in families.items()}
    columns = [column for family in families.values() for column in family.values()]
    return ClassScores(tuple(names), places, np.stack(columns, axis=1), features, components)
