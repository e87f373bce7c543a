"""The promises of the Kubernetes manifests, read from what `kubectl kustomize` renders: who is there, what
each is told and may do, and how many there are."""

from __future__ import annotations

import json

import pytest
import yaml

from leakrange.clients.edge.settings import EdgeSettings
from leakrange.service.parties import SERVERS
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.attacker.task import tasks
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.proxy.settings import ProxySettings
from tests.infra.manifests import (
    COMPOSE,
    DECLARED,
    OVERLAYS,
    QUEUES,
    ROOT,
    Made,
    deployed,
    of_kind,
    pods,
    selects,
    told,
)

IN_THE_IMAGE = {"host", "port", "state_dir"}
CHOSEN = {"allowed_hosts", "migrate", "workers"}
"""Settings that the manifests give besides: none of them is anybody's secret or address."""

# Parties, and what they are told


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_party_is_there_and_is_told_what_is_declared(made: dict[str, list[Made]], overlay: str) -> None:
    templates = pods(made[overlay])
    stores = {"postgres", "s3", *SERVERS, "migrate"} | ({"rabbitmq"} if overlay == "rabbitmq" else set())
    assert templates.keys() - stores == {name for party in DECLARED.values() for name in deployed(party)}
    for party in DECLARED.values():
        for name in deployed(party):
            given = {
                each.removeprefix("LEAKRANGE_").lower(): value
                for each, value in told(templates[name]).items()
                if each.startswith("LEAKRANGE_")
            }
            declared = set(party.settings) - IN_THE_IMAGE
            if name == "fleet-fit":
                declared -= {"fleet_secret"}  # it asks nobody
            if "operator_key" in declared:
                declared |= {"derivation_key"}
            if overlay == "rabbitmq" and "redis_url" in party.settings and party.name != "proxy":
                declared |= {"broker_url"}
                assert given["broker_url"] == "RABBITMQ_URL"
            assert given.keys() - CHOSEN == declared, name
            for secret in {"operator_key", "derivation_key", "fleet_secret"} & given.keys():
                assert given[secret] == f"LEAKRANGE_{secret.upper()}"
            if party.redis is not None:
                assert given["redis_url"].startswith(
                    f"redis://{party.redis}:$(REDIS_PASSWORD)@{party.server}:"
                )
                assert told(templates[name])["REDIS_PASSWORD"] == f"REDIS_{party.redis.upper()}_PASSWORD"
            if party.behaviour is not None:
                assert given["provider_name"] == party.behaviour
                user = f"provider_{party.behaviour}:$(POSTGRES_PASSWORD)"
                assert given["state_url"] == f"postgresql://{user}@postgres:5432/leakrange"
                password = f"POSTGRES_{party.behaviour.upper()}_PASSWORD"
                assert told(templates[name])["POSTGRES_PASSWORD"] == password
            identity = "PROVIDER" if party.behaviour else party.name.upper()
            on_s3 = {"models_dir", "releases_dir"} & declared
            assert {given[each] for each in on_s3} == {f"s3://{each.removesuffix('_dir')}" for each in on_s3}
            credentials = told(templates[name]).get("AWS_ACCESS_KEY_ID")
            assert credentials == (f"S3_{identity}_ID" if on_s3 else None), name


def test_every_variable_is_a_setting(made: dict[str, list[Made]]) -> None:
    settings = {
        "controller": ControllerSettings,
        "proxy": ProxySettings,
        "provider": ProviderSettings,
        "edge": EdgeSettings,
        "attacker": FleetSettings,
    }
    for party in DECLARED.values():
        for name in deployed(party):
            for each in told(pods(made["rabbitmq"])[name]):
                if each.startswith("LEAKRANGE_"):
                    field = each.removeprefix("LEAKRANGE_").lower()
                    assert field in settings[party.image].model_fields, (name, each)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_mounts_what_it_is_declared_to_reach(made: dict[str, list[Made]], overlay: str) -> None:
    for party in DECLARED.values():
        for name in deployed(party):
            [container] = pods(made[overlay])[name]["spec"]["containers"]
            paths = {mount["mountPath"] for mount in container["volumeMounts"]} - {"/tmp", "/data/sets"}
            needed = {"/data/cache"} if "models_dir" in party.settings else set()
            if "state_dir" in party.settings and "state_url" not in party.settings:
                needed |= {"/data/state"}
            assert paths == needed, name


def test_the_controller_finds_every_party(made: dict[str, list[Made]]) -> None:
    given = told(pods(made["cpu"])["controller"])
    services = of_kind(made["cpu"], "Service")
    providers = json.loads(given["LEAKRANGE_PROVIDERS"])
    assert providers == {
        party.behaviour: f"http://{party.name}:8000" for party in DECLARED.values() if party.behaviour
    }
    named = {*providers.values(), given["LEAKRANGE_PROXY_URL"], given["LEAKRANGE_EDGE_URL"]}
    for url in named:
        name = url.removeprefix("http://").removesuffix(":8000")
        assert services[name]["spec"]["ports"] == [{"name": "http", "port": 8000, "targetPort": "http"}]
        assert selects({"matchLabels": services[name]["spec"]["selector"]}, pods(made["cpu"])[name])
        assert told(pods(made["cpu"])[name])["LEAKRANGE_ALLOWED_HOSTS"] == name


