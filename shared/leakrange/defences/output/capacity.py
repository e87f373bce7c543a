"""The most bits that one release can carry after a policy: an upper bound, which no reconstruction
exceeds."""

from __future__ import annotations

from collections.abc import Sequence

from leakrange.defences.output.base import CLASS_SCORES, Release
from leakrange.defences.output.chain import Chain
from leakrange.defences.output.room import FLOAT_BITS, Room

__all__ = ["upper_bits"]


def upper_bits(policy: Chain, release: Release, outputs: int, heads: Sequence[int] = ()) -> float:
    """Upper bound of one answer of ``outputs`` numbers about one sample, in bits (VICIOUS, Appendix I.1).

    Each stage bounds what is carried (`OutputDefence.room`), and later stages add nothing, so the least bound
    holds. Values count as float32, of 32 bits each, as which they arrive and leave. Noise counts as noise:
    sticky noise for whoever lacks its key, fresh noise for one answer alone, as several average it out.
    heads: the numbers of classes of a model that answers for several attributes, whose bits add up.
    """
    parts = heads if heads and release in CLASS_SCORES else (outputs,)
    return sum(_bits(policy, release, values) for values in parts)


def _bits(policy: Chain, release: Release, values: int) -> float:
    room = Room.released(release, values)
    for stage, kind in policy.steps(release):
        room = stage.room(room, kind)
    return room.within(room.of_levels(2.0**FLOAT_BITS)).bits
