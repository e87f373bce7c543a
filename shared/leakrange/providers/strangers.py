"""Choosing a recogniser's epoch by how well it distinguishes people whom it does not learn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.crowd import strangers
from leakrange.data.samples import Samples
from leakrange.metrics.roc import auc
from leakrange.metrics.verification import unit_length
from leakrange.nets.classifier import Classifier
from leakrange.providers.inference import outputs

__all__ = ["Strangers", "verification_auc"]


class Strangers:
    """The pictures of people whom a recogniser does not learn, and who do not use it either. Raises
    `InvalidInput` where ``samples`` have none, see `leakrange.data.crowd.strangers`."""

    def __init__(self, samples: Samples) -> None:
        chosen = strangers(samples)
        self.pictures = samples.values[chosen]
        self.person = samples.labels["person"][chosen]

    def separation(self, classifier: Classifier) -> float:
        """How well the features of ``classifier`` distinguish them, see `verification_auc`. Leaves it in eval
        mode."""
        return verification_auc(outputs(classifier.eval(), self.pictures, "features"), self.person)


def verification_auc(features: NDArray[np.floating], person: NDArray[np.int64]) -> float:
    """The area under the ROC curve of the cosines of all pairs of ``features`` (N, F): pairs that show one
    ``person`` (N,) against pairs that show two. In [0, 1]; .5 tells nothing."""
    unit = unit_length(features)
    first, second = np.triu_indices(len(person), 1)
    return auc((unit @ unit.T)[first, second], person[first] == person[second])
