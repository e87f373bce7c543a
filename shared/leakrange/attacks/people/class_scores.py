"""Scores and features of people, from a service's answers about their images: S of their covariance,
statistics of their distances, and mixtures of either.

FACELEAKS does not settle the sign of a score. Section 4.2 and Figure 4b say that members are more
concentrated (smaller S, smaller distances), Section 5.1 that S is larger for members. Defences can reverse a
sign (Table 3 has an AUC of .451). So no sign is fixed here: each is learnt on validation classes whose
membership is known (`direction`), never on the test classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classifiers import Projection
from leakrange.attacks.people.covariance import (
    class_covariances,
    covariance_score,
    log_density,
    upper_triangle,
)
from leakrange.metrics.roc import auc
from leakrange.wire.errors import InvalidInput

__all__ = [
    "STATISTICS",
    "ClassScores",
    "Statistic",
    "class_statistics",
    "direction",
    "distance_statistics",
    "mixture_log_odds",
    "of_distances",
    "of_vectors",
]

Statistic = Literal[
    "mean",
    "median",
    "variance",
    "mean absolute deviation",
    "median absolute deviation",
    "inter-quartile range",
]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)


def distance_statistics(distances: NDArray[np.floating]) -> NDArray[np.float64]:
    """The `STATISTICS` (6,) of distances (q,), q ≥ 1 (FACELEAKS Section 5.2).

    The variance is over q, so that one distance has one, too. The mean absolute deviation is from the mean,
    the median one from the median, unscaled; quartiles are interpolated linearly.
    """
    if distances.ndim != 1 or not len(distances) or not np.isfinite(distances).all():
        raise InvalidInput("statistics need one finite distance or more")
    exact = np.asarray(distances, dtype=np.float64)
    mean, median = exact.mean(), np.median(exact)
    low, high = np.quantile(exact, [0.25, 0.75])
    return np.array(
        [
            mean,
            median,
            exact.var(),
            np.abs(exact - mean).mean(),
            np.median(np.abs(exact - median)),
            high - low,
        ]
    )


def class_statistics(
    distances: NDArray[np.floating], pair_person: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The classes (C,) that have a distance, ascending, and the `STATISTICS` (C, 6) of each.

    ``pair_person`` (q,): the person whose images give each of ``distances`` (q,). Raises `InvalidInput` where
    lengths differ or a distance is not finite.
    """
    if distances.shape != pair_person.shape or distances.ndim != 1 or not len(distances):
        raise InvalidInput(f"distances {distances.shape} and persons {pair_person.shape} do not match")
    order = np.argsort(pair_person, kind="stable")
    classes, starts = np.unique(pair_person[order], return_index=True)
    parts = np.split(distances[order], starts[1:])
    return classes, np.stack([distance_statistics(part) for part in parts])


Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


def direction(table: NDArray[np.floating], member: Mask) -> tuple[int, int]:
    """The column of scores (C, s) whose AUC for ``member`` (C,) is furthest from .5 (the first of equals),
    and 1 where larger means member there, else −1."""
    areas = np.array([auc(column, member) for column in table.T])
    column = int(np.argmax(np.abs(areas - 0.5)))
    return column, 1 if areas[column] >= 0.5 else -1


def mixture_log_odds(
    features: NDArray[np.floating],
    components: int = 2,
    scale: Literal["common", "each"] = "common",
    covariance: Literal["full", "tied", "diag"] = "full",
    regularisation: float = 1e-2,
    seed: int = 0,
) -> Floats:
    """Fit a Gaussian mixture to the classes' features (C, d) and give each component's posterior π of each
    class as log-odds ln π/(1 − π): (C, ``components``). No membership is read.

    FACELEAKS takes 2 components for features after PCA to 50 (Section 5.1), 3 for recognition after PCA to 15
    (5.3) and 3 for the statistics of distances (5.2), and the posterior as decision threshold. Log-odds order
    classes as the posterior does, but where that is 0 or 1 in floats, they still tell classes apart. Which
    component means member is for `direction` to learn.

    scale: "common" divides all features by one number, which leaves principal components in proportion;
    "each" standardises every one, for statistics in different units. regularisation: added to the variances
    after scaling. Fewer classes than a full covariance needs (d(d + 3)/2 numbers a component): take fewer
    principal components, or "diag".

    Raises `InvalidInput` for fewer classes than components, and for features that are not finite.
    """
    from sklearn.mixture import GaussianMixture

    if features.ndim != 2 or len(features) < max(components, 2) or components < 2:
        raise InvalidInput(f"no mixture of {components} components fits features {features.shape}")
    if not np.isfinite(features).all():
        raise InvalidInput("features must be finite")
    centred = features - features.mean(axis=0, dtype=np.float64)
    deviation = centred.std(axis=0)
    size = deviation if scale == "each" else np.sqrt((deviation**2).max())
    scaled = centred / np.where(size > 0, size, 1.0)
    mixture = GaussianMixture(
        components,
        covariance_type=covariance,
        reg_covar=regularisation,
        n_init=5,
        max_iter=1000,
        random_state=seed,
    ).fit(scaled)
    joint = np.stack(
        [
            np.log(weight) + log_density(scaled, mean, matrix)
            for weight, mean, matrix in zip(
                mixture.weights_, mixture.means_, _matrices(mixture, components, covariance), strict=True
            )
        ],
        axis=1,
    )
    others = [np.logaddexp.reduce(np.delete(joint, k, axis=1), axis=1) for k in range(components)]
    log_odds: Floats = joint - np.stack(others, axis=1)
    return log_odds


def _matrices(mixture: Any, components: int, covariance: str) -> list[Floats]:
    """The components' covariances (d, d), from the form that scikit-learn has for each ``covariance``."""
    if covariance == "tied":
        return [mixture.covariances_] * components
    return [each if covariance == "full" else np.diag(each) for each in mixture.covariances_]


NORMS = ((1.0, 1.0), (1.0, 0.0), (2.0, 1.0), (2.0, 0.0))
"""p and λ of Eq. 3; with λ = 0 only the variances count."""
COMPONENTS = {"features": 50, "recognition": 15}
"""Principal components of the upper triangles (Sections 5.1 and 5.3)."""
MIXTURE = {"features": 2, "recognition": 3, "verification": 3}


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
