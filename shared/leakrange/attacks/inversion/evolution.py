"""Inversion where a model tells how sure it is: an evolution strategy on the score of the wanted person."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.inversion.search import Inversion, Points, Start
from leakrange.metrics.entropy import softmax

__all__ = ["ScoreInversion"]

OFFSPRING = 25
PARENTS = 8
LEAST = 1e-12
"""Scores are held above this where their logarithm is taken."""
PRIOR = 0.02
"""The weight of a latent point's log density: pictures far from all others are no faces."""
SPREAD = 0.05
"""The least deviation of offspring from the mean of their parents."""


@attacks.register("inversion")
class ScoreInversion(Inversion):
    """For each person the points with the best scores are parents: the next are drawn from the normal
    distribution that fits them, with a deviation of its own along each axis. The drawing is the mean of the
    last parents."""

    name: ClassVar[str] = "inversion"
    summary: ClassVar[str] = "draws people whom a model knows, by its scores of drawn pictures"
    paper: ClassVar[str] = "de Boer et al. 2005"
    equation: ClassVar[str] = "the cross-entropy method, on the log score of the person"

    def search(self, start: Start, ask: Callable[[Points], NDArray[np.float32]]) -> Points:
        """See `Inversion.search`."""
        people, size = len(start.wanted), start.points.shape[1]
        every = np.broadcast_to(start.points, (people, *start.points.shape))
        values = _log_scores(start.answers, start.release)[:, start.wanted].T
        parents, best = _kept(every, values - _unlikely(every))
        for _ in range(start.left // (people * OFFSPRING)):
            mean, spread = parents.mean(axis=1, keepdims=True), parents.std(axis=1, keepdims=True)
            noise = start.draw.normal(size=(people, OFFSPRING, size))
            points = mean + np.maximum(spread, SPREAD) * noise
            scores = _log_scores(ask(points.reshape(-1, size)), start.release).reshape(people, OFFSPRING, -1)
            values = scores[np.arange(people), :, start.wanted] - _unlikely(points)
            parents, best = _kept(
                np.concatenate([parents, points], axis=1), np.concatenate([best, values], axis=1)
            )
        return np.asarray(parents.mean(axis=1))


def _log_scores(answers: NDArray[np.float32], release: str) -> NDArray[np.float64]:
    scores = answers.astype(np.float64)
    return np.log(np.maximum(softmax(scores) if release == "logits" else scores, LEAST))


def _unlikely(points: Points) -> NDArray[np.float64]:
    return np.asarray(PRIOR * (points**2).sum(axis=-1) / 2)


def _kept(points: Points, values: NDArray[np.float64]) -> tuple[Points, NDArray[np.float64]]:
    """The `PARENTS` best of each person's points (T, N, D), by their ``values`` (T, N), and the values."""
    order = np.argsort(-values, axis=1, kind="stable")[:, :PARENTS]
    return np.take_along_axis(points, order[..., None], axis=1), np.take_along_axis(values, order, axis=1)
