"""The questions of a probe: samples, or pairs of them, as a device's defence leaves them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.spans import span_of
from leakrange.defences.chain import DefenceChain
from leakrange.jobs.steps.probe import ProbeJob

__all__ = ["questions"]


def questions(job: ProbeJob, chain: DefenceChain) -> NDArray[Any]:
    """The samples (B, …) of a chunk, or its pairs (B, 2, …), with the input defences of ``chain`` applied.
    The same job gives the same ones each time. Raises `InvalidInput` for a span beyond its split."""
    data, chosen = span_of(job.span)
    if job.pairs is not None:
        chosen = chosen[np.array(job.pairs)]
    draw = np.random.default_rng(int(job.identity(), 16))
    return np.ascontiguousarray(chain.obfuscate(data.values[chosen], data.spec, draw))
