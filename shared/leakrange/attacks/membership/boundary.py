"""How far a record lies from where a model changes its mind, found out from labels alone: HopSkipJump (Chen
et al. 2020), for many records in step."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Ask, Knowledge, Walk, WalkingAttack, check_lengths
from leakrange.jobs.steps.walk import MOST_QUERIES
from leakrange.strict import Strict
from leakrange.wire.samples import SampleSpec

__all__ = ["BoundaryDistance", "BoundaryWalk"]

Places = NDArray[np.intp]
Points = NDArray[np.float64]

DIRECTIONS = 16
"""The number of random directions of the first estimate; it grows with the root of the round."""
HALVINGS = 6
"""The number of queries that narrow down where a line crosses the border."""
STRIDES = 4
"""The most tries of a stride along the estimated direction, each half as long as the one before."""
STARTS = 8
"""The most tries with noise, for a record of which no other sample has another class."""
ROUGH = 1.5
"""Whole numbers round small changes away: a direction changes each value by so many of them, at least."""


class BoundaryParameters(Strict):
    """The most ``queries`` about each record."""

    queries: Annotated[int, Field(ge=50, le=MOST_QUERIES)] = 250


@attacks.register("boundary")
class BoundaryDistance(WalkingAttack):
    """Members lie farther from the border of their class. A worker of the fleet walks to the border by labels
    alone, so nothing is fitted; the score is the distance."""

    kind: ClassVar[str] = "membership"
    labels_suffice: ClassVar[bool] = True
    name: ClassVar[str] = "boundary"
    summary: ClassVar[str] = "members lie farther from where the model changes its mind, as labels alone tell"
    paper: ClassVar[str] = "Choquette-Choo et al. 2021"
    equation: ClassVar[str] = "Section 4.2 (decision boundary distance, by HopSkipJump)"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax")
    grants: ClassVar[tuple[str, ...]] = (
        "queries of the attacker's choice",
        "the records and their true classes",
    )
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    needs: ClassVar[tuple[str, ...]] = ("labels",)
    Parameters: ClassVar[type[BaseModel]] = BoundaryParameters

    def walk(self, start: Walk, ask: Ask) -> dict[str, NDArray[Any]]:
        """The ``distances`` (N,), infinite where no border was found."""
        assert start.labels is not None  # the kind grants them
        walk = BoundaryWalk(start.samples, start.labels, start.spec, ask, start.queries, start.seed)
        return {"distances": walk.distances(), "asked": walk.asked}

    def on_arrays(self, evidence: Any) -> Any:
        """The `scores` (N,) of the distances that the walks find."""
        check_lengths(samples=evidence.samples, labels=evidence.labels)
        return self.scores(super().on_arrays(evidence)["distances"])

    @staticmethod
    def scores(distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances (N,), with more than the greatest finite one in place of infinite ones."""
        finite = distances[np.isfinite(distances)]
        return np.asarray(np.minimum(distances, finite.max(initial=0.0) + 1.0))


