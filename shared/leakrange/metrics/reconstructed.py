"""The outcome of a reconstruction, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.clusters import mean_interval, share_interval
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.outcomes import Grouped
from leakrange.metrics.reconstruction import bits_above_chance, lists, places, psnr, ssim
from leakrange.metrics.registry import metric
from leakrange.metrics.risk import Distances, Inverses

__all__ = ["Nearness"]


@dataclass(frozen=True)
class Nearness(Grouped):
    """Nearness of reconstructions to V pictures: ``psnr`` (V,) in dB, ``ssim`` (V,), distances from the mean
    and from the reconstruction by both inverses, and each original's ``place`` (V,), the number of others
    that are as near to its reconstruction as itself, or nearer.

    ``mean_psnr`` (V,) is the PSNR of the data set's mean picture, which anybody can answer without a release.
    ``class_psnr`` (V,) is that of the mean picture of the class that each user was given, which needs only
    the decisions; None where users were given several classes each. ``capacity`` is the most bits that one
    release can carry; None where nothing is known of that. ``group`` (V,) names the group of pictures that
    resemble each other, as those of one person do; None where all are independent.
    """

    psnr: NDArray[np.float64]
    ssim: NDArray[np.float64]
    mean_psnr: NDArray[np.float64]
    published: Distances
    conditioned: Distances
    place: NDArray[np.int64]
    capacity: float | None = None
    class_psnr: NDArray[np.float64] | None = None
    group: NDArray[np.integer] | None = None

    @classmethod
    def judge(
        cls,
        original: NDArray[np.floating],
        reconstructed: NDArray[np.floating],
        inverses: Inverses,
        capacity: float | None = None,
        of_class: NDArray[np.floating] | None = None,
    ) -> Nearness:
        """Compare pictures (V, H, W, C) in [0, 1] with their reconstructions, and with the mean pictures
        ``of_class`` (V, H, W, C). Raises `ValueError` as `leakrange.metrics.reconstruction.ssim` and
        `leakrange.metrics.risk.Inverse.distances` do."""
        mean = np.clip(inverses.conditioned.mean, 0.0, 1.0).reshape(original.shape[1:])
        return cls(
            psnr(original, reconstructed),
            ssim(original, reconstructed),
            psnr(original, np.broadcast_to(mean, original.shape)),
            inverses.published.distances(original, reconstructed),
            inverses.conditioned.distances(original, reconstructed),
            places(original, reconstructed),
            capacity,
            None if of_class is None else psnr(original, of_class),
        )

    @property
    def matched(self) -> NDArray[np.bool_]:
        """Whether each original is the nearest of all V to its reconstruction (V,)."""
        return np.asarray(self.place == 0)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `of` reads, to travel in an npz."""
        arrays: dict[str, NDArray[Any]] = {
            name: getattr(self, name) for name in ("psnr", "ssim", "mean_psnr", "place")
        }
        for name in ("published", "conditioned"):
            for part in fields(Distances):
                arrays[f"{name}_{part.name}"] = np.asarray(getattr(getattr(self, name), part.name))
        if self.capacity is not None:
            arrays["capacity"] = np.asarray(self.capacity)
        if self.class_psnr is not None:
            arrays["class_psnr"] = self.class_psnr
        return arrays

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Nearness:
        """Restore the outcome from `arrays`. Raises `KeyError` where some are missing."""
        return cls(
            arrays["psnr"],
            arrays["ssim"],
            arrays["mean_psnr"],
            _distances(arrays, "published"),
            _distances(arrays, "conditioned"),
            arrays["place"],
            float(arrays["capacity"]) if "capacity" in arrays else None,
            arrays.get("class_psnr"),
        )


def _distances(arrays: Mapping[str, NDArray[Any]], name: str) -> Distances:
    return Distances(
        arrays[f"{name}_far"],
        arrays[f"{name}_near"],
        float(arrays[f"{name}_floor"]),
        int(arrays[f"{name}_rank"]),
        float(arrays[f"{name}_tolerance"]),
    )


STUDENT = "of the mean over samples, or over groups of them (Student's t)"
PINV = "pseudo-inverse of the float32 covariance of training and validation data, torch's default tolerance"
LEADING = "float64, the fewest leading eigenvectors with 99 % of the variance"
R = "d(x, μ) / d(x, x̃), Mahalanobis (VICIOUS, Eq. 6)"


def _mean(values: NDArray[np.floating], group: NDArray[np.integer] | None) -> Estimate:
    mean, bounds = float(values.mean()), mean_interval(values, group)
    return Estimate(value=mean) if bounds is None else Estimate.within(mean, bounds)


@metric(
    "psnr", measures=Nearness, title="PSNR", unit="dB", role="leakage", rank=40, chance="psnr_mean",
    floor="psnr_class_mean", interval=STUDENT, claim="brings samples back with a PSNR of {value}",
    equation="mean over samples of −10·log10(mean squared error), pixels in [0, 1]; a perfect one has 58.92",
)  # fmt: skip
def _psnr(nearness: Nearness) -> Estimate:
    return _mean(nearness.psnr, nearness.group)


@metric(
    "psnr_mean", measures=Nearness, title="PSNR of the mean picture", unit="dB", role="context",
    rank=41, equation="PSNR of answering the mean of training and validation data to everything",
)  # fmt: skip
def _psnr_mean(nearness: Nearness) -> float:
    return float(nearness.mean_psnr.mean())


