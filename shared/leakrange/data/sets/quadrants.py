"""Two independent attributes of a point in the plane, each told by one coordinate (HBC Fig. 2)."""

from __future__ import annotations

import numpy as np

from leakrange.data.catalogue import Content, DataSet, datasets
from leakrange.data.samples import Attribute, by_name
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec

__all__ = ["GAP", "Quadrants"]

GAP = 6
"""Levels left empty on either side of the middle between 127 and 128."""
LEVELS = 128 - GAP


@datasets.register("quadrants")
class Quadrants(DataSet):
    """Points of the square [−1, 1]², as vectors of their two coordinates.

    A net sees level u as u / 127.5 − 1, so the middle of the square lies between levels 127 and 128. y is
    the sign of the first coordinate, s that of the second; no point has a coordinate nearer than .05 to 0
    (6 of the 128 levels on either side), so a straight line separates the classes of each attribute. The
    four quadrants hold equally many points (but for a remainder), in each uniform over its 122 × 122 grid,
    and none twice before all are used up.

    **What a straight boundary can do here.** Let one bit ŷ be read as both attributes. Where y = s it is
    right twice or not at all, elsewhere exactly once:

        δ^y + δ^s = P(y ≠ s) + 2·P(ŷ = y = s) ≤ 1/2 + 2·1/2 = 1.5

    with equality where ŷ is right on all of the two quadrants with y = s: for every line through the middle
    whose two weights have the signs of the attributes, at any angle. That is the paper's δ^y = 1.5 − δ^s, and
    it wants no more than independent attributes of two even classes. A line beside the middle lies below it.

    The uniform square is what makes this the end of the matter for a *linear* score t = w·x. Given t, the
    second coordinate is uniform on an interval whose longer part lies on the side of t's sign (without the
    gap exactly so), so s is read best by the same threshold as y, and no second threshold tells more. Four
    clusters would not do: w = (2, 1) puts them in a row, and four ranges of one output then tell both
    attributes for certain. The uniform sides also let the trade-off be seen: a line turned by the angle θ ≤
    45° is wrong about y with probability tan(θ) / 4, so δ^y falls from 1 to .75 while δ^s rises from .5 to
    .75.

    Equal points (there are some from 59,537 on) are one group, hence in one split.
    """

    name = "quadrants"
    description = "points of a square with two independent attributes, each linearly separable (HBC Fig. 2)"
    attributes = by_name(
        Attribute("y", ("left", "right"), "sign of the first coordinate"),
        Attribute("s", ("below", "above"), "sign of the second coordinate"),
    )
    spec = SampleSpec(encoding="vector", shape=(2,), dtype="uint8", scale=127.5, offset=-1.0)
    source = "drawn by Leakrange from a seed; HBC Fig. 2 shows such points without giving their formula"
    default_count = 20_000
    notes = ("points of a square, with a margin of .05 around both axes",)

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """``spec.count`` points, the same for the same ``spec.seed``."""
        count = spec.count or cls.default_count
        rng = stream(spec.seed, "quadrants")
        quadrant = shuffled(rng, count) % 4
        label = np.stack([quadrant // 2, quadrant % 2], axis=1).astype(np.int64)
        outward = np.empty((count, 2), dtype=np.int64)
        for number in range(4):
            members = np.flatnonzero(quadrant == number)
            cell = shuffled(rng, LEVELS**2)[np.arange(len(members)) % LEVELS**2]
            outward[members] = np.stack([cell // LEVELS, cell % LEVELS], axis=1)
        level = np.where(label == 1, 128 + GAP + outward, 127 - GAP - outward)
        return Content(
            values=level.astype(np.uint8),
            labels={"y": label[:, 0], "s": label[:, 1]},
            group=level[:, 0] * 256 + level[:, 1],
        )
