"""The profile `observe`: what it scrapes is there, and what its dashboards ask for is really told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from leakrange.clients.edge.main import create_edge
from leakrange.clients.edge.settings import EdgeSettings
from leakrange.services.attacker.metrics import JobMetrics
from leakrange.services.controller.main import controller
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.provider.main import create_provider
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
SCRAPED: dict[str, Any] = yaml.safe_load((ROOT / "infra/prometheus/scrape.yml").read_text())
DASHBOARDS = sorted((ROOT / "infra/grafana/dashboards").glob("*.json"))
KEY = SecretStr("0123456789abcdef-operator-of-the-tests")
LABELS = frozenset({"job", "instance", "le"})
"""Given by Prometheus itself."""


def registries(folder: Path) -> dict[str, CollectorRegistry]:
    """What each job of the scraper tells, by the job's name."""
    told: dict[str, Any] = {"operator_key": KEY}
    provider = create_provider(ProviderSettings(models_dir=folder, state_dir=folder, **told))
    urls = {"honest": "http://provider-honest:8000"}
    database = f"sqlite+aiosqlite:///{folder}/range.db"
    ran = controller(ControllerSettings(providers=urls, fleet_secret=KEY, database_url=database, **told))
    return {
        "controller": ran.state.metrics,
        "proxy": proxy(ProxySettings(**told)).app.state.metrics,
        "provider": provider.app.state.metrics,
        "edge": create_edge(EdgeSettings(**told)).state.metrics,
        "fleet": JobMetrics().registry,
    }


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, frozenset[str]]:
    """The labels of each sample, by its name, of all services."""
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    found: dict[str, frozenset[str]] = {}
    for registry in registries(tmp_path_factory.mktemp("services")).values():
        for collector in list(registry._collector_to_names):
            labels = getattr(collector, "_labelnames", None)
            if labels is None:  # the proxy's own collectors
                labels = collector._description[2]  # type: ignore[attr-defined]
            for family in collector.describe() if hasattr(collector, "describe") else collector.collect():
                for suffix in suffixes[family.type]:
                    found[family.name + suffix] = frozenset(labels)
    return found


def expressions() -> Iterator[tuple[str, str, str]]:
    """Dashboard, panel and PromQL of every query."""
    for path in DASHBOARDS:
        board = json.loads(path.read_text())
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield path.stem, panel["title"], target["expr"]


def test_every_metric_of_a_dashboard_is_told_by_a_service(told: dict[str, frozenset[str]]) -> None:
    asked = list(expressions())
    assert len(asked) > 30
    for board, panel, query in asked:
        names = re.findall(r"leakrange_\w+", query)
        assert names or "up{" in query, (board, panel)
        assert not set(names) - told.keys(), (board, panel)


def test_every_label_of_a_dashboard_is_one_of_its_metric(told: dict[str, frozenset[str]]) -> None:
    for board, panel, query in expressions():
        names = re.findall(r"leakrange_\w+", query)
        known = LABELS.union(*(told[name] for name in names))
        by = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
        matched = set(re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)\"", query))
        assert not (by | matched) - known, (board, panel, (by | matched) - known)


def test_every_metric_of_ours_stands_on_a_dashboard(told: dict[str, frozenset[str]]) -> None:
    asked = {name for _, _, query in expressions() for name in re.findall(r"leakrange_\w+", query)}
    shown = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in asked}
    assert {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in told} == shown


def test_names_follow_the_conventions_of_prometheus(told: dict[str, frozenset[str]]) -> None:
    for name in told:
        assert re.fullmatch(r"leakrange_[a-z]+(_[a-z]+)*", name), name
        assert not re.search(r"_(ms|milliseconds|minutes)(_|$)", name), name


def test_dashboards_can_be_told_apart_and_name_provisioned_sources() -> None:
    source = yaml.safe_load((ROOT / "infra/grafana/provisioning/datasources/range.yml").read_text())
    known = {each["uid"] for each in source["datasources"]}
    boards = [json.loads(path.read_text()) for path in DASHBOARDS]
    assert len({board["uid"] for board in boards}) == len({board["title"] for board in boards}) == 4
    for board in boards:
        places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
        assert len(set(places)) == len(places)
        assert {panel["datasource"]["uid"] for panel in board["panels"]} <= known
    [provider] = yaml.safe_load((ROOT / "infra/grafana/provisioning/dashboards/range.yml").read_text())[
        "providers"
    ]
    mounted = dict(volume.split(":")[:2][::-1] for volume in SERVICES["grafana"]["volumes"])
    assert mounted[provider["options"]["path"]] == "./infra/grafana/dashboards"
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == "/etc/grafana/dashboards/overview.json"
    for each in source["datasources"]:
        assert each["url"].removeprefix("http://").partition(":")[0] in SERVICES


def test_every_party_is_scraped_with_the_metrics_key() -> None:
    jobs = {job["job_name"]: job for job in SCRAPED["scrape_configs"]}
    targets = {
        target
        for job in jobs.values()
        for config in job.get("static_configs", ())
        for target in config["targets"]
    }
    servers = {
        name
        for name, service in SERVICES.items()
        if "LEAKRANGE_ALLOWED_HOSTS" in service.get("environment", {})
    }
    providers = {name for name in servers if name.startswith("provider-")}
    assert targets == {f"{name}:8000" for name in servers - providers}
    [replicas] = jobs["provider"]["dns_sd_configs"]
    assert (set(replicas["names"]), replicas["port"]) == (providers, 8000)
    [found] = jobs["fleet"]["dns_sd_configs"]
    workers = {
        name for name, each in SERVICES.items() if "LEAKRANGE_METRICS_PORT" in each.get("environment", {})
    }
    assert set(found["names"]) == workers
    assert {str(found["port"])} == {
        SERVICES[name]["environment"]["LEAKRANGE_METRICS_PORT"] for name in workers
    }
    for job in jobs.values():
        assert job["authorization"] == {"credentials_file": "/tmp/metrics_key"}
    for name in servers | workers:
        assert set(SERVICES[name]["networks"]) & set(SERVICES["scraper"]["networks"])
        assert "LEAKRANGE_METRICS_KEY" in SERVICES[name]["environment"]


def test_spans_have_a_way_to_jaeger() -> None:
    collector = yaml.safe_load((ROOT / "infra/otel/collector.yml").read_text())
    [sent] = collector["service"]["pipelines"]["traces"]["exporters"]
    assert collector["exporters"][sent]["endpoint"] == "http://jaeger:4318"
    assert set(SERVICES["jaeger"]["networks"]) <= set(SERVICES["collector"]["networks"])
