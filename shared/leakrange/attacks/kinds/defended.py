"""What models that nobody serves would release under a defence of the API."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.jobs.steps.fit import FitJob

__all__ = ["Defended"]


class Defended:
    """The mean of so many ``draws`` of a chain of output defences about ``samples`` (N, ...)."""

    def __init__(self, job: FitJob, samples: NDArray[Any], defence: list[Any], draws: int) -> None:
        self._job, self._chain, self._draws = job, Chain.parse(defence), draws
        self._digests = [hashlib.sha256(sample.tobytes()).digest() for sample in samples]

    def __call__(self, plain: NDArray[np.float32], number: int) -> NDArray[np.float32]:
        """The releases (N, Y) of the model of that ``number``, which draws noise of its own."""
        rng = np.random.default_rng([self._job.seed, number])
        # The key of a proxy's sticky noise is secret, so the attacker draws noise by a key of its own.
        context = ReleaseContext(
            release=self._job.release, draw=rng, sticky_key=rng.bytes(32), digests=self._digests
        )
        draws = [self._chain.apply(plain, context) for _ in range(self._draws)]
        return np.asarray(np.mean(draws, axis=0, dtype=np.float64), dtype=np.float32)