@metric(
    "psnr_class_mean", measures=Nearness, title="PSNR of the class's mean picture", unit="dB",
    role="context", rank=42,
    equation="PSNR of answering everybody the mean of training and validation data of the class that was "
    "decided",
)  # fmt: skip
def _psnr_class_mean(nearness: Nearness) -> float | None:
    """The PSNR that the decision alone gives away, to an attacker with pictures of every class."""
    return None if nearness.class_psnr is None else float(nearness.class_psnr.mean())


@metric(
    "ssim", measures=Nearness, title="SSIM", unit="score", role="leakage", rank=42, interval=STUDENT,
    equation="structural similarity, Gaussian windows of 11 × 11 (VICIOUS, Eq. 16); mean over samples",
)  # fmt: skip
def _ssim(nearness: Nearness) -> Estimate:
    return _mean(nearness.ssim, nearness.group)


@metric(
    "risk", measures=Nearness, title="R, published inverse", unit="number", role="leakage", rank=43,
    chance=1.0, interval=STUDENT, equation=f"mean over samples of {R}; {PINV}",
)  # fmt: skip
def _risk(nearness: Nearness) -> Estimate:
    return _mean(nearness.published.risk, nearness.group)


@metric(
    "risk_median", measures=Nearness, title="median R, published inverse", unit="number",
    role="leakage", rank=44, chance=1.0, equation=f"median over samples of {R}; {PINV}",
)  # fmt: skip
def _risk_median(nearness: Nearness) -> float:
    return float(np.median(nearness.published.risk))


@metric(
    "risk_rank", measures=Nearness, title="rank of the published inverse", unit="count", role="context",
    rank=45, equation=f"eigenvectors that are kept; {PINV}",
)  # fmt: skip
def _risk_rank(nearness: Nearness) -> float:
    return float(nearness.published.rank)


@metric(
    "risk_tolerance", measures=Nearness, title="tolerance of the published inverse", unit="number",
    role="context", rank=46, equation="eigenvalues up to this part of the largest are dropped: D·2⁻²³",
)  # fmt: skip
def _risk_tolerance(nearness: Nearness) -> float:
    return nearness.published.tolerance


@metric(
    "risk_conditioned", measures=Nearness, title="R, well-conditioned inverse", unit="number",
    role="leakage", rank=47, chance=1.0, interval=STUDENT, equation=f"mean over samples of {R}; {LEADING}",
)  # fmt: skip
def _risk_conditioned(nearness: Nearness) -> Estimate:
    return _mean(nearness.conditioned.risk, nearness.group)


@metric(
    "risk_conditioned_median", measures=Nearness, title="median R, well-conditioned inverse",
    unit="number", role="leakage", rank=48, chance=1.0, equation=f"median over samples of {R}; {LEADING}",
)  # fmt: skip
def _risk_conditioned_median(nearness: Nearness) -> float:
    return float(np.median(nearness.conditioned.risk))


@metric(
    "risk_conditioned_rank", measures=Nearness, title="rank of the well-conditioned inverse",
    unit="count", role="context", rank=49, equation=f"eigenvectors that are kept; {LEADING}",
)  # fmt: skip
def _risk_conditioned_rank(nearness: Nearness) -> float:
    return float(nearness.conditioned.rank)


@metric(
    "risk_conditioned_tolerance", measures=Nearness, title="tolerance of the well-conditioned inverse",
    unit="number", role="context", rank=50, equation="the least eigenvalue that is kept, over the largest",
)  # fmt: skip
def _risk_conditioned_tolerance(nearness: Nearness) -> float:
    return nearness.conditioned.tolerance


@metric(
    "bits_recovered", measures=Nearness, title="bits recovered, at least", unit="bits", role="leakage",
    rank=55, chance=0.0, interval="of the share of samples on the list (Wilson; Korn and Graubard)",
    equation="of which of V samples it is: the most of D(p_k ‖ k/V), k = 1, 2, 4, ..., p_k the share of "
    "samples that are among the k originals nearest to their reconstruction (Fano's inequality for lists)",
)  # fmt: skip
def _bits_recovered(nearness: Nearness) -> Estimate | float:
    """The bits of the list that tells most. For pure chance they are of the order of 1/V."""
    count = len(nearness.place)
    candidates = [(nearness.place < k, k / count) for k in lists(count)]
    if not candidates:
        return 0.0
    right, chance = max(candidates, key=lambda each: bits_above_chance(float(each[0].mean()), each[1]))
    low, high = (bits_above_chance(share, chance) for share in share_interval(right, nearness.group))
    return Estimate(value=bits_above_chance(float(right.mean()), chance), low=low, high=high)


@metric(
    "bits_capacity", measures=Nearness, title="bits of a release, at most", unit="bits", role="context",
    rank=56, equation="log2 of how many different answers the output defences leave; of a value of which "
    "nothing is known 32 bits, those of a float32",
)  # fmt: skip
def _bits_capacity(nearness: Nearness) -> float | None:
    """The capacity of class scores and of features (`leakrange.defences.output.chain.upper_bits`).

    Features have no range of their own, so N of them carry up to 32·N bits, whatever values the net can give.
    Decimals leave that as it is, and so does noise, unless a `clip` or `normalise` before it bounds the
    values. Significant figures bound it by themselves, since the exponents of a float32 are few. It is far
    from what an attack recovers; `bits_recovered` is the lower bound.
    """
    return nearness.capacity
