"""The server's part: the participants of a round, the updates that count, and the next parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leakrange.data.splits import shuffled, stream
from leakrange.federation.settings import Federation
from leakrange.federation.updates import Arrays, Lost, Update, fedavg, refusal
from leakrange.wire.errors import Conflict

__all__ = ["Rounds"]

REASON = 300
"""Characters of a reason that are kept, since a device chooses some of them."""


class Rounds:
    """The rounds of one federation, from the initial parameters ``shared`` on.

    ``shared`` are always those of the next round, ``number`` is that round's number, the first of which is 0.
    ``history`` has an entry for each past one: ``epoch`` (its number, from 1 on), the numbers of updates that
    were ``accepted``, ``refused`` and ``lost``, and the means of the accepted ones' figures, weighed by
    samples. ``left_out`` lists the devices that did not count, with the reason. ``samples`` are the numbers
    of samples of each device, None where they are not known: the number that a device reports is then taken.
    """

    def __init__(
        self, federation: Federation, shared: Arrays, seed: int, samples: Sequence[int] | None = None
    ) -> None:
        self.federation = federation
        self.shared = shared
        self.seed = seed
        self.samples = samples
        self.history: list[dict[str, float]] = []
        self.left_out: list[dict[str, Any]] = []

    @property
    def number(self) -> int:
        """Number of past rounds."""
        return len(self.history)

    @property
    def over(self) -> bool:
        """Whether all rounds are past."""
        return self.number >= self.federation.all_rounds

    def chosen(self, number: int | None = None) -> list[int]:
        """The devices whose updates the server takes in the round of that ``number`` (None: the next),
        ascending; the same for the same seed."""
        number = self.number if number is None else number
        order = shuffled(stream(self.seed, f"round {number}"), self.federation.devices)
        return sorted(int(device) for device in order[: self.federation.participants])

    def training(self) -> list[int]:
        """The devices that train in the next round, ascending: the chosen ones among them."""
        everybody = self.federation.participation == "all"
        return list(range(self.federation.devices)) if everybody else self.chosen()

    def turns(self) -> list[int]:
        """Number of past rounds in which each device was to send an update."""
        turns = [0] * self.federation.devices
        for number in range(self.number):
            for device in self.chosen(number):
                turns[device] += 1
        return turns

    def close(self, answers: Sequence[Update | Lost]) -> dict[str, float]:
        """End the round with the ``answers`` of its devices, in any order, and return its entry of the
        history.

        An update that `refusal` refuses does not count. Where none counts, the parameters do not change.
        Raises `Conflict` where updates are aggregated securely: nobody may see them one by one.
        """
        if self.federation.secure:
            raise Conflict(
                "the federation aggregates securely, and updates came one by one",
                hint="train it in one process, or leave 'secure' out of its federation",
            )
        accepted: list[Update] = []
        counted = {"refused": 0, "lost": 0}
        for answer in sorted(answers, key=lambda each: each.device):
            if isinstance(answer, Update):
                limit = math.inf if self.samples is None else self.samples[answer.device]
                reason = refusal(answer, self.shared, self.federation.most_norm, limit)
                if reason is None:
                    accepted.append(answer)
                    continue
                kind = "refused"
            else:
                reason, kind = answer.reason, "lost"
            counted[kind] += 1
            self._leave_out(answer.device, kind, reason)
        if accepted:
            self.shared = fedavg(accepted)
        return self._entry(len(accepted), counted, _means(accepted))

    def close_sum(
        self, mean: Update | None, devices: Sequence[int], lost: Sequence[Lost]
    ) -> dict[str, float]:
        """End the round with the ``mean`` of the updates of these ``devices``, None where there is none, and
        return its entry of the history.

        Nothing is known of single updates: `refusal` refuses all of them or none. The entry shows that by
        ``summed``, the number of updates in the sum.
        """
        for each in lost:
            self._leave_out(each.device, "lost", each.reason)
        reason = refusal(mean, self.shared, self.federation.most_norm) if mean else None
        if reason is not None:
            for device in devices:
                self._leave_out(device, "refused", f"of the mean of {len(devices)}: {reason}")
        counts = mean is not None and reason is None
        if mean and counts:
            self.shared = mean.shared
        counted = {"refused": 0 if counts else len(devices), "lost": len(lost), "summed": len(devices)}
        return self._entry(len(devices) if counts else 0, counted, mean.figures if mean and counts else {})

    def _leave_out(self, device: int, kind: str, reason: str) -> None:
        self.left_out.append(
            {"round": self.number + 1, "device": device, "kind": kind, "reason": reason[:REASON]}
        )

    def _entry(
        self, accepted: int, counted: Mapping[str, int], figures: Mapping[str, float]
    ) -> dict[str, float]:
        entry = {"epoch": self.number + 1.0, "accepted": float(accepted)}
        entry |= {kind: float(count) for kind, count in counted.items()}
        entry |= figures
        self.history.append(entry)
        return entry


def _means(updates: Sequence[Update]) -> dict[str, float]:
    means = {}
    for name in sorted({name for update in updates for name in update.figures}):
        figures = [(update.figures[name], update.samples) for update in updates if name in update.figures]
        values, weights = zip(*figures, strict=True)
        means[name] = float(np.average(values, weights=weights))
    return means