# Queues


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_queue_has_workers_of_its_own_scaled_by_its_length(
    made: dict[str, list[Made]], overlay: str
) -> None:
    scaled = of_kind(made[overlay], "ScaledObject")
    assert scaled.keys() == {f"fleet-{queue}" for queue in QUEUES}
    for task in tasks.values():
        queue = task.step.queue
        name = f"fleet-{queue}"
        [container] = pods(made[overlay])[name]["spec"]["containers"]
        assert container["command"][:5] == ["python", "-m", "leakrange.services.attacker", "--queues", queue]
        spec = scaled[name]["spec"]
        assert spec["scaleTargetRef"] == {"name": name}
        assert "replicas" not in of_kind(made[overlay], "Deployment")[name]["spec"]  # KEDA's to say
        [trigger] = spec["triggers"]
        key, kind = ("queueName", "rabbitmq") if overlay == "rabbitmq" else ("listName", "redis")
        assert (trigger["type"], trigger["metadata"][key]) == (kind, queue)
        # Who is told to end has the time that the longest job may take.
        grace = pods(made[overlay])[name]["spec"]["terminationGracePeriodSeconds"]
        assert grace > task.seconds


def test_one_controller_and_several_proxies_and_replicas_of_each_provider(
    made: dict[str, list[Made]],
) -> None:
    deployments, services = of_kind(made["cpu"], "Deployment"), of_kind(made["cpu"], "Service")
    assert deployments["controller"]["spec"]["replicas"] == 1
    assert deployments["controller"]["spec"]["strategy"] == {"type": "Recreate"}
    scalers, budgets = (
        of_kind(made["cpu"], kind) for kind in ("HorizontalPodAutoscaler", "PodDisruptionBudget")
    )
    several = {"proxy", *(party.name for party in DECLARED.values() if party.behaviour is not None)}
    # A budget for what has one pod would keep its node from being drained for ever.
    assert budgets.keys() == {*several, *(f"fleet-{queue}" for queue in QUEUES)}
    assert scalers.keys() == several
    for name in several:
        spec = scalers[name]["spec"]
        assert spec["minReplicas"] >= 2
        assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        assert deployments[name]["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
        assert "replicas" not in deployments[name]["spec"]  # the scaler's to say
        [template] = [pod for each, pod in pods(made["cpu"]).items() if each == name]
        assert selects(budgets[name]["spec"]["selector"], template)
        assert template["spec"]["containers"][0]["lifecycle"]["preStop"] == {
            "exec": {"command": ["sleep", "5"]}
        }
        # The name of a provider stands for its pods themselves: the proxy chooses among them.
        assert (services[name]["spec"].get("clusterIP") == "None") == name.startswith("provider-")


def test_the_gpu_overlay_gives_trainings_and_providers_a_gpu_and_the_images_for_it(
    made: dict[str, list[Made]],
) -> None:
    with_gpu = {
        name: pod["spec"]["containers"][0]["image"]
        for name, pod in pods(made["gpu"]).items()
        if "nvidia.com/gpu" in pod["spec"]["containers"][0]["resources"]["limits"]
    }
    gpu = yaml.safe_load((ROOT / "infra" / "compose" / "gpu.yml").read_text())["services"]
    providers = {name: "leakrange/provider:0.1.0-gpu" for name in DECLARED if name.startswith("provider-")}
    assert with_gpu == {"fleet-train": gpu["trainer"]["image"], **providers}
    assert not [pod for pod in pods(made["cpu"]).values() if "nvidia" in str(pod)]


def test_a_provider_has_a_core_for_each_of_its_processes(made: dict[str, list[Made]]) -> None:
    for name, pod in pods(made["cpu"]).items():
        if name.startswith("provider-"):
            [container] = pod["spec"]["containers"]
            assert told(pod)["LEAKRANGE_WORKERS"] == container["resources"]["requests"]["cpu"]


# Confinement


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_is_confined_and_bounded(made: dict[str, list[Made]], overlay: str) -> None:
    for name, pod in pods(made[overlay]).items():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["enableServiceLinks"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert container["securityContext"] == {
                "readOnlyRootFilesystem": True,
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name
        if name not in ("migrate", "rabbitmq"):
            assert spec["containers"][0]["image"].removesuffix("-gpu") == _composed_image(name), name
    assert (
        of_kind(made[overlay], "Namespace")["leakrange"]["metadata"]["labels"][
            "pod-security.kubernetes.io/enforce"
        ]
        == "restricted"
    )


def _composed_image(name: str) -> str:
    service = name if name in COMPOSE else "trainer" if name == "fleet-train" else "attacker"
    return str(COMPOSE[service]["image"])


def test_every_server_is_probed_where_it_answers(made: dict[str, list[Made]]) -> None:
    for party in DECLARED.values():
        for name in deployed(party):
            [container] = pods(made["cpu"])[name]["spec"]["containers"]
            if party.queues:
                health = ["python", "-m", "leakrange.services.attacker.healthcheck"]
                assert container["livenessProbe"]["exec"]["command"] == health
                # A worker says nothing while Redis is away, and must not lose hours of training for it.
                assert (
                    container["livenessProbe"]["failureThreshold"]
                    * container["livenessProbe"]["periodSeconds"]
                    >= 600
                )
            else:
                assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
                assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
