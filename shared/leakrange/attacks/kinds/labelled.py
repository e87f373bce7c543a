"""Who is in each picture that an attacker asked about, as the attacker sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.served import crowd_of
from leakrange.attacks.people.classes import equal_images
from leakrange.attacks.people.clusters import clusters, means
from leakrange.attacks.people.identities import deduce_identities, surest
from leakrange.attacks.people.membership import PeopleEvidence
from leakrange.data import load
from leakrange.data.crowd import asked_order
from leakrange.jobs.recipe import DataSpec
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["Recognised", "deduced", "of_each"]


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
