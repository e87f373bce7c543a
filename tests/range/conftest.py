"""The embedded range as its operator uses it over HTTP, and one finished run that many tests look at."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pydantic import SecretStr

from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import serve
from tests.controller.events import events
from tests.embedded import EmbeddedRange

PATIENCE = 400.0
"""Seconds: a deadline for machines that do other work as well; on an idle one a run takes some five."""


GUESSED = frozenset({"honesty", "curiosity", "majority", "nag", "auc"})
"""The figures of an attack that guesses an attribute."""


def scenario(name: str, **changes: Any) -> str:
    """Two providers on real digits, of which the honest one is attacked from outside, with small chunks.

    All scenarios of these tests share the two models; a defence of their own makes them probe anew.
    """
    everything = {
        "name": name,
        "seeds": [0],
        "chunk": 32,
        "data": {"name": "digits", "size": 16},
        "schedule": {"epochs": 8},
        "providers": {
            "honest": {"behaviour": "honest", "target": "parity", "sensitive": "large"},
            "curious": {
                "behaviour": "curious",
                "method": "parameterized",
                "target": "parity",
                "sensitive": "large",
                "release": "logits",
                "beta": {"y": 0.6, "s": 0.4},
            },
        },
        "clients": {"phones": {"kind": "edge", "count": 8, "samples": 192}},
        "defences": {"none": []},
        "attacks": {
            "inside": {"kind": "curious-decoder"},
            "outside": {"kind": "attribute-inference", "providers": "honest", "knowledge": "aware"},
        },
        "budgets": [192],
    }
    return yaml.safe_dump(everything | changes, sort_keys=False)


def rounded(decimals: int) -> dict[str, Any]:
    return {f"round-{decimals}": [{"round": {"decimals": decimals}}]}


def significant(figures: int) -> dict[str, Any]:
    return {f"figures-{figures}": [{"round": {"figures": figures}}]}


def value(trial: dict[str, Any], metric: str) -> float:
    """A figure of a trial as the controller's API tells it."""
    return float(trial["metrics"][metric]["value"])


@dataclass
class Finished:
    """A run that is over."""

    id: str
    view: dict[str, Any]
    results: dict[str, Any]
    events: list[dict[str, Any]]

    @property
    def trials(self) -> dict[str, dict[str, Any]]:
        return {trial["id"]: trial for trial in self.results["trials"]}

    def account(self, who: str, what: str) -> dict[str, Any]:
        """The ledger of one key, e.g. of the ``attacker`` that asked ``honest-s0.none.q0``."""
        [found] = [entry for entry in self.results["ledger"] if entry["name"] == f"{self.id}.{who}.{what}"]
        return dict(found)

    def check(self, planned: int, figures: frozenset[str] = GUESSED) -> None:
        """It is done; nothing is missing, double or overdrawn. Every trial has these ``figures``."""
        assert self.view["state"] == "done", self.view["error"]
        assert self.view["trials"] == {"done": planned, "failed": 0, "total": planned}
        assert len(self.results["trials"]) == len(self.trials) == planned
        for trial in self.trials.values():
            assert trial["state"] == "done"
            assert figures <= set(trial["metrics"])
            assert trial["victims"] == 192
        for entry in self.results["ledger"]:
            assert entry["spent"] == entry["distinct"] <= entry["budget"], entry
        for kind, count in self.view["jobs"].items():
            assert (count["done"], count["failed"]) == (count["total"], 0), kind
        assert [event["id"] for event in self.events] == list(range(1, len(self.events) + 1))
        assert self.events[0]["event"] == "run.queued"
        assert self.events[-1]["event"] == "run.finished"
        told = Counter(
            event["data"].get("identity") or event["data"]["trial"]
            for event in self.events
            if event["event"] in ("job.done", "trial.done")
        )
        assert set(told.values()) == {1}
        assert set(self.trials) <= set(told)


class Controller:
    """The range's controller, over HTTP, through its crashes."""

    def __init__(self, embedded: EmbeddedRange) -> None:
        record = embedded.record
        self.client = httpx.Client(
            base_url=record.controller,
            headers={"Authorization": f"Bearer {record.operator_key}"},
            timeout=60,
        )

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Ask until the controller answers."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self.client.request(method, path, **more)
            except httpx.TransportError:
                assert time.monotonic() < deadline, "the controller stayed away"
                time.sleep(0.1)  # it is restarting
                continue
            assert answer.is_success, answer.text
            return answer

    def start(self, text: str) -> str:
        return str(self.ask("POST", "/v1/runs", content=text).json()["id"])

    def follow(self, run: str) -> Iterator[dict[str, Any]]:
        """Its events from the first to the last, each once, as a browser gets them."""
        seen, deadline = 0, time.monotonic() + PATIENCE
        while True:
            try:
                for event in events(self.client, run, headers={"Last-Event-ID": str(seen)}):
                    assert time.monotonic() < deadline, f"{run} goes on and on"
                    assert event["id"] == seen + 1
                    seen = event["id"]
                    yield event
                    if event["event"] == "run.finished":
                        return
            except httpx.TransportError:
                time.sleep(0.1)
            assert time.monotonic() < deadline, f"{run} did not end"

    def until(self, run: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first event of the run for which ``condition`` holds."""
        for event in self.follow(run):
            if condition(event):
                return event
            assert event["event"] != "run.finished", event
        raise AssertionError("unreachable")

    def finished(self, run: str) -> Finished:
        """The run, once it is over."""
        heard = list(self.follow(run))
        return Finished(
            run,
            self.ask("GET", f"/v1/runs/{run}").json(),
            self.ask("GET", f"/v1/runs/{run}/results").json(),
            heard,
        )

    def run(self, text: str) -> Finished:
        return self.finished(self.start(text))


def second(embedded: EmbeddedRange, folder: Path, *, curious: str, **changes: Any) -> ControllerSettings:
    """Settings of a second controller in the same range, with a database of its own, that is told that
    address of the curious provider."""
    record = embedded.record
    return ControllerSettings(
        **{
            "operator_key": SecretStr(record.operator_key),
            "database_url": f"sqlite:///{folder}/other.sqlite",
            "redis_url": embedded.redis_url("controller"),
            "fleet_secret": SecretStr(embedded.folder.secret("fleet")),
            "models_dir": embedded.folder.models,
            "releases_dir": embedded.folder.releases,
            "providers": {"honest": record.url("provider-honest"), "curious": curious},
            "proxy_url": record.proxy,
            "edge_url": record.edge,
            **changes,
        }
    )


@contextmanager
def another(embedded: EmbeddedRange, settings: ControllerSettings) -> Iterator[Controller]:
    """That controller, until the block ends; its runs are left as they are."""
    with serve(settings) as url:
        made = Controller(embedded)
        made.client.base_url = url
        yield made
        made.client.close()


def job(kind: str) -> Callable[[dict[str, Any]], bool]:
    """For `Controller.until`: the first job of that kind is done."""
    return lambda event: event["event"] == "job.done" and event["data"]["kind"] == kind


@pytest.fixture(scope="session")
def controller(embedded_range: EmbeddedRange) -> Iterator[Controller]:
    made = Controller(embedded_range)
    yield made
    made.client.close()


FIRST = scenario("first", defences={"none": [], "label-only": ["argmax"]})


@pytest.fixture(scope="session")
def first(controller: Controller) -> Finished:
    """A run in which nothing went wrong. Its two models are those of all the other runs."""
    return controller.run(FIRST)