class BoundaryWalk:
    """The walks from N ``samples`` (N, *shape) of ``spec``, of true classes ``labels`` (N,), each with at
    most so many ``queries``.

    Distances are Euclidean, of values as a net gets them. A record that the model gets wrong lies at 0.
    Raises whatever ``ask`` raises.
    """

    def __init__(
        self,
        samples: NDArray[Any],
        labels: NDArray[np.integer],
        spec: SampleSpec,
        ask: Ask,
        queries: int,
        seed: int,
    ) -> None:
        self._spec, self._labels, self._ask, self._queries = spec, labels, ask, queries
        self._scale = np.broadcast_to(np.asarray(spec.scale, np.float64), spec.shape).ravel()
        self._step = ROUGH / self._scale.max() if spec.dtype == "uint8" else 0.0
        self._draw = np.random.default_rng(seed)
        self._home: Points = samples.reshape(len(samples), -1) / self._scale
        self.asked = np.zeros(len(samples), np.int64)
        """How many queries were made about each record (N,)."""

    def distances(self) -> Points:
        """The distance of each record (N,). It is infinite where nothing was found that has another class."""
        everyone = np.arange(len(self._home))
        classes = self._classes(self._home, everyone)
        right = np.flatnonzero(classes == self._labels)
        distances = np.zeros(len(self._home))
        distances[right] = np.inf
        outside = self._started(right, classes)
        begun = np.flatnonzero(np.isfinite(outside).all(axis=1))
        outside[begun] = self._on_border(begun, outside[begun])
        distances[begun] = self._lengths(begun, outside[begun])
        number = 1
        while len(walking := begun[self._left(begun) >= self._cost(number)]):
            outside[walking] = self._closer(walking, outside[walking], number)
            distances[walking] = np.minimum(distances[walking], self._lengths(walking, outside[walking]))
            number += 1
        return distances

    def _cost(self, number: int) -> int:
        """The most queries about a record in the round of that ``number``, from 1."""
        return int(DIRECTIONS * np.sqrt(number)) + STRIDES + HALVINGS

    def _left(self, places: Places) -> NDArray[np.int64]:
        return self._queries - self.asked[places]

    def _lengths(self, places: Places, points: Points) -> Points:
        return np.asarray(np.linalg.norm(points - self._home[places], axis=1))

    def _classes(self, points: Points, places: Places) -> NDArray[np.integer]:
        np.add.at(self.asked, places, 1)
        values = (points * self._scale).reshape(len(points), *self._spec.shape)
        return np.asarray(self._ask(self._spec.nearest(values)).argmax(axis=1))

    def _wrong(self, points: Points, places: Places) -> NDArray[np.bool_]:
        """Which points (B, D) have another class than the records at ``places`` (B,)."""
        if not len(points):
            return np.zeros(0, bool)
        return np.asarray(self._classes(points, places) != self._labels[places])

    def _started(self, right: Places, classes: NDArray[np.integer]) -> Points:
        """A point of another class for each record (N, D): the nearest of the samples that has one, or the
        record with noise; NaN where there is none."""
        outside = np.full(self._home.shape, np.nan)
        for place in right:
            others = np.flatnonzero(classes != self._labels[place])
            if len(others):
                lengths = np.linalg.norm(self._home[others] - self._home[place], axis=1)
                outside[place] = self._home[others[lengths.argmin()]]
        for number in range(STARTS):
            waiting = right[np.isnan(outside[right]).any(axis=1) & (self._left(right) > HALVINGS)]
            noise = self._draw.normal(scale=2.0 ** (number - 3), size=(len(waiting), self._home.shape[1]))
            points = self._home[waiting] + noise
            hit = self._wrong(points, waiting)
            outside[waiting[hit]] = points[hit]
        return outside

    def _on_border(self, places: Places, outside: Points) -> Points:
        """The points of another class (B, D) on the lines from the records to ``outside``, near the
        border."""
        near, far = np.zeros(len(places)), np.ones(len(places))
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            home = self._home[places]
            able = self._left(places) > 0
            wrong = np.zeros(len(places), bool)
            points = home + middle[:, None] * (outside - home)
            wrong[able] = self._wrong(points[able], places[able])
            far = np.where(able & wrong, middle, far)
            near = np.where(able & ~wrong, middle, near)
        return np.asarray(self._home[places] + far[:, None] * (outside - self._home[places]))

    def _closer(self, places: Places, outside: Points, number: int) -> Points:
        """Points of another class that may be closer: along the border's estimated normal, then back to the
        record."""
        lengths, size = self._lengths(places, outside), outside.shape[1]
        normal = self._normals(
            places, outside, np.maximum(lengths / size, self._step * np.sqrt(size)), number
        )
        stride, moved = lengths / np.sqrt(number), np.zeros(len(places), bool)
        reached = outside.copy()
        for _ in range(STRIDES):
            waiting = np.flatnonzero(~moved)
            points = outside[waiting] + stride[waiting, None] * normal[waiting]
            hit = self._wrong(points, places[waiting])
            reached[waiting[hit]] = points[hit]
            moved[waiting[hit]] = True
            stride = stride / 2
        return self._on_border(places, reached)

    def _normals(self, places: Places, points: Points, reach: Points, number: int) -> Points:
        """Unit vectors (B, D) into the other classes, estimated from the classes around ``points`` on the
        border, as far away as ``reach`` (B,)."""
        count, size = int(DIRECTIONS * np.sqrt(number)), points.shape[1]
        directions = self._draw.normal(size=(len(places), count, size))
        directions /= np.linalg.norm(directions, axis=2, keepdims=True)
        around = points[:, None] + reach[:, None, None] * directions
        wrong = self._wrong(around.reshape(-1, size), np.repeat(places, count)).reshape(len(places), count)
        signs = np.where(wrong, 1.0, -1.0)
        mean = signs.mean(axis=1, keepdims=True)
        weights = np.where(np.abs(mean) < 1.0, signs - mean, signs)  # where all agree, their mean says it
        normal = np.einsum("bc,bcd->bd", weights, directions)
        return np.asarray(normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12))
