"""Judging of reconstructions: seconds for the covariance and its inverses, for R, SSIM, PSNR and the matches.

    LEAKRANGE_DATA=... python -m leakrange.load.bench.risk [--data cifar10] [--samples 10000] [--threads 2]

The covariance is of the training and validation pictures, the risk of as many test pictures, whose
reconstructions are the pictures themselves, blurred and noisy. R is compared with SciPy's pseudo-inverse and
Mahalanobis distance of some of them. Exit status 1 where R takes 5 s or more, or differs by more than 0.1 %.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import mahalanobis
from threadpoolctl import threadpool_limits

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.load.bench.harness import machine
from leakrange.metrics.reconstruction import places, psnr, ssim
from leakrange.metrics.risk import Distances, Moments

__all__ = ["main"]

LIMIT = 5.0
"""Limit of the seconds for R of 10,000 pictures of CIFAR-10, by both inverses together."""
CLOSE = 1e-3
CHECKED = 200
"""Number of pictures whose R SciPy computes too."""


@contextmanager
def timed(work: str) -> Iterator[list[float]]:
    """Print the duration of a block, and yield a list that it is put into; CPU time is of all threads."""
    seconds: list[float] = []
    began, worked = time.perf_counter(), time.process_time()
    yield seconds
    seconds.append(time.perf_counter() - began)
    print(f"{work:26} {seconds[0]:7.2f} s, {time.process_time() - worked:7.2f} s CPU", flush=True)


def batches(pictures: NDArray[np.uint8], size: int = 4096) -> Iterator[NDArray[np.float32]]:
    """Pictures in [0, 1], so many at a time."""
    for start in range(0, len(pictures), size):
        yield pictures[start : start + size].astype(np.float32) / np.float32(255)


def far_from_scipy(
    moments: Moments, original: NDArray[np.floating], answered: NDArray[np.floating], distances: Distances
) -> float:
    """The largest relative difference between our d(x, μ) / d(x, x̃) and SciPy's, over some pictures."""
    covariance = moments.covariance
    if distances.far.dtype == np.float32:
        covariance = covariance.astype(np.float32).astype(np.float64)
    inverse = pinvh(covariance, rtol=distances.tolerance * (1 - 1e-9), atol=0.0)
    x, y = (each[:CHECKED].reshape(CHECKED, -1).astype(np.float64) for each in (original, answered))
    theirs = np.array(
        [
            mahalanobis(a, moments.mean, inverse) / mahalanobis(a, b, inverse)
            for a, b in zip(x, y, strict=True)
        ]
    )
    return float(np.abs(distances.risk[:CHECKED] / theirs - 1).max())


def measure(data: str, samples: int) -> bool:
    """Run the benchmark; returns whether R was fast and right."""
    loaded = load(DataSpec(name=data, auxiliary=0.0))
    known = np.sort(np.concatenate([loaded.where("train"), loaded.where("validation")]))
    original = np.concatenate(list(batches(loaded.values[loaded.where("test")[:samples]])))
    noise = np.random.default_rng(0).normal(0.0, 0.02, original.shape)
    blurred = gaussian_filter(original, (0, 1, 1, 0))
    answered = np.clip(blurred + noise, 0.0, 1.0).astype(np.float32)
    print(f"{data}: covariance of {len(known)} pictures, risk of {len(original)}, {original[0].size} values")
    with timed("covariance"):
        moments = Moments.of(batches(loaded.values[known]))
    with timed("published inverse"):
        published = moments.published()
    with timed("well-conditioned inverse"):
        conditioned = moments.conditioned()
    with timed("R by both inverses") as seconds:
        distances = [each.distances(original, answered) for each in (published, conditioned)]
        risks = [each.risk for each in distances]
    with timed("SSIM"):
        similar = ssim(original, answered)
    with timed("PSNR"):
        decibels = psnr(original, answered)
    with timed("matches"):
        right = places(original, answered)
    differences = [far_from_scipy(moments, original, answered, each) for each in distances]
    for name, each, risk, by in zip(("published", "conditioned"), distances, risks, differences, strict=True):
        print(
            f"{name}: R {risk.mean():.4f}, median {np.median(risk):.4f}, rank {each.rank}, tolerance "
            f"{each.tolerance:.3g}; from SciPy's by {by:.1e} at most"
        )
    print(f"PSNR {decibels.mean():.2f} dB, SSIM {similar.mean():.4f}, matched {(right == 0).mean():.1%}")
    return good(seconds[0], differences)


def good(seconds: float, differences: Sequence[float]) -> bool:
    """Whether R took less than `LIMIT`, and no inverse differs from SciPy's by more than `CLOSE`."""
    return seconds < LIMIT and max(differences) < CLOSE


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2, help="of linear algebra")
    options = parser.parse_args()
    with machine("numpy", "scipy"), threadpool_limits(options.threads):
        good = measure(options.data, options.samples)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
