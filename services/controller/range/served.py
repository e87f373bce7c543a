"""How well a student service served its users, by what it answered them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.questions import public_pairs
from leakrange.metrics import accuracy, pair_distances
from leakrange.metrics.verification import verification
from leakrange.scenario.plan import PlannedModel

__all__ = ["served_right"]


def served_right(model: PlannedModel, answers: NDArray[np.floating]) -> float:
    """The share of its users' questions that a service answered right, in [0, 1].

    Of a recognition it is the accuracy on other images of the people whom it knows. Of features and distances
    it is that of verification among the public, by a threshold that is cross-validated on these very answers:
    what a user can reach under the defence. answers: (N, k), to what `leakrange.scenario.crowds.users_ask`.
    """
    crowd, service = model.recipe.data.crowd, model.service
    if crowd is None or service is None:
        raise ValueError(f"{model.id} is no student service")
    if service.kind == "recognition":
        known = np.arange(len(answers)) % crowd.students
        return accuracy(answers.argmax(axis=1), known)
    pairs = public_pairs(crowd)
    if service.kind == "verification":
        distances = answers[:, 0]
    else:
        first, second = pairs.places.T
        distances = pair_distances(answers[first], answers[second], service.distance)
    return verification(distances, pairs.same, pairs.fold).mean
