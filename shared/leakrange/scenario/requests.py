"""The requests of a plan: samples in chunks, counted before they are made."""

from __future__ import annotations

from leakrange.jobs.job import Span, Split
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.bounds import MAX_REQUESTS
from leakrange.scenario.mistakes import Mistakes

__all__ = ["Requests"]


class Requests:
    """Of one plan, ``chunk`` samples in each."""

    def __init__(self, chunk: int) -> None:
        self._chunk = chunk
        self._count = 0

    def spans(self, data: DataSpec, split: Split, total: int) -> list[Span]:
        """The first ``total`` samples of a split. Raises `InvalidScenario` where the plan had then more than
        `MAX_REQUESTS`."""
        self._count += -(-total // self._chunk)
        if self._count > MAX_REQUESTS:
            Mistakes().refuse(
                ("chunk",),
                f"users and attackers would send more than {MAX_REQUESTS} requests of {self._chunk} samples:"
                " take a larger 'chunk', fewer 'samples' of the clients, or fewer seeds, defences or repeats",
            )
        return [
            Span(data=data, split=split, start=start, stop=min(start + self._chunk, total))
            for start in range(0, total, self._chunk)
        ]
