"""A round whose server gets only the sum of the updates, under masks of pairs of devices, which cancel in it.

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
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays, Lost, Update, of_type

__all__ = [
    "BITS",
    "LEAST",
    "Masked",
    "close_secretly",
    "decoded",
    "encoded",
    "masked",
    "packed",
    "pair_seed",
    "stream_of",
    "unmasked",
    "unpacked",
]

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


def close_secretly(rounds: Rounds, answers: Sequence[Update | Lost]) -> dict[str, float]:
    """End the round with the sum of the updates among the ``answers``, and return its entry of the history.

    Parameters, figures, and numbers of samples are all masked. Here a dealer gives each pair of devices its
    secret. A device that cannot encode its update is lost, like any that does not answer.
    """
    devices = sorted(answer.device for answer in answers)
    seeds: dict[int, dict[int, bytes]] = {device: {} for device in devices}
    for device, other in combinations(devices, 2):
        seeds[device][other] = seeds[other][device] = pair_seed(secrets.token_bytes(32), rounds.number)
    sent: list[Masked] = []
    lost: list[Lost] = []
    figures: list[str] = []
    for answer in answers:
        if isinstance(answer, Lost):
            lost.append(answer)
            continue
        figures = figures or sorted(answer.figures)
        try:
            words = encoded(packed(answer, figures), len(devices))
        except ValueError as error:
            lost.append(Lost(answer.device, str(error)))
            continue
        sent.append(masked(words, answer.device, seeds[answer.device]))
    survivors = [answer.device for answer in sent]
    try:
        total = unmasked(
            sent, [(device, away.device, seeds[device][away.device]) for device in survivors for away in lost]
        )
    except ValueError as error:
        lost += [Lost(device, str(error)) for device in survivors]
        return rounds.close_sum(None, [], lost)
    return rounds.close_sum(unpacked(decoded(total), rounds.shared, figures), survivors, lost)


def packed(update: Update, figures: Sequence[str]) -> NDArray[np.float64]:
    """One vector of everything that the server is to know the sum of: the parameters and the ``figures`` of
    these names, times the samples, and the number of samples."""
    parts = [update.shared[name].astype(np.float64).ravel() for name in sorted(update.shared)]
    parts.append(np.array([update.figures[name] for name in figures], dtype=np.float64))
    return np.append(update.samples * np.concatenate(parts), update.samples)


def unpacked(total: NDArray[np.float64], shared: Arrays, figures: Sequence[str]) -> Update:
    """The mean over all samples, from a sum of `packed` vectors for parameters of the names, shapes and types
    of ``shared``. Its device is -1: it is nobody's."""
    samples, mean = round(float(total[-1])), total[:-1] / max(total[-1], 1.0)
    names = sorted(shared)
    *parts, values = np.split(mean, np.cumsum([shared[name].size for name in names]))
    flat = dict(zip(names, parts, strict=True))
    means = {name: of_type(flat[name].reshape(array.shape), array.dtype) for name, array in shared.items()}
    return Update(-1, samples, means, dict(zip(figures, values.tolist(), strict=True)))
