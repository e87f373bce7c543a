"""A run made by hand in which inputs were reconstructed: an honest provider and a vicious one.

No two providers, defences or attackers have a figure in common. The pictures are drawn: digits of seven
segments, which the noise of a reconstruction drowns the more, the lower its PSNR.
"""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leakrange.metrics import Estimate
from leakrange.scenario.results import RunResults, TrialResult
from tests.report.build import estimates, run

SEGMENTS = ("012456", "25", "02346", "02356", "1235", "01356", "013456", "025", "0123456", "012356")
DEFENCES = ("none", "softmax", "rounded", "noise", "argmax")
SEEDS = (0, 1)
USERS = 10

UTILITY = {  # accuracy, top-3 accuracy, calibration error
    "none": (0.985, 0.998, 0.010),
    "softmax": (0.985, 0.998, 0.012),
    "rounded": (0.983, 0.991, 0.017),
    "noise": (0.941, 0.979, 0.041),
    "argmax": (0.979, 0.979, 0.015),
}
PSNR = {  # dB: the vicious provider's own decoder, and from outside unaware, aware and averaging
    "none": (19.9, 18.7, 18.6, 18.4),
    "softmax": (10.9, 9.8, 15.3, 15.2),
    "rounded": (9.4, 9.1, 12.2, 12.1),
    "noise": (6.0, 5.9, 14.3, 16.4),
    "argmax": (7.1, 6.3, 9.6, 9.5),
}
HONEST = 0.68
"""Of these, what the honest provider's outputs give away to the attackers from outside."""
MEAN = 5.8
"""dB of the mean picture of all."""
CAPACITY = {"softmax": 212.0, "rounded": 33.2, "noise": 320.0, "argmax": 3.32}


def psnr(provider: str, defence: str, attack: str, knowledge: str) -> float:
    """The mean over seeds, in dB."""
    place = 0 if attack == "inside" else 1 + ("unaware", "aware", "averaging").index(knowledge)
    return PSNR[defence][place] * (HONEST if provider == "honest" else 1.0)


def decibels(level: float) -> Estimate:
    """A PSNR with an interval of 0.3 dB to either side."""
    return Estimate.within(level, (level - 0.3, level + 0.3))


def digit(number: int, side: int = 16) -> NDArray[np.float64]:
    """A digit of seven segments, (side, side) in [0, 1]."""
    drawn = np.zeros((side, side))
    top, middle, bottom, left, right = 2, side // 2 - 1, side - 4, 4, side - 6
    spans = {
        "0": (top, top, left, right), "3": (middle, middle, left, right), "6": (bottom, bottom, left, right),
        "1": (top, middle, left, left), "2": (top, middle, right, right),
        "4": (middle, bottom, left, left), "5": (middle, bottom, right, right),
    }  # fmt: skip
    for segment in SEGMENTS[number]:
        first, last, start, end = spans[segment]
        drawn[first : last + 2, start : end + 2] = 1.0
    return drawn


def strip(pictures: list[NDArray[np.float64]]) -> str:
    """Pictures side by side, as base64 PNG."""
    written = io.BytesIO()
    Image.fromarray((np.hstack(pictures) * 255).astype(np.uint8)).save(written, "png")
    return base64.b64encode(written.getvalue()).decode()


def view(name: str, level: float, first: int = 0) -> dict[str, object]:
    """What a trial holds: noise of that PSNR on the digits from ``first`` on, the same every time."""
    noise = np.random.default_rng(zlib.crc32(name.encode()))
    originals = [digit((first + place) % 10) for place in range(USERS)]
    found = [np.clip(each + noise.normal(0, 10 ** (-level / 20), each.shape), 0.0, 1.0) for each in originals]
    each = [round(level + 0.1 * (place - 4.5), 3) for place in range(USERS)]
    return {
        "original": strip(originals),
        "reconstructed": strip(found),
        "psnr": each,
        "ssim": [round(value / 24, 3) for value in each],
        "risk": [round(1 + value / 90, 3) for value in each],
    }


def trial(provider: str, defence: str, attack: str, knowledge: str, seed: int) -> TrialResult:
    """One finished trial; seeds lie 0.02 dB to either side of their mean, intervals 0.3 dB. By its SSIM,
    rounding is the better defence; by the others, argmax."""
    name = f"{provider}.{defence}.{attack}.{knowledge}"
    level = psnr(provider, defence, attack, knowledge) + 0.04 * (seed - 0.5)
    accuracy, top3, calibration = UTILITY[defence]
    less = 0.0 if provider == "honest" else 0.003
    ssim = level / 24 - (0.2 if defence == "rounded" else 0.0)
    figures = {
        "honesty": accuracy - less, "top3": top3 - less, "calibration_error": calibration + less,
        "psnr": level, "psnr_mean": MEAN, "ssim": ssim, "risk": 1 + level / 90,
        "bits_recovered": level * 0.3,
    }  # fmt: skip
    if defence in CAPACITY:
        figures["bits_capacity"] = CAPACITY[defence]
    return TrialResult(
        id=f"{name}.s{seed}",
        kind="reconstruction-decoder" if attack == "inside" else "reconstruction",
        provider=provider,
        data="drawn-digits",
        behaviour=provider,
        release="logits",
        target="digit",
        sensitive="sample",
        defence=defence,
        attack=attack,
        knowledge=knowledge,
        budget=1000,
        seed=seed,
        state="done",
        victims=1000,
        spent=1000,
        metrics=estimates(figures | {"psnr": decibels(level)}),
        views={"reconstructions": view(name, level)},
    )


def trials() -> Iterator[TrialResult]:
    """Every cell of the matrix."""
    outside = [("outside", knowledge) for knowledge in ("unaware", "aware", "averaging")]
    for provider in ("honest", "vicious"):
        for defence in DEFENCES:
            for attack, knowledge in [*([("inside", "unaware")] if provider == "vicious" else []), *outside]:
                for seed in SEEDS:
                    yield trial(provider, defence, attack, knowledge, seed)


def reconstructed(*found: TrialResult) -> RunResults:
    """A finished run of these trials, or of all."""
    return run(
        name="what-ten-numbers-give-away", trials=list(found or trials()), models=[], ledger=[], scenario={}
    )
