"""Kill the processes of an embedded range again and again while it executes a run; nobody lends a hand.

    python -m leakrange.load.kill_drill [--kills 30] [--seeds 24] [--seed 0]

Stands up a range in a temporary folder and starts one run, of two providers for each of ``--seeds`` seeds.
Then parties get SIGKILL, with all their children: both Redis servers first, then every other one in random
order (``--seed``), Redis again, and so on; the next as soon as the launcher has the last one ready again and
the run has got on by its share. The launcher itself is spared, since it is the one that starts parties again.

Says each kill and the verdict. Exit status 1 unless the run is done, with no job failed, and every account
says, in the report as at the proxy, that each sample was paid once.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from leakrange.client.embedded import RangeRecord
from leakrange.clients.cli.embedded.process import kill_group
from leakrange.load.embedded import PATIENCE, EmbeddedRange, embedded_range
from leakrange.service.parties import SERVERS

__all__ = ["main", "mistakes"]

SAMPLES, CHUNK = 192, 4
JOBS_PER_SEED = 2 + 3 * SAMPLES // CHUNK + 1
"""Two trainings, two streams of users and one attacker's probe in chunks, one fit."""


def scenario(seeds: int) -> str:
    """Two providers for each seed, of which the honest one is attacked from outside, in small chunks."""
    shared = {"target": "parity", "sensitive": "large"}
    curious = {
        "behaviour": "curious",
        "method": "parameterized",
        "release": "logits",
        "beta": {"y": 0.6, "s": 0.4},
    }
    return yaml.safe_dump(
        {
            "name": "kill-drill",
            "seeds": list(range(seeds)),
            "chunk": CHUNK,
            "data": {"name": "digits", "size": 16},
            "schedule": {"epochs": 4},
            "providers": {"honest": {"behaviour": "honest", **shared}, "curious": {**curious, **shared}},
            "clients": {"phones": {"kind": "edge", "count": 8, "samples": SAMPLES}},
            "defences": {"rounded": [{"round": {"decimals": 2}}]},
            "attacks": {
                "inside": {"kind": "curious-decoder"},
                "outside": {"kind": "attribute-inference", "providers": "honest", "knowledge": "aware"},
            },
            "budgets": [SAMPLES],
        }
    )


class Drill(EmbeddedRange):
    """A range whose parties are killed."""

    @property
    def record(self) -> RangeRecord:
        """The present record of the range. Ends the drill where it is gone."""
        record = self.folder.record()
        if record is None or record.state == "failed" or not self.folder.held():
            raise SystemExit(f"the range has ended: {record.error if record else 'it left no record'}")
        return record

    def kill(self, name: str) -> float:
        """Send SIGKILL to a party; returns the seconds until it is ready again."""
        before = self.record.party(name)
        assert before.pid is not None
        began = time.monotonic()
        kill_group(before.pid, signal.SIGKILL)

        def back() -> bool:
            now = self.record.party(name)
            return now.restarts > before.restarts and now.state == "ready"

        until(back, f"{name} to be ready again")
        return time.monotonic() - began


