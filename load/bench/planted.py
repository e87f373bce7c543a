"""What attacks on an attribute find of leaks that are planted in releases, beside what there is to find.

    python -m leakrange.load.bench.planted --seeds 3

prints a table in Markdown: the AUC of the paper's nets alone, of every learner of the panel, of the panel's
choice, and of an oracle that knows how the attribute was drawn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.attack import Evidence
from leakrange.attacks.panel.panel import LEARNERS
from leakrange.metrics import auc, softmax

__all__ = ["PLANTED", "Leak", "evidence"]

VICTIMS = 2000
Odds = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Leak:
    """Releases (·, ``width``) of independent normal numbers, of ``records`` that the attacker has. The
    attribute of each is drawn with the log odds ``odds`` of its release; ``soft`` releases are the softmax of
    five times these numbers."""

    name: str
    odds: Odds
    width: int = 2
    records: int = 400
    soft: bool = False


PLANTED = (
    Leak("linear, 100 records", lambda x: 1.5 * x[:, 0], records=100),
    Leak("linear, 400 records", lambda x: 1.5 * x[:, 0]),
    Leak("linear, 15,000 records", lambda x: 0.5 * x[:, 0], records=15_000),
    Leak("product of two numbers", lambda x: 2.5 * x[:, 0] * x[:, 1]),
    Leak("margin", lambda x: 3 * (np.abs(x[:, 0] - x[:, 1]) - 1)),
    Leak("margin, softmax", lambda x: 3 * (np.abs(x[:, 0] - x[:, 1]) - 1), soft=True),
    Leak("distance from the mean, of 10", lambda x: 3 * (np.linalg.norm(x, axis=1) - 3.1), width=10),
    Leak("one of 64", lambda x: 1.5 * x[:, 17], width=64),
    Leak("one of 512", lambda x: 2.0 * x[:, 177], width=512),
    Leak("one of 512, 2,000 records", lambda x: 1.0 * x[:, 177], width=512, records=2000),
    Leak("variance of 64", lambda x: 0.3 * (x**2 - 1).sum(axis=1), width=64, records=1000),
    Leak("imbalanced, 95 to 5", lambda x: 1.5 * x[:, 0] - 3.7, width=4, records=1000),
    Leak("nothing, of 2", lambda x: 0 * x[:, 0]),
    Leak("nothing, of 64", lambda x: 0 * x[:, 0], width=64),
    Leak("nothing, 95 to 5", lambda x: 0 * x[:, 0] - 2.94, width=4),
)


def evidence(leak: Leak, seed: int) -> tuple[Evidence, NDArray[np.int64], NDArray[np.float64]]:
    """An attacker's evidence of ``leak``, and for its 2,000 victims the attribute and the log odds."""
    rng = np.random.default_rng([seed, len(leak.name), leak.width, leak.records])
    numbers = rng.normal(size=(leak.records + VICTIMS, leak.width))
    odds = leak.odds(numbers)
    labels = (rng.random(len(odds)) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    releases = (softmax(5 * numbers) if leak.soft else numbers).astype(np.float32)
    given = Evidence(
        auxiliary=releases[: leak.records],
        auxiliary_labels=labels[: leak.records],
        observed=releases[leak.records :],
        classes=2,
        release="softmax" if leak.soft else "logits",
        seed=seed,
    )
    return given, labels[leak.records :], odds[leak.records :]


def figures(leak: Leak, seed: int) -> tuple[list[float], list[float]]:
    """AUCs of the paper's nets alone, of each learner, the panel and the oracle; and processor seconds of the
    nets and of the panel."""
    given, truth, odds = evidence(leak, seed)
    seconds, inferences = [], []
    for name in ("attribute-nets", "attribute-inference"):
        entry = attacks[name]
        began = time.process_time()
        inferences.append(entry(entry.Parameters(sensitive="planted")).infer(given))  # type: ignore[attr-defined]
        seconds.append(time.process_time() - began)
    old, new = inferences
    scores = dict(zip(new.panel["learner"].tolist(), new.panel["scores"], strict=True))
    all_scores = [old.scores, *(scores[learner.name] for learner in LEARNERS), new.scores]
    positive = truth == 1
    areas = [auc(each[:, 1].astype(float) - each[:, 0], positive) for each in all_scores]
    return [*areas, auc(odds, positive)], seconds


def main() -> None:
    """Print the table."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    figures(PLANTED[0], 0)  # so that no row's seconds include imports
    heads = [
        "nets alone",
        *(learner.name for learner in LEARNERS),
        "panel",
        "oracle",
        "seconds, nets and panel",
    ]
    print(f"| planted | {' | '.join(heads)} |")
    print("|---|" + "---|" * len(heads))
    for leak in PLANTED:
        drawn = [figures(leak, seed) for seed in range(seeds)]
        areas = np.mean([areas for areas, _ in drawn], axis=0)
        old, new = np.mean([seconds for _, seconds in drawn], axis=0)
        cells = [*(f"{area:.3f}" for area in areas), f"{old:.1f}, {new:.1f}"]
        print(f"| {leak.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
