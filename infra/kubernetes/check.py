"""Renders overlays as `kubectl kustomize` does, and checks every object against the schemas of Kubernetes,
offline:

    python infra/kubernetes/check.py              every overlay
    python infra/kubernetes/check.py --show cpu   print what it renders

Needs kubectl 1.27 or newer (or kustomize 5), and the Python package kubernetes-validate. Secrets are made up
for it.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

HERE = Path(__file__).parent
SECRETS = (
    "LEAKRANGE_OPERATOR_KEY",
    "LEAKRANGE_DERIVATION_KEY",
    "LEAKRANGE_FLEET_SECRET",
    "POSTGRES_PASSWORD",
    "POSTGRES_HONEST_PASSWORD",
    "POSTGRES_CURIOUS_PASSWORD",
    "POSTGRES_VICIOUS_PASSWORD",
    "REDIS_OPERATOR_PASSWORD",
    "REDIS_PROXY_PASSWORD",
    "REDIS_CONTROLLER_PASSWORD",
    "REDIS_FLEET_PASSWORD",
    "REDIS_SCALER_PASSWORD",
    "RABBITMQ_PASSWORD",
    "RABBITMQ_URL",
    *(f"S3_{party}_ID" for party in ("CONTROLLER", "PROVIDER", "ATTACKER", "TRAINER")),
    *(f"S3_{party}_SECRET" for party in ("CONTROLLER", "PROVIDER", "ATTACKER", "TRAINER")),
)
AUTHENTICATION = {"secretTargetRef": {"parameter", "name", "key"}}
SCALING = {
    "scaleTargetRef",
    "minReplicaCount",
    "maxReplicaCount",
    "pollingInterval",
    "cooldownPeriod",
    "triggers",
}
TRIGGERS = {
    "redis": {"address", "username", "listName", "listLength"},
    "rabbitmq": {"protocol", "queueName", "mode", "value"},
}
"""The fields of KEDA's objects that we use (v1alpha1), whose schemas the package does not have."""


MISSING = "install kubectl 1.27 or newer (https://kubernetes.io/docs/tasks/tools/) to render the manifests"


def renderer() -> list[str] | None:
    """The command that this machine has for it."""
    commands = (["kubectl", "kustomize"], ["kustomize", "build"])
    return next((command for command in commands if shutil.which(command[0])), None)


def rendered(overlay: str) -> list[dict[str, Any]]:
    """All objects of an overlay, with secrets that are good for nothing else."""
    command = renderer()
    if command is None:
        sys.exit(MISSING)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "kubernetes"
        shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("secrets.env"))
        lines = (f"{name}={secrets.token_hex(24)}\n" for name in SECRETS)
        (copy / "base" / "secrets.env").write_text("".join(lines))
        found = subprocess.run([*command, str(copy / "overlays" / overlay)], capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"{overlay}: {found.stderr}")
    return [each for each in yaml.safe_load_all(found.stdout) if each is not None]


def mistakes(made: dict[str, Any]) -> list[str]:
    """What is wrong with one object."""
    if made["apiVersion"] == "keda.sh/v1alpha1":
        return _of_keda(made)
    import kubernetes_validate

    try:
        kubernetes_validate.validate(made, kubernetes_validate.latest_version(), strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{'.'.join(map(str, error.path))}: {error.message}"]
    except kubernetes_validate.SchemaNotFoundError as error:
        return [str(error.message)]
    return []


def _of_keda(made: dict[str, Any]) -> list[str]:
    spec = made["spec"]
    if made["kind"] == "TriggerAuthentication":
        found = [f"unknown field {name}" for name in spec.keys() - AUTHENTICATION.keys()]
        for each in spec["secretTargetRef"]:
            found += [f"secretTargetRef: {name}" for name in each.keys() ^ AUTHENTICATION["secretTargetRef"]]
        return found
    if made["kind"] != "ScaledObject":
        return [f"unknown kind {made['kind']}"]
    found = [f"{name} is missing, or unknown" for name in spec.keys() ^ SCALING]
    for trigger in spec["triggers"]:
        wanted = TRIGGERS.get(trigger["type"], set())
        found += [
            f"{trigger['type']}: {name} is missing, or unknown"
            for name in trigger["metadata"].keys() ^ wanted
        ]
        found += [
            f"{trigger['type']}: {name} must be text"
            for name, value in trigger["metadata"].items()
            if not isinstance(value, str)
        ]
    return found


def main() -> None:
    """Check, and say what is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    overlays = sorted(path.name for path in (HERE / "overlays").iterdir())
    parser.add_argument("overlay", nargs="*", help=f"some of {', '.join(overlays)} (default: all of them)")
    parser.add_argument("--show", action="store_true", help="print the objects and check nothing")
    given = parser.parse_args()
    if renderer() is None and not os.environ.get("CI"):
        sys.stderr.write(f"not checked: {MISSING}\n")
        return
    wrong = 0
    for overlay in given.overlay or overlays:
        objects = rendered(overlay)
        if given.show:
            yaml.safe_dump_all(objects, sys.stdout)
            continue
        for made in objects:
            for mistake in mistakes(made):
                wrong += 1
                sys.stderr.write(f"{overlay}: {made['kind']} {made['metadata']['name']}: {mistake}\n")
        sys.stdout.write(f"{overlay}: {len(objects)} objects\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
