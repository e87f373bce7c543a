"""The declaration of the parties, and what Compose, images, contracts and documentation say of the same."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import AliasChoices
from pydantic_settings import BaseSettings

from leakrange.clients.cli.embedded.parties import processes
from leakrange.clients.cli.embedded.ports import DEFAULT_BASE
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.edge.settings import EdgeSettings
from leakrange.scenario.registered import behaviours
from leakrange.service.parties import FLEET_REDIS, SERVERS, Party, listening, parties
from leakrange.service.variables import variable
from leakrange.services.attacker.__main__ import QUEUES
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.proxy.settings import ProxySettings

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
DECLARED = parties(behaviours())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETTINGS: dict[str, type[BaseSettings]] = {
    "controller": ControllerSettings,
    "proxy": ProxySettings,
    "provider": ProviderSettings,
    "edge": EdgeSettings,
    "attacker": FleetSettings,
}
"""By image."""
IN_THE_IMAGE = {"host", "port", "state_dir"}
"""Settings that the images give: what Compose mounts at these paths is what counts."""
ON_S3 = {*("aws_endpoint_url", "aws_allow_http", "aws_region", "aws_access_key_id", "aws_secret_access_key")}
"""How a party comes to models and releases."""
OBSERVED = {"metrics_key", "metrics_port", "task_events", "otel_exporter_otlp_endpoint"}
"""Settings by which Compose lets parties be observed."""
CHOSEN = (
    OBSERVED
    | ON_S3
    | {
        "log_level",
        "allowed_hosts",
        "withdraw_after",
        "derivation_key",
        "try_samples",
        "reading_memory",
        "migrate",
        "train_threads",
        "workers",
        "viewer_key",
    }
)
"""Settings that Compose gives besides: no party learns another's address by them, or a secret to act with."""

by_name = pytest.mark.parametrize("party", DECLARED, ids=lambda party: party.name)


def test_compose_has_every_party_and_no_other_of_ours() -> None:
    built = {name for name, service in SERVICES.items() if "build" in service}
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert profiles == {
        "superlink": ["federation"],  # these three meet nobody of the range
        "supernode": ["federation"],
        "federate": ["federation"],
        "federated": ["federation"],
        "load": ["load"],
        "load-worker": ["load"],
        **{
            name: ["observe"]
            for name in ("scraper", "prometheus", "collector", "jaeger", "grafana", "flower")
        },
    }
    assert built - set(profiles) == {party.name for party in DECLARED} | {"migrate"}


@by_name
def test_compose_tells_each_party_what_is_declared_and_no_more(party: Party) -> None:
    given = SERVICES[party.name].get("environment", {})
    names = {name.removeprefix("LEAKRANGE_").lower() for name in given}
    assert names - CHOSEN == set(party.settings) - IN_THE_IMAGE
    if party.behaviour is not None:
        assert given["LEAKRANGE_PROVIDER_NAME"] == party.behaviour
    if party.redis is not None:
        assert given["LEAKRANGE_REDIS_URL"].startswith(f"redis://{party.redis}:")
        assert given["LEAKRANGE_REDIS_URL"].endswith(f"@{party.server}:6379/0")


@by_name
def test_compose_mounts_what_each_party_is_declared_to_reach(party: Party) -> None:
    targets = {volume.split(":")[-2 if volume.endswith(":ro") else -1] for volume in _volumes(party)}
    needed = {"/data/cache"} if "models_dir" in party.settings else set()
    if "state_dir" in party.settings and "state_url" not in party.settings:
        needed |= {"/data/state"}
    assert targets - {"/data/sets"} == needed


@by_name
def test_each_party_runs_its_own_program_from_its_own_image(party: Party) -> None:
    service = SERVICES[party.name]
    assert service["build"]["target"] == party.image
    assert service["image"].startswith(f"leakrange/{party.image}:")
    assert party.image in PROJECT["project"]["optional-dependencies"]
    assert f'CMD ["python", "-m", "{party.module}"' in (ROOT / "infra/docker/Dockerfile").read_text()
    if party.queues:
        assert service["command"][:5] == ["python", "-m", party.module, "--queues", ",".join(party.queues)]


def test_the_controller_finds_every_party_in_compose() -> None:
    given = SERVICES["controller"]["environment"]
    providers = {party.behaviour: party.name for party in DECLARED if party.behaviour is not None}
    assert json.loads(given["LEAKRANGE_PROVIDERS"]) == {
        behaviour: f"http://{name}:8000" for behaviour, name in providers.items()
    }
    assert {*providers.values(), FLEET_REDIS, "proxy", "edge"} <= SERVICES["controller"]["depends_on"].keys()


def test_compose_publishes_the_launchers_ports() -> None:
    published = {
        name: int(re.findall(r":-(\d+)\}:8000", port)[0])
        for name, service in SERVICES.items()
        if "profiles" not in service
        for port in service.get("ports", ())
    }
    order = listening(behaviours())
    assert published == {name: DEFAULT_BASE + order.index(name) for name in ("controller", "proxy")}


def test_every_job_has_a_worker() -> None:
    taken = [queue for party in DECLARED for queue in party.queues]
    assert sorted(taken) == sorted(QUEUES)


def test_the_import_contract_names_every_program() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    [independent] = [contract for contract in contracts if contract["type"] == "independence"]
    programs = {party.module for party in DECLARED} | {
        "leakrange.clients.cli",
        "leakrange.services.federation",
    }
    assert set(independent["modules"]) == programs


