"""A service's crowd, how well the service serves its honest users, and whom an attacker sees in each picture
that it asked about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.kinds.cell import Cell, Offer
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.trial import Trial, TrialModel
from leakrange.attacks.people.classes import equal_images
from leakrange.attacks.people.identities import clusters, deduce_identities, means, surest
from leakrange.attacks.people.membership import PeopleEvidence
from leakrange.attacks.people.questions import public_pair_count, public_pairs
from leakrange.data import load
from leakrange.data.crowd import asked_order, part_sizes
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.jobs.samples import Split
from leakrange.metrics import Estimate, measured, pair_distances, share_interval
from leakrange.metrics.outcomes import Taught
from leakrange.metrics.verification import Verification, verification
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = [
    "Recognised",
    "ask_as_users",
    "crowd_of",
    "deduced",
    "of_each",
    "served",
    "served_crowd",
    "utility",
]


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


class Recognised(Strict):
    """The features that the attacker's own recogniser gives for the pool, and for the attacker's photographs
    of the people in it: identities of stored releases."""

    pool: str
    photographs: str


def deduced(
    seen: Recognised,
    spec: DataSpec,
    answers: NDArray[np.floating],
    releases: ReleaseStore,
    *,
    clustered: bool = False,
    sure: float = 1.0,
) -> NDArray[np.int64]:
    """Return the person whom the attacker sees in each image of the pool with ``answers`` (N, k): a place in
    a round, (N,), and −1 for all but the ``sure`` share of the images.

    ``clustered``: the answers are put into as many clusters as people were asked after, and all images of a
    cluster are taken for one person. Whoever the attacker has no photograph of cannot be named. Raises
    `NotFound` for releases that are not stored, `InvalidInput` for releases that do not fit.
    """
    asked, count, data = crowd_of(spec).asked, len(answers), load(spec)
    pool, photographs = data.where("pool"), data.where("photographs")
    images, references = releases([[seen.pool]])[:count], releases([[seen.photographs]])
    if len(images) != count or len(references) != len(photographs):
        raise InvalidInput(
            f"{len(images)} and {len(references)} features of {count} images and {len(photographs)}"
        )
    place = np.arange(len(photographs)) % asked
    person = data.labels["person"]
    shown = person[photographs] == person[pool[place]]  # the others stand for photographs that do not exist
    seen_as = means(images, clusters(answers, asked)) if clustered else images
    return surest(deduce_identities(seen_as, references[shown], place[shown]), sure)


def of_each(known: PeopleEvidence, spec: DataSpec, each: int) -> tuple[PeopleEvidence, NDArray[np.int64]]:
    """The evidence with ``each`` random images of every person that has enough, who are numbered anew; and
    for every image the first place in the pool of the person that it is taken for. Images of nobody, −1, are
    left out."""
    crowd = crowd_of(spec)
    order = asked_order(crowd, spec.seed)
    turn, place = np.divmod(np.arange(len(known.person)), crowd.asked)
    rows = np.lexsort((turn, order[place]))  # so that the choice does not depend on the pool's order
    rows = rows[known.person[rows] >= 0]
    kept = np.sort(rows[equal_images(order[known.person][rows], each, known.seed)])
    people, person = np.unique(known.person[kept], return_inverse=True)
    releases = known.releases[kept]
    lessons = releases if known.lessons is known.releases else known.lessons[kept]
    evidence = replace(
        known, releases=releases, lessons=lessons, person=person, membership=known.membership[people]
    )
    return evidence, people[person]
