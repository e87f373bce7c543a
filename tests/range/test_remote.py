"""A whole run against a model that somebody else serves in a format of its own, with a leak planted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest

from leakrange.wire.names import PublicNames
from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, Finished, scenario, value
from tests.scenario.test_remote import text
from tests.serving import serving

pytestmark = pytest.mark.timeout(900)


class Risk:
    """Tells on which side of the middle a point lies, as two probabilities by the names of the classes. If it
    ``leaks``, their third decimals tell the other side as well."""

    def __init__(self, *, leaks: bool) -> None:
        self.leaks, self.asked = leaks, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        points = np.array(orjson.loads(body)["rows"], dtype=float)
        self.asked += len(points)
        right = np.round(0.2 + 0.6 * (points[:, 0] > 127.5), 2)
        if self.leaks:
            right += 0.004 * np.sign(points[:, 1] - 127.5)
        rows = [{"right": each, "left": 1.0 - each} for each in right.tolist()]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps(rows)})


def run(controller: Controller, server: Risk, name: str, **more: Any) -> Finished:
    with serving(server) as url:
        step = {"post": url, "json": {"rows": "${samples}"}, "read": {"each": "$[*]", "values": "$"}}
        defences = {"none": [], "rounded": [{"round": {"decimals": 1}}], "noisy": [{"gaussian-input": 60.0}]}
        asked = text({"steps": [step]}, name=name, seeds=[0], defences=defences, budgets=[192], **more)
        return controller.run(asked.replace("samples: 64", "samples: 192"))


def test_a_planted_leak_is_found_and_what_stops_it(controller: Controller) -> None:
    server = Risk(leaks=True)
    finished = run(controller, server, "leaking")
    finished.check(3)
    clean, rounded, noisy = (
        finished.trials[f"risk-s0.{defence}.outside.aware.b192"] for defence in ("none", "rounded", "noisy")
    )
    assert value(clean, "auc") > 0.99
    assert value(clean, "honesty") == value(rounded, "honesty") == 1.0
    assert 0.4 < value(rounded, "auc") < 0.6
    assert value(noisy, "honesty") < 0.95
    assert clean["behaviour"] == "remote"
    spent = sum(entry["spent"] for entry in finished.results["ledger"])
    assert spent == 6 * 192
    assert server.asked == spent + 1  # and the probe of the route
    for page in (
        f"/runs/{finished.id}",
        f"/runs/{finished.id}/board",
        f"/v1/runs/{finished.id}/report",
        "/models",
    ):
        assert controller.ask("GET", page).text


def test_answers_behind_a_policy_can_be_made_from_stored_ones_and_nobody_is_asked(
    controller: Controller,
) -> None:
    asked, server = run(controller, Risk(leaks=True), "asked"), Risk(leaks=True)
    replayed = run(controller, server, "replayed", replay=True)
    replayed.check(3)
    assert server.asked == sum(entry["spent"] for entry in replayed.results["ledger"]) + 1 == 4 * 192 + 1
    assert replayed.view["jobs"]["replay"] == {"done": 6, "failed": 0, "total": 6}
    one, other = (each.trials["risk-s0.rounded.outside.aware.b192"] for each in (replayed, asked))
    assert one["metrics"] == other["metrics"]
    assert value(one, "auc") < 0.6 < value(replayed.trials["risk-s0.none.outside.aware.b192"], "auc")


def test_nothing_is_found_where_nothing_is(controller: Controller) -> None:
    finished = run(controller, Risk(leaks=False), "silent")
    finished.check(3)
    for trial in finished.trials.values():
        assert 0.4 < value(trial, "auc") < 0.6


@pytest.mark.parametrize("preset", ["open-inference", "open-inference-binary"])
def test_a_model_of_ours_has_the_same_figures_where_it_is_somebody_elses(
    controller: Controller, first: Finished, embedded_range: EmbeddedRange, preset: str
) -> None:
    """The honest model of the first run, asked by the Open Inference Protocol behind the same proxy."""
    url = embedded_range.record.url("provider-honest")
    served = httpx.get(f"{url}/v1/models", timeout=30).json()["models"]
    [artifact] = [each["artifact"] for each in first.results["models"] if each["provider"] == "honest"]
    identity = PublicNames(embedded_range.record.operator_key).of("model", artifact)
    [name] = [card["name"] for card in served if card["name"].endswith(identity)]
    card = {
        "input": {"encoding": "picture", "shape": [16, 16, 1]},
        "classes": ["even", "odd"],
        "release": "logits",
    }
    endpoint = {
        "name": "ours",
        "owner": "team@example.com",
        "card": card,
        "preset": preset,
        "url": url,
        "model": name,
        "options": {"output": "logits"},
        "limits": {"batch": 20, "concurrency": 3},
    }
    remote = {"behaviour": "remote", "target": "parity", "sensitive": "large", "endpoint": endpoint}
    attacks = {"outside": {"kind": "attribute-inference", "knowledge": "aware"}}
    theirs = controller.run(scenario(preset, providers={"remote": remote}, attacks=attacks))
    [trial] = theirs.trials.values()
    ours = first.trials["honest-s0.none.outside.aware.b192"]
    assert (trial["victims"], trial["spent"]) == (ours["victims"], ours["spent"])
    assert value(trial, "honesty") == value(ours, "honesty")
    for figure in (
        "auc",
        "curiosity",
    ):  # the device's arithmetic differs from the provider's in the last bits
        assert value(trial, figure) == pytest.approx(value(ours, figure), abs=0.01)


def test_load_users_ask_it_and_honest_ones_bring_samples(
    controller: Controller, embedded_range: EmbeddedRange, tmp_path: Path
) -> None:
    server, path = Risk(leaks=True), tmp_path / "load.yaml"
    users = {"users": {"honest": 1, "attribute": 2}, "shape": {"kind": "soak", "seconds": 3}}
    with serving(server) as url:
        step = {"post": url, "json": {"rows": "${samples}"}, "read": {"each": "$[*]", "values": "$"}}
        # Slow enough that a visitor comes before the attackers are done.
        slow = {"steps": [step], "limits": {"rate": "40/s"}}
        asked = text(slow, name="loaded", seeds=[0], defences={"none": []}, load=users, chunk=25)
        path.write_text(asked)
        done = embedded_range("load", str(path))
        assert done.returncode == 0, done.stderr
    newest = controller.ask("GET", "/v1/runs?limit=1").json()["runs"][0]["id"]
    finished = controller.finished(newest)
    assert finished.view["state"] == "done", finished.view["error"]
    [trial] = finished.trials.values()
    assert value(trial, "auc") > 0.95
    (part,) = finished.results["load"]["parts"].values()
    answered = {line["user"]: line["answered"] for line in part["measured"]}
    assert answered["attribute"] == 100 / 25
    assert answered["honest"] > 0
    assert sum(line["failed"] + line["refused"] for line in part["measured"]) == 0
    attackers = [each for each in finished.results["ledger"] if ".attacker." in each["name"]]
    assert sum(each["spent"] for each in attackers) == 100
