"""A range whose parties fail while it carries out runs, and what a run says of it afterwards."""

from __future__ import annotations

import signal
from typing import Any

import yaml

from clients.cli.embedded.process import kill_group
from clients.cli.embedded.redis_server import redis_url
from leakrange.service.parties import FLEET_REDIS, RedisUser
from load.kill_drill import Drill, until

__all__ = ["CHUNK", "SAMPLES", "Run", "Standing", "Wrong"]

SAMPLES, CHUNK = 96, 4
OVER = ("done", "failed", "cancelled")


class Wrong(Exception):
    """A run did not end as it should have."""


class Standing(Drill):
    """A range for this drill."""

    def run(self, name: str, number: int, *, seed: int = 0, epochs: int = 4, at: str | None = None) -> Run:
        """Begin a run of that name, at the controller ``at``. Another ``number`` makes it ask all anew, and
        another ``seed`` train all anew."""
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
        return Run(self, f"{runs}/{self.ask('POST', runs, content=text)['id']}")

    def signal(self, party: str, sign: signal.Signals) -> None:
        """To a party, with all its children."""
        pid = self.record.party(party).pid
        assert pid is not None
        kill_group(pid, sign)

    def until_back(self, party: str, restarts: int) -> None:
        """Until the launcher has started a party more often than that, and it is ready."""

        def back() -> bool:
            now = self.record.party(party)
            return now.restarts > restarts and now.state == "ready"

        until(back, f"{party} to be ready again")

    def redis_url(self, user: RedisUser) -> str:
        """The fleet's Redis, as that user reaches it."""
        return redis_url(self.folder, self.first.port(FLEET_REDIS), user)

    def account(self, name: str) -> dict[str, Any]:
        """An account at the proxy."""
        found: dict[str, Any] = self.ask("GET", f"{self.first.proxy}/admin/keys/{name}")
        return found


class Run:
    """One run, by its address."""

    def __init__(self, standing: Standing, url: str) -> None:
        self.standing, self.url = standing, url

    @property
    def id(self) -> str:
        """As the controller calls it."""
        return self.url.rpartition("/")[2]

    @property
    def attacker(self) -> str:
        """The name of the attacker's account."""
        found = f"{self.id}.attacker.honest-s"
        names = [each["name"] for each in self.results()["ledger"] if each["name"].startswith(found)]
        if not names:
            raise Wrong("the run has not asked yet")
        return str(names[0])

    def view(self) -> dict[str, Any]:
        """Its state now."""
        found: dict[str, Any] = self.standing.ask("GET", self.url)
        return found

    def results(self) -> dict[str, Any]:
        """All that is known of it so far."""
        found: dict[str, Any] = self.standing.ask("GET", f"{self.url}/results")
        return found

    def until_probed(self, chunks: int) -> None:
        """Until so many chunks of the attacker's are answered."""

        def far_enough() -> bool:
            view = self.view()
            if view["state"] in OVER:
                raise Wrong(f"the run is over already: {view['state']}, {view['error']}")
            return bool(view["jobs"].get("probe", {}).get("done", 0) >= chunks)

        until(far_enough, f"{chunks} chunks to be answered")

    def ended(self) -> dict[str, Any]:
        """What it says of itself, once it is over."""
        view: dict[str, Any] = {}

        def over() -> bool:
            view.update(self.view())
            return view["state"] in OVER

        until(over, "the end of the run")
        return view

    def done(self) -> str:
        """Its end, in words; raises `Wrong` unless it is done, with nothing missing, double or unpaid."""
        view = self.ended()
        if view["state"] != "done":
            raise Wrong(f"the run {view['state']}: {view['error']}")
        open_jobs = {kind: count for kind, count in view["jobs"].items() if count["done"] != count["total"]}
        if open_jobs or view["trials"]["done"] != 2:
            raise Wrong(f"done, but with {open_jobs}, {view['trials']}")
        self.check_ledger(all_of=SAMPLES)
        return f"done: {view['jobs']['probe']['total']} chunks, each of 3 × {SAMPLES} samples paid once"

    def failed(self, words: str) -> str:
        """Its end, in words; raises `Wrong` unless it has failed and says these words."""
        view = self.ended()
        if view["state"] != "failed" or words not in (view["error"] or ""):
            raise Wrong(f"the run {view['state']}: {view['error']}")
        return str(view["error"])

    def check_ledger(self, all_of: int | None = None) -> int:
        """The samples that the attacker paid; raises `Wrong` where an account is not what was received for
        it, or, with ``all_of``, not that many."""
        paid = 0
        for entry in self.results()["ledger"]:
            account = self.standing.account(entry["name"])
            counts = (entry["spent"], entry["distinct"], account["spent"], account["reserved"])
            if len({*counts[:3]}) != 1 or counts[3] or all_of not in (None, counts[0]):
                raise Wrong(f"{entry['name']}: spent, distinct, spent and reserved at the proxy are {counts}")
            paid += entry["spent"] if ".attacker." in entry["name"] else 0
        return paid
