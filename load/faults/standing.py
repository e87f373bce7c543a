"""A range whose parties fail while it carries out runs, and the checks of a run afterwards."""

from __future__ import annotations

import signal
from typing import Any

import yaml

from leakrange.clients.cli.embedded.process import kill_group
from leakrange.clients.cli.embedded.redis_server import redis_url
from leakrange.load.kill_drill import Drill, until
from leakrange.service.parties import FLEET_REDIS, RedisUser

__all__ = ["CHUNK", "SAMPLES", "FaultRun", "FaultyRange", "Wrong"]

SAMPLES, CHUNK = 96, 4
OVER = ("done", "failed", "cancelled")


class Wrong(Exception):
    """A run did not end as it should have."""


class FaultyRange(Drill):
    """A range for this drill."""

    def run(
        self, name: str, number: int, *, seed: int = 0, epochs: int = 4, at: str | None = None
    ) -> FaultRun:
        """Start a run of that name, at the controller ``at``. Another ``number`` makes it ask everything
        anew, and another ``seed`` train everything anew."""
        shared = {"target": "parity", "sensitive": "large"}
        curious = {"behaviour": "curious", "method": "parameterized", "release": "logits"}
        text = yaml.safe_dump(
            {
                "name": name,
                "seeds": [seed],
                "chunk": CHUNK,
                "data": {"name": "digits", "size": 16},
                "schedule": {"epochs": epochs},
                "providers": {
                    "honest": {"behaviour": "honest", **shared},
                    "curious": {**curious, "beta": {"y": 0.6, "s": 0.4}, **shared},
                },
                "clients": {"phones": {"kind": "edge", "count": 8, "samples": SAMPLES}},
                "defences": {"noisy": [{"noise": {"scale": 0.01 * number, "sticky": True}}]},
                "attacks": {
                    "inside": {"kind": "curious-decoder"},
                    "outside": {"kind": "attribute-inference", "providers": "honest", "knowledge": "aware"},
                },
                "budgets": [SAMPLES],
            }
        )
        runs = f"{at or self.first.controller}/v1/runs"
        return FaultRun(self, f"{runs}/{self.ask('POST', runs, content=text)['id']}")

    def signal(self, party: str, sign: signal.Signals) -> None:
        """Send a signal to a party, with all its children."""
        pid = self.record.party(party).pid
        assert pid is not None
        kill_group(pid, sign)

    def until_back(self, party: str, restarts: int) -> None:
        """Wait until the launcher has started a party more often than that, and it is ready."""

        def back() -> bool:
            now = self.record.party(party)
            return now.restarts > restarts and now.state == "ready"

        until(back, f"{party} to be ready again")

    def redis_url(self, user: RedisUser) -> str:
        """URL of the fleet's Redis for that user."""
        return redis_url(self.folder, self.first.port(FLEET_REDIS), user)

    def account(self, name: str) -> dict[str, Any]:
        """An account at the proxy."""
        account: dict[str, Any] = self.ask("GET", f"{self.first.proxy}/admin/keys/{name}")
        return account


class FaultRun:
    """One run, by its address."""

    def __init__(self, standing: FaultyRange, url: str) -> None:
        self.standing, self.url = standing, url

    @property
    def id(self) -> str:
        """The controller's identity of the run."""
        return self.url.rpartition("/")[2]

    @property
    def attacker(self) -> str:
        """The name of the attacker's account."""
        prefix = f"{self.id}.attacker.honest-s"
        names = [each["name"] for each in self.results()["ledger"] if each["name"].startswith(prefix)]
        if not names:
            raise Wrong("the run has not asked yet")
        return str(names[0])

    def view(self) -> dict[str, Any]:
        """The present state of the run."""
        view: dict[str, Any] = self.standing.ask("GET", self.url)
        return view

    def results(self) -> dict[str, Any]:
        """The results so far."""
        results: dict[str, Any] = self.standing.ask("GET", f"{self.url}/results")
        return results

    def until_probed(self, chunks: int) -> None:
        """Wait until so many chunks of the attacker's are answered."""

        def far_enough() -> bool:
            view = self.view()
            if view["state"] in OVER:
                raise Wrong(f"the run is over already: {view['state']}, {view['error']}")
            return bool(view["jobs"].get("probe", {}).get("done", 0) >= chunks)

        until(far_enough, f"{chunks} chunks to be answered")

    def ended(self) -> dict[str, Any]:
        """The view of the run, once it is over."""
        view: dict[str, Any] = {}

        def over() -> bool:
            view.update(self.view())
            return view["state"] in OVER

        until(over, "the end of the run")
        return view

    def done(self, first: FaultRun | None = None) -> str:
        """A sentence about its end. Raises `Wrong` unless it is done, with nothing missing, double or
        unpaid. What the attacker paid in the ``first`` run of the same scenario is not paid again;
        users upload anew in each run."""
        view = self.ended()
        if view["state"] != "done":
            raise Wrong(f"the run {view['state']}: {view['error']}")
        open_jobs = {kind: count for kind, count in view["jobs"].items() if count["done"] != count["total"]}
        if open_jobs or view["trials"]["done"] != 2:
            raise Wrong(f"done, but with {open_jobs}, {view['trials']}")
        self.check_ledger(all_of=SAMPLES, first=first)
        return f"done: {view['jobs']['probe']['total']} chunks, each of 3 × {SAMPLES} samples paid once"

    def failed(self, words: str) -> str:
        """A sentence about its end. Raises `Wrong` unless it has failed with a message of these words."""
        view = self.ended()
        if view["state"] != "failed" or words not in (view["error"] or ""):
            raise Wrong(f"the run {view['state']}: {view['error']}")
        return str(view["error"])

    def paid(self) -> dict[str, int]:
        """The samples that the attacker has paid, by account without the name of the run."""
        ledger = {
            each["name"].removeprefix(f"{self.id}."): each["spent"] for each in self.results()["ledger"]
        }
        return {name: spent for name, spent in ledger.items() if name.startswith("attacker.")}

    def check_ledger(self, all_of: int | None = None, first: FaultRun | None = None) -> int:
        """The samples that the attacker paid. Raises `Wrong` where an account does not match the received
        answers, or, with ``all_of``, the part of that number that the ``first`` run has not paid."""
        before = {} if first is None else first.paid()
        for entry in self.results()["ledger"]:
            account = self.standing.account(entry["name"])
            counts = (entry["spent"], entry["distinct"], account["spent"], account["reserved"])
            both = counts[0] + before.get(entry["name"].removeprefix(f"{self.id}."), 0)
            if len({*counts[:3]}) != 1 or counts[3] or all_of not in (None, both):
                raise Wrong(f"{entry['name']}: spent, distinct, spent and reserved at the proxy are {counts}")
        return sum(self.paid().values())
