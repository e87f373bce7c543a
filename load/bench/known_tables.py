"""Models of scikit-learn on drawn tables, of which it is known whether they leak, and what they answer.

Members are trained on; each model is well-trained or has learnt them by heart, by how it is made. An
attribute leaks where scores depend on it beyond the true class. Traps: members that differ by themselves from
others, and an attribute that goes with the true class. Some attributes are had by one in ten.

There are two halves without a model in common. Those who settled the thresholds and the rules of the audit
saw its verdicts on the first. The second was made afterwards, and nothing was changed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leakrange.data.importing.answer_columns import AnswerColumns
from leakrange.data.importing.answers import RecordedAnswers
from leakrange.data.importing.roles import ImportedLabels
from leakrange.data.samples import Attribute

__all__ = ["FIRST", "SECOND", "KnownModel", "answers_of"]

FEATURES = 8
Make = Callable[[], Any]


@dataclass(frozen=True)
class KnownModel:
    """A model whose truth is known. ``about`` is "membership" or "attribute". ``share`` of the people have
    the attribute. ``planted``: how much surer it is of them. ``shifted``: members differ by themselves.
    ``goes_along``: the attribute goes with the true class. ``noise``: how much of the true
    class is chance."""

    name: str
    make: Make
    about: str
    leaks: bool
    share: float = 0.5
    planted: float = 0.0
    shifted: float = 0.0
    goes_along: bool = False
    noise: float = 1.5


def _scaled(net: Any) -> Any:
    return make_pipeline(StandardScaler(), net)


def _models(by_heart: Mapping[str, Make], well: Mapping[str, Make]) -> Iterator[KnownModel]:
    for label, make in by_heart.items():
        yield KnownModel(f"{label}, by heart", make, "membership", leaks=True)
        yield KnownModel(f"{label}, by heart, noisier", make, "membership", leaks=True, noise=3.0)
    for label, make in well.items():
        yield KnownModel(f"{label}, well-trained", make, "membership", leaks=False)
        yield KnownModel(f"{label}, members differ", make, "membership", leaks=False, shifted=1.0)
        for share, planted in ((0.5, 1.5), (0.1, 2.5)):
            name = f"{label}, planted, {share:.0%}"
            yield KnownModel(name, make, "attribute", leaks=True, share=share, planted=planted)
        yield KnownModel(f"{label}, no attribute, 10%", make, "attribute", leaks=False, share=0.1)
        yield KnownModel(f"{label}, goes along", make, "attribute", leaks=False, goes_along=True)


FIRST = tuple(
    _models(
        {
            "tree": lambda: DecisionTreeClassifier(random_state=0),
            "forest": lambda: RandomForestClassifier(30, bootstrap=False, max_features=1, random_state=0),
            "nearest": lambda: KNeighborsClassifier(1),
            "two nearest": lambda: KNeighborsClassifier(2),
            "boosting, 300 deep trees": lambda: GradientBoostingClassifier(
                n_estimators=300, max_depth=6, learning_rate=0.3, random_state=0
            ),
            "net, 256 wide": lambda: _scaled(MLPClassifier((256,), alpha=0.0, max_iter=600, random_state=0)),
        },
        {
            "logistic": lambda: _scaled(LogisticRegression()),
            "logistic, regular": lambda: _scaled(LogisticRegression(C=0.05)),
            "naive Bayes": GaussianNB,
            "forest, leaves of 40": lambda: RandomForestClassifier(50, min_samples_leaf=40, random_state=0),
            "boosting, 20 stumps": lambda: GradientBoostingClassifier(
                n_estimators=20, max_depth=1, random_state=0
            ),
            "tree of depth 2": lambda: DecisionTreeClassifier(
                max_depth=2, min_samples_leaf=40, random_state=0
            ),
        },
    )
)
SECOND = tuple(
    _models(
        {
            "extra trees": lambda: ExtraTreesClassifier(30, random_state=0),
            "bagged trees": lambda: BaggingClassifier(DecisionTreeClassifier(), 20, random_state=0),
            "five nearest, by distance": lambda: KNeighborsClassifier(5, weights="distance"),
            "boosting by bins": lambda: HistGradientBoostingClassifier(
                max_iter=200, min_samples_leaf=1, learning_rate=0.3, random_state=0
            ),
            "Gaussian process, narrow": lambda: GaussianProcessClassifier(RBF(0.3), optimizer=None),
            "net, two layers": lambda: _scaled(
                MLPClassifier((64, 64), alpha=0.0, max_iter=600, random_state=0)
            ),
        },
        {
            "discriminant": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
            "logistic, few weights": lambda: _scaled(
                LogisticRegression(C=0.1, l1_ratio=1.0, solver="liblinear")
            ),
            "binary Bayes": BernoulliNB,
            "extra trees, leaves of 30": lambda: ExtraTreesClassifier(
                50, min_samples_leaf=30, bootstrap=True, random_state=0
            ),
            "three weak stumps": lambda: AdaBoostClassifier(
                n_estimators=3, learning_rate=0.5, random_state=0
            ),
            "logistic by steps": lambda: _scaled(SGDClassifier(loss="log_loss", alpha=0.1, random_state=0)),
        },
    )
)


def answers_of(model: KnownModel, records: int, seed: int) -> RecordedAnswers:
    """The model's answers about so many members and as many others."""
    rng = np.random.default_rng([seed, records, sum(model.name.encode())])
    members = np.repeat([True, False], records)
    rows = rng.normal(size=(2 * records, FEATURES))
    rows[members, 0] += model.shifted
    labels = (rows[:, 1:4].sum(axis=1) + model.noise * rng.normal(size=len(rows)) > 0).astype(np.int64)
    if model.goes_along:
        attribute = np.where(rng.random(len(rows)) < 0.75, labels, 1 - labels)
    else:
        attribute = (rng.random(len(rows)) < model.share).astype(np.int64)
    fitted = model.make().fit(rows[members], labels[members])
    second = np.clip(fitted.predict_proba(rows)[:, 1], 1e-4, 1 - 1e-4)
    # How sure the model is tells the attribute, and its decision does not: what that tells is no leak.
    odds = np.log(second / (1 - second)) * np.exp(model.planted * (attribute - 0.5))
    second = 1 / (1 + np.exp(-odds))
    about_members = model.about == "membership"
    hidden = Attribute("attribute", ("no", "yes"))
    return RecordedAnswers(
        name="model",
        sha256="",
        values=np.stack([1 - second, second], axis=1).astype(np.float32),
        release="softmax",
        classes=("0", "1"),
        columns=AnswerColumns(("p_*",), target="label"),
        labels=labels,
        members=members if about_members else None,
        hidden=None if about_members else ImportedLabels(hidden, attribute, "as it stands"),
        known=rows.astype(np.float32),
    )
