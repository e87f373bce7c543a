"""A service's crowd, and how well the service serves its honest users."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.kinds.cell import Cell, Offer
from leakrange.attacks.kinds.trial import Trial, TrialModel
from leakrange.attacks.people.questions import public_pair_count, public_pairs
from leakrange.data.crowd import part_sizes
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.jobs.samples import Split
from leakrange.metrics import Estimate, measured, pair_distances, share_interval
from leakrange.metrics.outcomes import Taught
from leakrange.metrics.verification import Verification, verification
from leakrange.wire.errors import InvalidInput

__all__ = ["ask_as_users", "crowd_of", "served", "served_crowd", "utility"]


def served_crowd(provider: Offer) -> Crowd | str:
    """The people whose pictures a service is asked about, or the reason why there are none."""
    if provider.service is None or provider.data.crowd is None:
        return "it is no service that is asked about people: it has no 'service'"
    return provider.data.crowd


def crowd_of(data: DataSpec) -> Crowd:
    """The crowd of the data. Raises `InvalidInput` where it has none."""
    if data.crowd is None:
        raise InvalidInput(f"the data {data.name!r} has no crowd", hint="give the data a 'crowd'")
    return data.crowd


def ask_as_users(cell: Cell) -> list[str]:
    """Plans the honest users' queries, which show what the service is worth under the defence.

    They are about images of enrolled people for a recognition, about images of the public for features, and
    about pairs of these for a verification.
    """
    crowd, service = crowd_of(cell.provider.data), cell.provider.service
    split: Split = "held" if service is not None and service.kind == "recognition" else "public"
    pairs = service is not None and service.kind == "verification"
    return cell.ask(split, public_pair_count(crowd) if pairs else part_sizes(crowd)[split], by="users")


def utility(trial: Trial) -> dict[str, Estimate]:
    """``honesty``: the share of the honest users' queries that the service answered correctly; the metrics of
    a verification, and of the teacher's training."""
    right, verified = served(trial.model, trial.answers("users"))
    taught = Taught(trial.trained("validation"), trial.trained("train"))
    return {"honesty": right, **measured(verified, taught)}


def served(model: TrialModel, answers: NDArray[np.floating]) -> tuple[Estimate, Verification | None]:
    """The share of users' queries that a service answered correctly, with its interval over people.

    For a recognition it is the accuracy on held-out images of the enrolled people. For features and distances
    it is the accuracy of a verification among the public, which is returned, too. Its threshold is
    cross-validated on these answers: this is what a user can reach under the defence. answers: (N, k), to all
    of the users' queries.
    """
    crowd, service = crowd_of(model.recipe.data), model.service
    if service is None:
        raise InvalidInput(f"{model.id} is no service that is asked about people")
    if service.kind == "recognition":
        known = np.arange(len(answers)) % crowd.students
        right = answers.argmax(axis=1) == known
        return Estimate.within(float(right.mean()), share_interval(right, known)), None
    pairs = public_pairs(crowd)
    if service.kind == "verification":
        distances = answers[:, 0]
    else:
        first, second = pairs.places.T
        distances = pair_distances(answers[first], answers[second], service.distance)
    verified = verification(distances, pairs.same, pairs.fold)
    interval = share_interval(verified.right, pairs.places % crowd.public)
    return Estimate.within(verified.mean, interval), verified
