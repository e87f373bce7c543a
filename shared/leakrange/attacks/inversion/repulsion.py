"""Inversion by labels alone: a point moves away from the border of the wanted person's class (BREP-MI)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.inversion.search import Inversion, Points, Start

__all__ = ["LabelInversion"]

SPHERE = 16
"""How many points of a sphere are asked about; the paper's 32 leave small budgets no rounds."""
RADIUS = 2.0
GROWTH = 1.3
LONGEST = 3.0
"""The first radius, its growth and the longest step, as the authors have them."""
FARTHEST = 3.0
"""The greatest latent value: few pictures have a greater one. The authors' generator stays below 1.5."""


@attacks.register("label-inversion")
class LabelInversion(Inversion):
    """A search begins at a random picture that got the wanted label. Points of a sphere round the present one
    that get another label push it away, all with the same force; where none does, the sphere grows. A step
    that leaves the class is not taken. A person whom no random picture was taken for is not drawn: a random
    picture stands there."""

    labels_suffice: ClassVar[bool] = True
    name: ClassVar[str] = "label-inversion"
    summary: ClassVar[str] = "draws people whom a model knows, by the labels of drawn pictures alone"
    paper: ClassVar[str] = "Kahla et al. 2022"
    equation: ClassVar[str] = "Eq. 3 to 5, Algorithm 1 (BREP-MI, with steps on a smaller sphere)"

    def search(self, start: Start, ask: Callable[[Points], NDArray[np.float32]]) -> Points:
        """See `Inversion.search`."""
        labels, size = start.answers.argmax(axis=1), start.points.shape[1]
        of_class = labels[None, :] == start.wanted[:, None]
        centres = start.points[of_class.argmax(axis=1)].copy()
        radius = np.full(len(centres), RADIUS)
        begun = np.flatnonzero(of_class.any(axis=1))
        wanted = start.wanted[begun, None]
        for _ in range(start.left // (len(begun) * (SPHERE + 1)) if len(begun) else 0):
            ways = start.draw.normal(size=(len(begun), SPHERE, size))
            ways /= np.linalg.norm(ways, axis=2, keepdims=True)
            around = centres[begun, None] + radius[begun, None, None] * ways
            outside = ask(around.reshape(-1, size)).argmax(axis=1).reshape(len(begun), -1) != wanted
            radius[begun] *= np.where(outside.any(axis=1), 1.0, GROWTH)
            push = -(outside[..., None] * ways).mean(axis=1)
            moved = centres[begun] + np.minimum(radius[begun] / 3, LONGEST)[:, None] * push
            moved = np.clip(moved, -FARTHEST, FARTHEST)
            stayed = ask(moved).argmax(axis=1) == wanted[:, 0]
            centres[begun[stayed]] = moved[stayed]
        return np.asarray(centres)
