"""A round whose server gets only the sum of the updates, by `leakrange.federation.masking`."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from leakrange.federation.aggregation import of_type
from leakrange.federation.masking import Masked, decoded, encoded, masked, pair_seed, unmasked
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays, Lost, Update

__all__ = ["close_secretly", "packed", "unpacked"]


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
