"""What secure aggregation costs: milliseconds a round, of a device and of the server.

    python -m leakrange.load.bench.masking [--parameters 10688] [--participants 5 10 50 100] [--runs 20]

A device encodes its parameters and makes a mask with each other participant; the server adds up. ``lost`` is
what it takes the server beyond that to take the masks of one lost device out. Medians of CPU time of one
thread; parameters are as many as TAPPFL's extractor for a table of 36 columns has, by default.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from leakrange.federation.secure import encoded, masked, pair_seed, unmasked
from leakrange.load.bench.harness import machine, with_allocator

__all__ = ["main"]


def median(part: Callable[[], object], runs: int) -> float:
    """Milliseconds of CPU time."""
    took = []
    for run in range(runs + 2):
        began = time.thread_time()
        part()
        if run >= 2:
            took.append(time.thread_time() - began)
    return float(np.median(took)) * 1e3


def measure(parameters: int, participants: int, runs: int) -> dict[str, float]:
    """The parts of a round, in milliseconds."""
    values = np.random.default_rng(0).normal(size=parameters)
    seeds = {other: pair_seed(b"secret of a pair", other) for other in range(1, participants)}
    words = encoded(values, participants)
    answers = [masked(words, 0, {})] * participants
    revealed = [(device, participants, seeds.get(device, b"seed")) for device in range(participants)]
    alone = median(lambda: unmasked(answers, []), runs)
    return {
        "device": median(lambda: masked(encoded(values, participants), 0, seeds), runs),
        "server": alone,
        "lost": median(lambda: unmasked(answers, revealed), runs) - alone,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parameters", type=int, default=10_688)
    parser.add_argument("--participants", type=int, nargs="+", default=[5, 10, 50, 100])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    with_allocator("leakrange.load.bench.masking")
    with machine("numpy"):
        for participants in options.participants:
            times = measure(options.parameters, participants, options.runs)
            text = ", ".join(f"{name} {value:.2f}" for name, value in times.items())
            print(f"{options.parameters} parameters, {participants} participants: {text} ms", flush=True)


if __name__ == "__main__":
    main()
