"""Audits by a standing range: the fleet downloads the model through the proxy, and the command tells the
verdict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from leakrange.audit.examination import examine
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.verdict import Verdict
from leakrange.providers.artifact import CLASSIFIER
from tests.audit.digits import MOVING, STILL, save_digits
from tests.embedded import EmbeddedRange, leakrange
from tests.range.conftest import Controller, scenario, value
from tests.report.build import unmarked

MODEL = "audited-digits"
SMALL = ("--data", "digits", "--size", "16", "--limit", "300", "--labelled", "60", "--test", "100")
MOVED = [part for setting in MOVING for part in ("--set", setting)]
UNMOVED = [part for setting in STILL for part in ("--set", setting)]


REFUSED = """\
name: refused
seeds: [0]
data: {name: digits, size: 16, limit: 300}
net: {name: conv-2d, width: 0.5}
schedule: {epochs: 2}
providers:
  curious: {behaviour: curious, method: parameterized, target: digit, sensitive: parity, release: logits}
clients:
  phones: {kind: edge, count: 2, samples: 32, intake: audited}
defences: {none: []}
attacks:
  inside: {kind: curious-decoder}
budgets: [32]
"""


@pytest.fixture(scope="module")
def operated(embedded_range: EmbeddedRange) -> Iterator[EmbeddedRange]:
    """A range whose operator has deployed a model of digits."""
    record = embedded_range.record
    digest = save_digits(embedded_range.folder.models)
    provider = f"http://127.0.0.1:{record.port('provider-honest')}"
    headers = {"Authorization": f"Bearer {record.operator_key}"}
    with httpx.Client(headers=headers, timeout=60) as operator:
        place, route = f"{provider}/v1/operator/models/{MODEL}", f"{record.proxy}/admin/routes/{MODEL}"
        operator.put(place, json={"artifact": digest}).raise_for_status()
        operator.put(route, json={"upstream": provider}).raise_for_status()
        yield embedded_range
        operator.delete(route).raise_for_status()
        operator.delete(place).raise_for_status()


def view(standing: EmbeddedRange, audit: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{standing.record.controller}/v1/audits/{audit}").json()
    return found


def test_the_fleet_audits_a_served_model(operated: EmbeddedRange) -> None:
    done = operated("audit", "model", MODEL, *SMALL, *MOVED, "--json")
    assert done.returncode == 1, done.stderr
    verdict = Verdict.model_validate_json(done.stdout)
    assert verdict.conclusion == "suspicious"
    assert (verdict.subject.name, verdict.subject.url) == (MODEL, operated.record.proxy)
    audit = done.stderr.split("audit ")[1].split()[0]
    found = view(operated, audit)
    assert (found["state"], found["conclusion"]) == ("done", "suspicious")
    assert Verdict.model_validate(found["verdict"]) == verdict
    listed = httpx.get(f"{operated.record.controller}/v1/audits").json()["audits"]
    assert [entry["id"] for entry in listed if entry["model"] == MODEL][-1] == audit
    passed = operated("audit", "model", MODEL, *SMALL, *UNMOVED)
    assert passed.returncode == 0, passed.stdout + passed.stderr


def test_a_server_elsewhere_is_audited_with_a_key(operated: EmbeddedRange) -> None:
    made = operated(
        "keys", "create", "auditor", "--budget", "0", "--models", MODEL, "--endpoints", "artifact"
    )
    released = operated("keys", "create", "user", "--budget", "5", "--models", MODEL, "--endpoints", "logits")
    where = ["--provider", str(operated.record.proxy), "--state", str(operated.root)]
    asked = ["audit", "model", MODEL, *SMALL, *UNMOVED, *where]
    done = leakrange(*asked, LEAKRANGE_API_KEY=made.stdout.strip())
    assert done.returncode == 0, done.stderr
    refused = leakrange(*asked, LEAKRANGE_API_KEY=released.stdout.strip())
    assert refused.returncode == 4
    assert "may not be downloaded with this key" in refused.stderr


@pytest.mark.parametrize(
    ("model", "data", "said"),
    [
        ("no-such-model", "digits", "no model 'no-such-model' here"),
        (MODEL, "synthfaces", "has no labels of 'digit'"),
        (MODEL, "nothing", "unknown data set 'nothing'"),
    ],
)
def test_what_cannot_be_audited_is_said(operated: EmbeddedRange, model: str, data: str, said: str) -> None:
    done = operated("audit", "model", model, "--data", data)
    assert done.returncode in (2, 4)
    assert said in done.stderr


def test_audits_are_trials_of_a_run(embedded_range: EmbeddedRange, controller: Controller) -> None:
    """What the fleet finds through the proxy is what an audit of each model's own file finds."""
    data = {"name": "digits", "size": 16, "auxiliary": 0.3}
    asked = {"labelled": 100, "test": 150, "viciousness": {"rounds": 3, "lr": 0.001}}
    text = scenario(
        "audited",
        seeds=[1],
        data=data,
        net={"name": "strided-conv", "width": 0.5},
        schedule={"epochs": 2, "batch": 32, "lr": 0.005},
        providers={
            "honest": {"behaviour": "honest", "target": "digit"},
            "vicious": {
                "behaviour": "vicious",
                "target": "digit",
                "release": "softmax",
                "beta": {"c": 1, "r": 3},
                "decoder": {"width": 0.5},
            },
        },
        defences={"none": [], "label-only": ["argmax"]},
        attacks={
            "auditor": {"kind": "audit", **asked},
            "greedy": {"kind": "audit", "providers": "honest", "labelled_from": "test", "labelled": 5000},
        },
    )
    run = controller.run(text)
    trials = run.trials
    assert len(trials) == 3  # none under a defence
    plan = AuditPlan.model_validate({"data": data, **asked, "seed": 1})
    for model in run.results["models"]:
        trial = trials[f"{model['provider']}-s1.none.auditor.unaware.b192"]
        file = embedded_range.folder.models / model["artifact"] / CLASSIFIER
        moved, sure = examine(file.read_bytes(), plan).findings
        assert (trial["state"], trial["victims"], trial["spent"]) == ("done", 150, 0)
        assert trial["views"]["further-training"]["rounds"] == pytest.approx(moved.rounds, rel=1e-3)
        assert value(trial, "viciousness") == pytest.approx(moved.score, rel=1e-3)
        assert value(trial, "entropy_excess") == pytest.approx(sure.score, rel=1e-3)
        assert value(trial, "suspected") == float(moved.score > 0.01)
    assert run.account("auditor", "honest-s1")["budget"] == 0
    assert run.view["jobs"]["audit"]["done"] == 2
    refused = trials["honest-s1.none.greedy.unaware.b192"]
    assert refused["state"] == "failed"
    assert "has 0 test samples with labels" in refused["error"]
    page = controller.ask("GET", f"/v1/runs/{run.id}/report").text
    assert "Further training" in page
    assert "Of the model of “vicious” an audit says" in unmarked(page)


def test_trials_of_a_model_that_users_refuse_fail_with_the_reason(
    embedded_range: EmbeddedRange, tmp_path: Path
) -> None:
    path = tmp_path / "refused.yaml"
    path.write_text(REFUSED)
    done = embedded_range("run", str(path))
    run = done.stderr.split("run ")[1].split(":")[0]
    results = httpx.get(f"{embedded_range.record.controller}/v1/runs/{run}/results").json()
    [trial] = results["trials"]
    assert trial["state"] == "failed"
    assert "did not pass this device's audit" in trial["error"]
    assert "the threshold is 0.01" in trial["error"]
