"""Class-based membership inference without auxiliary data: a score for each class, and its sign.

FACELEAKS does not settle the sign of a score. Section 4.2 and Figure 4b say that members are more
concentrated (smaller S, smaller distances), Section 5.1 that S is larger for members. Defences can reverse a
sign (Table 3 has an AUC of .451). So no sign is fixed here: each is learnt on validation classes whose
membership is known, never on the test classes.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.gaussian import log_density
from leakrange.metrics.roc import auc
from leakrange.wire.errors import InvalidInput

__all__ = ["direction", "mixture_log_odds"]

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
