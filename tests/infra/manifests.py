"""The objects that the Kubernetes manifests make, and what tests look at in them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from leakrange.scenario.registered import behaviours
from leakrange.service.parties import Party, parties
from leakrange.services.attacker.task import tasks

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "infra" / "kubernetes"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
DECLARED = {party.name: party for party in parties(behaviours())}
QUEUES = list(dict.fromkeys(task.step.queue for task in tasks.values()))
OVERLAYS = ("cpu", "gpu", "rabbitmq")

Made = dict[str, Any]


def pods(objects: list[Made]) -> dict[str, Made]:
    """The pod templates, by the name of what makes them."""
    kinds = ("Deployment", "StatefulSet", "Job")
    return {each["metadata"]["name"]: each["spec"]["template"] for each in objects if each["kind"] in kinds}


def of_kind(objects: list[Made], kind: str) -> dict[str, Made]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def deployed(party: Party) -> list[str]:
    """What plays a party here: one deployment for each of its queues, or what has its name."""
    return [f"fleet-{queue}" for queue in party.queues] or [party.name]


def told(pod: Made) -> dict[str, Any]:
    """The environment of a pod's container: a value, or the key of the secret that it is read from."""
    return {
        each["name"]: each.get("value") or each["valueFrom"].get("secretKeyRef", {}).get("key")
        for each in pod["spec"]["containers"][0]["env"]
    }


def selects(selector: Mapping[str, Any], pod: Made) -> bool:
    assert selector.keys() <= {"matchLabels"}
    return selector.get("matchLabels", {}).items() <= pod["metadata"]["labels"].items()


def rendered() -> dict[str, list[Made]]:
    """All objects of each overlay; skips the test where nothing renders them."""
    if shutil.which("kubectl") is None and shutil.which("kustomize") is None:
        pytest.skip("there is no kubectl: https://kubernetes.io/docs/tasks/tools/")
    found = {}
    for overlay in OVERLAYS:
        command = [sys.executable, str(FOLDER / "check.py"), "--show", overlay]
        shown = subprocess.run(command, capture_output=True, text=True)
        assert shown.returncode == 0, shown.stderr
        found[overlay] = list(yaml.safe_load_all(shown.stdout))
    return found
