"""Masks of pairs of devices, which cancel in the sum: the server learns the sum alone.

Simplified from Bonawitz et al. (2017):

- Two devices share a secret from the start. There is no agreement on keys over the server.
- A device that is lost after the others have masked leaves masks in the sum. The survivors then reveal to
  the server the seeds that they shared with it for this round. There is no second mask and no sharing of
  secrets. So a server can read a device's update if it has its words and calls it lost, or if the words
  arrive too late. Seeds tell nothing of other rounds.
- Devices do not check that the server tells all of them the same.

Numbers are fixed-point integers modulo 2^64.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BITS", "LEAST", "Masked", "decoded", "encoded", "masked", "pair_seed", "stream_of", "unmasked"]

Words = NDArray[np.uint64]

BITS = 24
"""Bits behind the point: numbers are rounded to multiples of 2^-24."""
LEAST = 2
"""Fewest survivors that reveal seeds: the sum over a single one would be its own update."""


@dataclass(frozen=True)
class Masked:
    """The ``words`` that ``device`` sends, alone as good as random."""

    device: int
    words: Words


def encoded(values: NDArray[np.float64], participants: int) -> Words:
    """Numbers (N,) as fixed-point integers modulo 2^64, each rounded by 2^-25 at most.

    Raises `ValueError` for numbers that are not finite, or so large that the sum over ``participants`` might
    not fit: 2^39 / participants.
    """
    if not np.isfinite(values).all():
        raise ValueError("it holds numbers that are not finite")
    limit = 2.0 ** (63 - BITS) / participants
    if len(values) and (largest := float(np.abs(values).max())) >= limit:
        raise ValueError(f"it holds {largest:.4g}, and the sum has room for less than {limit:.4g} of each")
    return np.rint(values * 2.0**BITS).astype(np.int64).view(np.uint64)


def decoded(words: Words) -> NDArray[np.float64]:
    """The numbers (N,) behind the integers of `encoded`, or behind sums of them."""
    return words.view(np.int64) / 2.0**BITS


def pair_seed(secret: bytes, number: int) -> bytes:
    """The seed of a pair with that ``secret`` in the round of that ``number``; it tells nothing of other
    rounds."""
    return hashlib.blake2b(number.to_bytes(8, "little"), key=secret, digest_size=32).digest()


def stream_of(seed: bytes, count: int) -> Words:
    """So many pseudorandom words: the output of SHAKE128."""
    return np.frombuffer(hashlib.shake_128(seed).digest(8 * count), dtype="<u8").astype(np.uint64)


def masked(words: Words, device: int, seeds: Mapping[int, bytes]) -> Masked:
    """The words under the masks of all pairs. ``seeds``: that of the round with every other participant, by
    its number. In a pair the device of the lower number adds the mask, and the other subtracts it."""
    hidden = words.copy()
    for other, seed in seeds.items():
        mask = stream_of(seed, len(words))
        hidden = hidden + mask if device < other else hidden - mask
    return Masked(device, hidden)


def unmasked(answers: Sequence[Masked], revealed: Iterable[tuple[int, int, bytes]]) -> Words:
    """The sum of the devices' words, modulo 2^64.

    ``revealed``: for each survivor and each lost device their numbers, in this order, and the seed of their
    pair. Raises `ValueError` for fewer than `LEAST` answers.
    """
    if len(answers) < LEAST:
        raise ValueError(f"{len(answers)} devices are left, and fewer than {LEAST} have no sum to hide in")
    total = answers[0].words.copy()
    for answer in answers[1:]:
        total += answer.words
    for survivor, lost, seed in revealed:
        mask = stream_of(seed, len(total))
        total = total - mask if survivor < lost else total + mask
    return total
