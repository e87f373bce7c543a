"""The attackers' binary classifiers, behind one function, and the principal components that they may read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import FOLDS, even_folds, out_of_fold, person_folds, person_labels
from leakrange.attacks.people.covariance import class_covariance, log_density
from leakrange.wire.errors import InvalidInput

__all__ = ["DEFAULTS", "GRIDS", "Projection", "choose_setting", "fitted_scores", "projected"]

Vectors = NDArray[np.floating]


@dataclass(frozen=True)
class Projection:
    """A principal component analysis: mean (d,), and orthonormal axes (d, c) of descending variance.

    Each axis points where its largest coordinate is positive, so that it does not depend on the solver.
    """

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def fit(cls, vectors: Vectors, components: int) -> Projection:
        """Fit ``vectors`` (n, d). ``components`` is limited to the rank: at most d, and less than n.

        No label is read, so the target's own vectors may be among them (FACELEAKS fits it on all).
        Raises `InvalidInput` for fewer than 2 vectors, or for equal ones.
        """
        if vectors.ndim != 2 or len(vectors) < 2 or components < 1:
            raise InvalidInput(f"no {components} principal components of vectors {vectors.shape}")
        mean = vectors.mean(axis=0, dtype=np.float64)
        centred = vectors - mean
        # The smaller of the two Gram matrices: 400 upper triangles have 131,328 elements each.
        wide = len(vectors) < vectors.shape[1]
        variances, basis = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
        real = variances > max(variances[-1], 0.0) * 1e-12
        chosen = np.flatnonzero(real)[::-1][:components]
        if not len(chosen):
            raise InvalidInput("equal vectors have no principal components")
        axes = centred.T @ basis[:, chosen] / np.sqrt(variances[chosen]) if wide else basis[:, chosen]
        signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
        return cls(mean, axes * signs)

    def apply(self, vectors: Vectors) -> NDArray[np.float64]:
        """Coordinates (n, c) of ``vectors`` (n, d) along the axes."""
        coordinates: NDArray[np.float64] = (vectors - self.mean) @ self.axes
        return coordinates


def projected(known: Vectors, asked: Vectors, components: int | None) -> tuple[Vectors, Vectors]:
    """Project both arrays on the principal components of ``known``; unchanged where ``components`` is
    None."""
    if components is None:
        return known, asked
    fitted = Projection.fit(known, components)
    return fitted.apply(known), fitted.apply(asked)


Classifier = Literal["logistic", "svm", "forest", "qda"]
Mask = NDArray[np.bool_]

DEFAULTS: dict[Classifier, float] = {"logistic": 0.1, "svm": 0.1, "forest": 100, "qda": 0.3}
"""The strength C of the logistic regression and the SVM (inverse to the L2 penalty), the number of trees, and
the share of QDA's covariance that is made spherical."""
GRIDS: dict[Classifier, tuple[float, ...]] = {
    "logistic": (1e-3, 1e-2, 1e-1, 1.0, 10.0),
    "svm": (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
    "forest": (100,),
    "qda": (0.9, 0.6, 0.3, 0.1, 0.03),
}
"""What `choose_setting` chooses from, the simplest model first."""
ENOUGH = 50
"""With fewer records, none can be spared for the choice of a setting."""


def fitted_scores(
    classifier: Classifier,
    train: Vectors,
    positive: Mask,
    test: Vectors,
    setting: float | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Scores (t,) of ``test`` (t, d) by a classifier fitted on ``train`` (a, d) with labels ``positive``
    (a,); above 0 it predicts positive.

    Values are standardised by the training records'; one that never changes there is ignored. logistic: L2
    logistic regression; svm: linear, squared hinge; forest: share of votes above one half; qda: log-ratio of
    two normal densities times the labels' shares, each covariance (1 − r)·Σ + r·tr(Σ)/d·I with r =
    ``setting``. ``setting`` None is the one of `DEFAULTS`.

    Raises `InvalidInput` where shapes do not match, values are not finite, or a label lacks (qda: has fewer
    than 2 records).
    """
    if train.ndim != 2 or test.ndim != 2 or train.shape[1] != test.shape[1] or len(train) != len(positive):
        raise InvalidInput(
            f"records {train.shape}, their {len(positive)} labels and {test.shape} to be scored do not match"
        )
    if not (np.isfinite(train).all() and np.isfinite(test).all()):
        raise InvalidInput("a release holds values that are not finite")
    if min(int(positive.sum()), int((~positive).sum())) < (2 if classifier == "qda" else 1):
        raise InvalidInput("a classifier needs records of both labels")
    setting = DEFAULTS[classifier] if setting is None else setting
    mean, deviation = train.mean(axis=0, dtype=np.float64), train.std(axis=0, dtype=np.float64)
    deviation = np.where(deviation > 1e-12 * np.abs(mean), deviation, np.inf)
    known, asked = (np.asarray((part - mean) / deviation, dtype=np.float64) for part in (train, test))
    if classifier == "qda":
        return _log_ratio(known[positive], known[~positive], asked, setting)
    model = _model(classifier, setting, seed).fit(known, positive)
    if classifier == "forest":
        return np.asarray(model.predict_proba(asked)[:, 1] - 0.5, dtype=np.float64)
    return np.asarray(model.decision_function(asked), dtype=np.float64)


def choose_setting(
    classifier: Classifier,
    train: Vectors,
    positive: Mask,
    person: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> float:
    """The setting of `GRIDS` with the best AUC in `FOLDS` folds of the training records (a, d); on a tie, the
    simplest.

    ``person`` (a,) keeps the records of a person in one fold. With fewer than `ENOUGH` records, or fewer than
    two (persons) of a label for each fold, it is the one of `DEFAULTS`.
    """
    owners = positive if person is None else person_labels(person, positive)
    if len(positive) < ENOUGH or min(int(owners.sum()), int((~owners).sum())) < 2 * FOLDS:
        return DEFAULTS[classifier]
    fold = (
        even_folds(positive, FOLDS, seed) if person is None else person_folds(person, positive, FOLDS, seed)
    )

    def quality(setting: float) -> float:
        def score(fitted: NDArray[np.intp], held: NDArray[np.intp]) -> NDArray[np.float64]:
            return fitted_scores(classifier, train[fitted], positive[fitted], train[held], setting, seed)

        return float(np.mean(out_of_fold(fold, score).aucs(positive)))

    qualities = [quality(setting) for setting in GRIDS[classifier]]
    return GRIDS[classifier][int(np.argmax(np.round(qualities, 6)))]


def _model(classifier: Classifier, setting: float, seed: int) -> Any:
    if classifier == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=setting, max_iter=5000)
    if classifier == "svm":
        from sklearn.svm import LinearSVC

        return LinearSVC(C=setting, dual=False, max_iter=5000)
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=int(setting), random_state=seed)


def _log_ratio(
    positive: NDArray[np.float64],
    negative: NDArray[np.float64],
    test: NDArray[np.float64],
    spherical: float,
) -> NDArray[np.float64]:
    def fitted(records: NDArray[np.float64]) -> NDArray[np.float64]:
        width = records.shape[1]
        covariance = class_covariance(records)
        size = max(float(np.trace(covariance)) / width, 1e-12)
        # At least a little of the identity, so that there is an inverse even for few records.
        share = max(spherical, 1e-6)
        shrunk = (1 - share) * covariance + share * size * np.eye(width)
        density: NDArray[np.float64] = log_density(test, records.mean(axis=0), shrunk)
        return density + math.log(len(records))

    ratio: NDArray[np.float64] = fitted(positive) - fitted(negative)
    return ratio
