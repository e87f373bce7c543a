"""A controller on a real Redis and either database: no provider, no proxy and no edge client answers it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from leakrange.services.controller.main import controller
from leakrange.services.controller.server import ControllerServer
from leakrange.services.controller.settings import ControllerSettings
from tests.databases import Databases

OPERATOR = "0123456789abcdef-operator-of-the-tests"
FLEET_SECRET = "0123456789abcdef-fleet-of-the-tests"
NOWHERE = "http://127.0.0.1:9"
"""Nobody listens there."""

SCENARIO = """\
name: small
seeds: [0]
data: {name: digits, size: 16}
schedule: {epochs: 1}
providers:
  honest: {behaviour: honest, target: parity, sensitive: large}
  curious: {behaviour: curious, method: parameterized, target: parity, sensitive: large, release: logits}
clients:
  phones: {kind: edge, count: 2, samples: 32}
defences:
  none: []
  label-only: [argmax]
attacks:
  inside: {kind: curious-decoder}
  outside: {kind: attribute-inference}
budgets: [64]
"""
TRIALS = 8


@contextmanager
def serve(settings: ControllerSettings) -> Iterator[str]:
    """The controller in a thread until the block ends; gives its URL."""
    server = ControllerServer(controller(settings), settings.model_copy(update={"port": 0}))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the controller did not start"
        thread.join(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@dataclass
class Api:
    """The controller as its operator and others see it."""

    client: httpx.Client

    def ask(self, method: str, path: str, *, key: str | None = None, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return self.client.request(method, path, headers=headers | more.pop("headers", {}), **more)

    def post(self, scenario: str | bytes = SCENARIO, **more: Any) -> httpx.Response:
        return self.ask("POST", "/v1/runs", key=OPERATOR, content=scenario, **more)

    def start(self, scenario: str = SCENARIO) -> str:
        """A run, begun."""
        answer = self.post(scenario)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def cancel(self, run: str) -> dict[str, Any]:
        answer = self.ask("DELETE", f"/v1/runs/{run}", key=OPERATOR)
        assert answer.status_code == 202, answer.text
        view: dict[str, Any] = answer.json()
        return view

    def get(self, path: str, **more: Any) -> Any:
        answer = self.ask("GET", path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def using(url: str) -> Iterator[Api]:
    """The controller there; what is started within the block is cancelled at its end."""
    with httpx.Client(base_url=url, timeout=90) as client:
        made = Api(client)
        yield made
        for run in made.get("/v1/runs?limit=200")["runs"]:
            if run["state"] in ("queued", "running"):
                made.cancel(run["id"])


def problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """The answer must be that problem."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["type"].endswith(f"/{slug}"), body
    return body


@pytest.fixture(scope="session")
def settings(
    databases: Databases, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., ControllerSettings]:
    """Settings of a controller with an empty database of its own."""

    def make(kind: str = "sqlite", **changes: Any) -> ControllerSettings:
        folder = tmp_path_factory.mktemp("controller")
        return ControllerSettings(
            **{
                "operator_key": OPERATOR,
                "fleet_secret": FLEET_SECRET,
                "database_url": databases.empty(kind),
                "redis_url": redis_url,
                "models_dir": folder / "models",
                "releases_dir": folder / "releases",
                "providers": {"honest": NOWHERE, "curious": NOWHERE},
                "proxy_url": NOWHERE,
                "edge_url": NOWHERE,
                "attempts": 1000,
                "max_body": 2_000_000,
                **changes,
            }
        )

    return make


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def standing(request: pytest.FixtureRequest, settings: Callable[..., ControllerSettings]) -> Iterator[str]:
    """The URL of a controller that waits patiently for the parties that are not there."""
    with serve(settings(request.param)) as url:
        yield url


@pytest.fixture
def api(standing: str) -> Iterator[Api]:
    """That controller; what a test starts is cancelled at its end."""
    with using(standing) as made:
        yield made
