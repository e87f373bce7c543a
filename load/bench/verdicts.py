"""How often a run says *leaks* where nothing does, and how often where something does: from releases through
an attack and the report to the sentence.

    python -m leakrange.load.bench.verdicts --null 1000 --planted 200 --attack attribute-inference
        --seconds 1200

Null: releases are drawn without regard to the attribute. Half of them are softmax outputs, half features; the
attribute has two classes, one of which 8 to 50 % of the people have, or three. Planted: the means of two
classes lie so many deviations apart (``--strengths``) along one direction of eight, and the oracle, who knows
that direction, has the AUC that is printed. A run is one provider, attacked ``--each`` times with other
auxiliary records, of which the report takes the strongest. Run number n is the same every time, so that
several processes may share them (``--start``). Exit status 1 where more than 5 % of the null runs say
*leaks*, beyond the error of the count.
"""

from __future__ import annotations

import argparse
import math
import platform
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from leakrange.attacks import attacks
from leakrange.attacks.attack import Evidence
from leakrange.metrics import Guesses, Ranking, measured, softmax
from leakrange.report.answer import sentences
from leakrange.report.findings import find
from leakrange.scenario.results import RunResults, TrialResult

WORDS = {"T": "leaks", "N": "no leak found", "W": "cannot tell"}
"""Outcome by the first letter of the sentence: "The honest provider … leaks", "No leak …", "Whether …"."""


def releases(rng: np.random.Generator, labels: NDArray[np.int64], shift: float) -> NDArray[np.float32]:
    """Releases of people with these labels (N,): softmax outputs (N, 4) or features (N, 8), float32. The
    classes' means differ by ``shift``."""
    width = 8 if shift or rng.random() < 0.5 else 4
    drawn = rng.normal(size=(len(labels), width))
    drawn[:, 0] += shift * labels
    return (softmax(drawn) if width == 4 else drawn).astype(np.float32)


def run(rng: np.random.Generator, attack: Any, shift: float, each: int) -> str:
    """The first sentence of the report of one run."""
    records, people = int(rng.integers(150, 400)), int(rng.integers(200, 400))
    classes = 3 if not shift and rng.random() < 0.25 else 2
    share = rng.uniform(0.08, 0.5)
    shares = [1 - share, share] if classes == 2 else [0.5, 0.3, 0.2]
    labels = rng.choice(classes, size=people + each * records, p=shares).astype(np.int64)
    drawn = releases(rng, labels, shift)
    trials = []
    for number in range(each):
        rows = slice(people + number * records, people + (number + 1) * records)
        evidence = Evidence(
            auxiliary=drawn[rows],
            auxiliary_labels=labels[rows],
            observed=drawn[:people],
            classes=classes,
            release="features",
            seed=number,
        )
        inference = attack.infer(evidence)
        guesses = Guesses(inference.predicted, labels[:people], classes)
        figures = measured(guesses, Ranking(inference.scores, labels[:people]))
        trials.append(trial(f"outside-{number}", figures, people))
    return sentences(find(results(trials)))[0]


def trial(attack: str, figures: dict[str, Any], people: int) -> TrialResult:
    """A finished trial with these figures."""
    return TrialResult(
        id=attack, kind="attribute", provider="p", data="drawn", behaviour="honest", release="features",
        target="y", sensitive="s", defence="none", attack=attack, knowledge="unaware", budget=people, seed=0,
        state="done", metrics=figures,
    )  # fmt: skip


def results(trials: list[TrialResult]) -> RunResults:
    """A run of these trials."""
    return RunResults(
        run="r", name="drawn", state="done", created="2026-01-01T00:00:00Z", finished=None, scenario_yaml="",
        scenario={}, environment={}, trials=trials, models=[],
    )  # fmt: skip


def outcomes(attack: Any, numbers: range, shift: float, each: int, until: float) -> Iterator[str]:
    """The outcomes of these runs, or of as many as end in time."""
    for number in numbers:
        if time.monotonic() > until:
            return
        rng = np.random.default_rng([number, round(1000 * shift)])
        sentence = run(rng, attack, shift, each)
        yield "leaks little" if " leaks little" in sentence else WORDS[sentence[0]]


def too_many(leaks: int, runs: int) -> bool:
    """Whether that many of null ``runs`` with the verdict *leaks* are more than 5 % of them, beyond the error
    of the count."""
    return leaks / runs - 2 * math.sqrt(0.05 * 0.95 / runs) > 0.05


def main() -> None:
    """Print a row for the null and one for each strength."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--null", type=int, default=1000)
    parser.add_argument("--planted", type=int, default=200)
    parser.add_argument("--strengths", type=float, nargs="*", default=[0.3, 0.6, 1.0])
    parser.add_argument("--attack", default="attribute-inference")
    parser.add_argument("--epochs", type=int, help="of the attack's nets, where not its own default")
    parser.add_argument("--each", type=int, default=1, help="attacks of which the strongest is told")
    parser.add_argument("--start", type=int, default=0, help="the number of the first run of each row")
    parser.add_argument("--seconds", type=float, default=1200.0)
    options = parser.parse_args()
    entry = attacks[options.attack]
    more = {} if options.epochs is None else {"epochs": options.epochs}
    attack = entry(entry.Parameters(sensitive="s", **more))
    print(
        f"{options.attack} {more or ''}, {options.each} attack(s) a run; {platform.processor()}", flush=True
    )
    until, wrong = time.monotonic() + options.seconds, False
    for shift, count in [(0.0, options.null), *((each, options.planted) for each in options.strengths)]:
        began = time.monotonic()
        numbers = range(options.start, options.start + count)
        counts = Counter(outcomes(attack, numbers, shift, options.each, until))
        total = sum(counts.values())
        if not total:
            continue
        rows = ", ".join(
            f"{word} {counts[word]} ({100 * counts[word] / total:.1f} %)" for word in sorted(counts)
        )
        oracle = float(ndtr(shift / math.sqrt(2)))
        print(f"oracle AUC {oracle:.3f}, {total} runs: {rows}; {time.monotonic() - began:.0f} s", flush=True)
        if shift == 0.0:
            wrong = too_many(counts["leaks"], total)
    raise SystemExit(wrong)


if __name__ == "__main__":
    main()