def test_the_docs_say_what_each_party_knows() -> None:
    """Its table "Who knows what": a dash for what a party is not told."""
    text = (ROOT / "docs" / "trust.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.partition("## Who knows what")[2].partition("\n## ")[0].splitlines()
        if line.startswith("|")
    ]
    columns = {
        "operator key": "operator_key",
        "fleet secret": "fleet_secret",
        "database": "database_url",
        "Redis": "redis_url",
        "models": "models_dir",
        "releases": "releases_dir",
    }
    told = {row[0]: dict(zip(rows[0][1:], row[1:], strict=True)) for row in rows[2:]}
    assert told.keys() == {(party.behaviour and "provider") or party.name for party in DECLARED}
    for party in DECLARED:
        row = told["provider" if party.behaviour else party.name]
        for column, setting in columns.items():
            downloaded = (party.name, column) in {("edge", "models"), ("attacker", "models")}
            assert (row[column] == "downloads") == downloaded, (party.name, column)
            assert (row[column] not in ("–", "downloads")) == (setting in party.settings), (
                party.name,
                column,
            )


def test_a_behaviour_more_is_one_provider_more_and_moves_no_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = listening(behaviours())
    more = [*behaviours(), "nosy/loud", "nosy/quiet"]
    assert listening(more) == (*before, "provider-nosy")
    monkeypatch.setattr("leakrange.clients.cli.embedded.parties.behaviours", lambda: more)
    folder = StateFolder(tmp_path)
    folder.prepare()
    ports = {name: 4000 + i for i, name in enumerate(listening(more))}
    started = {process.name: process for process in processes(folder, ports, workers=2)}
    nosy, controller = started["provider-nosy"], started["controller"]
    assert nosy.command[-1] == "leakrange.services.provider"
    assert nosy.environment["LEAKRANGE_PROVIDER_NAME"] == "nosy"
    assert nosy.port == 4008
    assert json.loads(controller.environment["LEAKRANGE_PROVIDERS"])["nosy"] == "http://127.0.0.1:4008"


def test_the_launcher_tells_no_party_more_than_is_declared(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.prepare()
    ports = {name: 4000 + i for i, name in enumerate(listening(behaviours()))}
    started = {process.name: process for process in processes(folder, ports, workers=1)}
    assert started.keys() == {*SERVERS, "attacker-1"} | {p.name for p in DECLARED if p.name != "attacker"}
    secrets = [folder.secret(name) for name in ("operator", "fleet")]
    for party in DECLARED:
        process = started["attacker-1" if party.name == "attacker" else party.name]
        for setting, secret in zip(("operator_key", "fleet_secret"), secrets, strict=True):
            told = secret in process.environment.values()
            assert told == (setting in party.settings), (party.name, setting)
        assert (process.port is None) == bool(party.queues)


@by_name
def test_every_setting_of_a_party_is_decided_for_it_or_is_a_choice(party: Party) -> None:
    kind = SETTINGS[party.image]
    aliases = {
        name: field.validation_alias.choices
        for name, field in kind.model_fields.items()
        if isinstance(field.validation_alias, AliasChoices)
    }
    names = {
        str(alias).removeprefix("LEAKRANGE_").lower()
        for name in kind.model_fields
        for alias in aliases.get(name, [name])
    }
    decided = {setting for each in DECLARED for setting in each.settings} | {"proxy_host", "proxy_port"}
    assert set(party.choices) == names - decided
    assert names >= set(party.settings)


def test_the_launcher_passes_what_each_party_may_choose_to_it_and_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StateFolder(tmp_path)
    folder.prepare()
    ports = {name: 4000 + i for i, name in enumerate(listening(behaviours()))}
    choices = {setting for party in DECLARED for setting in party.choices}
    for setting in choices:
        monkeypatch.setenv(variable(setting), f"/chosen/{setting}")
    started = {process.name: process.environment for process in processes(folder, ports, workers=1)}
    for party in DECLARED:
        environment = started["attacker-1" if party.name == "attacker" else party.name]
        chosen = {
            setting for setting in choices if environment.get(variable(setting)) == f"/chosen/{setting}"
        }
        assert chosen == set(party.choices), party.name
    for server in SERVERS:
        assert not [name for name in started[server] if name.startswith("LEAKRANGE_")]


def test_workers_on_one_machine_tell_their_metrics_at_ports_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StateFolder(tmp_path)
    folder.prepare()
    ports = {name: 4000 + i for i, name in enumerate(listening(behaviours()))}
    monkeypatch.setenv("LEAKRANGE_METRICS_PORT", "9100")
    taken = [
        process.environment.get("LEAKRANGE_METRICS_PORT") for process in processes(folder, ports, workers=3)
    ]
    assert sorted(filter(None, taken)) == ["9100", "9101", "9102", "9103"]


def test_workers_are_asked_through_the_broker_that_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StateFolder(tmp_path)
    folder.prepare()
    ports = {name: 4000 + i for i, name in enumerate(listening(behaviours()))}
    broker = "amqp://somebody:secret@rabbit:5672/"
    monkeypatch.setenv("LEAKRANGE_BROKER_URL", broker)
    started = processes(folder, ports, workers=1)
    asked = {process.name: process.url for process in started}
    assert asked["attacker-1"] == asked["trainer"] == broker
    assert asked["controller"] == f"http://127.0.0.1:{ports['controller']}/readyz"
    assert "secret" not in repr(started)


def _volumes(party: Party) -> list[str]:
    return [str(volume) for volume in SERVICES[party.name].get("volumes", ())]