def until(condition: Callable[[], bool], event: str) -> None:
    """Return as soon as ``condition`` holds. Ends the drill where it takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {PATIENCE:.0f} s: {event}")
        time.sleep(0.1)


def victims(names: list[str], kills: int, dice: random.Random) -> Iterator[str]:
    """The parties to kill: the Redis servers, then all others in random order, and from the beginning."""
    others = [name for name in names if name not in SERVERS]
    order: list[str] = []
    for _ in range(kills):
        if not order:
            order = [*SERVERS, *dice.sample(others, len(others))]
        yield order.pop(0)


def drill(range_: Drill, kills: int, seeds: int, dice: random.Random) -> list[str]:
    """Carry the drill out; returns the mistakes of the run's end."""
    runs = f"{range_.first.controller}/v1/runs"
    run = range_.ask("POST", runs, content=scenario(seeds))["id"]
    planned, began = seeds * JOBS_PER_SEED, time.monotonic()

    def view() -> dict[str, Any]:
        run_view: dict[str, Any] = range_.ask("GET", f"{runs}/{run}")
        return run_view

    def done(run: dict[str, Any]) -> int:
        return sum(count["done"] for count in run["jobs"].values())

    def wait_until_done(jobs: int) -> dict[str, Any]:
        """The run, once it has done so many jobs, or is over."""
        now = view()

        def far_enough() -> bool:
            nonlocal now
            now = view()
            return done(now) >= jobs or now["state"] not in ("queued", "running")

        until(far_enough, f"{jobs} jobs of the run to be done")
        return now

    names = [party.name for party in range_.first.parties]
    for number, name in enumerate(victims(names, kills, dice)):
        share = planned * (number + 1) // (kills + 2)
        now = wait_until_done(share)
        if now["state"] not in ("queued", "running"):
            return [f"the run was {now['state']} after {number} kills: {now['error'] or 'give more --seeds'}"]
        seconds = range_.kill(name)
        at = time.monotonic() - began
        print(
            f"{at:6.1f} s  kill {number + 1:2}  {name:16} back after {seconds:4.1f} s; {done(now)} jobs",
            flush=True,
        )
    until(lambda: view()["state"] not in ("queued", "running"), "the end of the run")
    print(f"{time.monotonic() - began:6.1f} s  the run is over")
    ledger = range_.ask("GET", f"{runs}/{run}/results")["ledger"]
    accounts = [range_.ask("GET", f"{range_.first.proxy}/admin/keys/{entry['name']}") for entry in ledger]
    spent = sum(entry["spent"] for entry in ledger)
    print(f"{len(ledger)} accounts, {spent} samples paid")
    wrong = mistakes(view(), ledger, accounts, planned)
    if range_.record.launcher != range_.first.launcher:
        wrong.append("somebody has started the range again")
    return wrong


def mistakes(
    view: Mapping[str, Any],
    ledger: Sequence[Mapping[str, Any]],
    accounts: Sequence[Mapping[str, Any]],
    planned: int,
) -> list[str]:
    """Differences to a run without kills, by the run's ``view``, the ``ledger`` of its report, and the
    proxy's ``accounts`` in the same order. ``planned`` jobs were to be done."""
    differences = [] if view["state"] == "done" else [f"the run {view['state']}: {view['error']}"]
    for kind, count in view["jobs"].items():
        if (count["done"], count["failed"]) != (count["total"], 0):
            differences.append(f"jobs of kind {kind}: {count}")
    total = sum(count["total"] for count in view["jobs"].values())
    if total != planned:
        differences.append(f"{total} jobs, and {planned} were planned")
    for entry, account in zip(ledger, accounts, strict=True):
        counts = (entry["spent"], entry["distinct"], account["spent"], account["reserved"])
        if counts != (SAMPLES, SAMPLES, SAMPLES, 0):
            differences.append(
                f"{entry['name']}: spent, distinct, spent and reserved at the proxy are {counts}"
            )
    return differences


def main() -> None:
    """Run the drill from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument(
        "--seeds", type=int, default=24, help="how much the run has to do (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the order of kills (default: %(default)s)")
    options = parser.parse_args()
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"{machine}; {options.kills} kills, {options.seeds} seeds, order {options.seed}")
    with embedded_range(workers=2) as standing:
        drilled = Drill(standing.folder, standing.first)
        wrong = drill(drilled, options.kills, options.seeds, random.Random(options.seed))
        restarts = sum(party.restarts for party in drilled.record.parties)
    if restarts < options.kills:
        wrong.append(f"the launcher has seen {restarts} deaths")
    for mistake in wrong:
        print(f"WRONG: {mistake}")
    if wrong:
        raise SystemExit(1)
    print(f"the run is done after {options.kills} kills, and every sample was paid once")


if __name__ == "__main__":
    main()
