"""Small worlds of releases: people as clouds of vectors, members' clouds narrower, or no different."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import even_folds
from leakrange.attacks.people.covariance import class_covariances, upper_triangle


@dataclass(frozen=True)
class World:
    releases: NDArray[np.float32]
    person: NDArray[np.int64]
    member: NDArray[np.bool_]
    """Of each class, ascending."""

    @property
    def member_image(self) -> NDArray[np.bool_]:
        return self.member[np.unique(self.person, return_inverse=True)[1]]


def world(spread: float = 1.0, classes: int = 60, images: int = 15, width: int = 12, seed: int = 0) -> World:
    """Half the people are members, at random; their clouds have ``spread`` times the deviation of others'."""
    rng = np.random.default_rng(seed)
    member = rng.permutation(np.arange(classes) < classes // 2)
    centres = 3 * rng.normal(size=(classes, width))
    deviation = np.where(member, spread, 1.0) * rng.uniform(0.9, 1.1, classes)
    person = np.repeat(np.arange(classes), images)
    noise = rng.normal(size=(classes * images, width)) * deviation[person, None]
    order = rng.permutation(len(person))
    return World((centres[person] + noise)[order].astype(np.float32), person[order], member)


def covariance_features(given: World) -> NDArray[np.float64]:
    """What FACELEAKS describes a class by: the upper triangle of the covariance of its releases."""
    return upper_triangle(class_covariances(given.releases, given.person))


def validation_classes(member: NDArray[np.bool_], seed: int = 0) -> NDArray[np.bool_]:
    """One in five of the members' classes and of the others."""
    return even_folds(member, 5, seed) == 0
