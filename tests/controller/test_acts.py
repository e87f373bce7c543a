"""The log of the operator's acts: those of the controller, of its pages, and of the proxy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx
import orjson
import pytest

from leakrange.services.controller.main import controller
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from tests.controller.conftest import OPERATOR, Api, problem, serve
from tests.embedded import leakrange
from tests.proxy.servers import serve as serve_app


@pytest.fixture(scope="module")
def changing(settings: Callable[..., ControllerSettings]) -> list[tuple[str, str]]:
    """Method and path of every operation that may change something, by the schema. Made before any server
    begins: making it changes what the whole process warns of."""
    return [
        (method.upper(), re.sub(r"\{\w+\}", "nothing", pattern))
        for pattern, operations in controller(settings()).openapi()["paths"].items()
        for method in operations
        if method in ("post", "put", "patch", "delete")
    ]


@pytest.fixture(scope="module")
def proxy_url(redis_url: str, changing: list[tuple[str, str]]) -> Iterator[str]:
    with serve_app(proxy(ProxySettings(redis_url=redis_url, operator_key=OPERATOR))) as url:
        yield url


@pytest.fixture(scope="module")
def logged(settings: Callable[..., ControllerSettings], proxy_url: str) -> Iterator[Api]:
    """A controller with a proxy."""
    with (
        serve(settings(proxy_url=proxy_url)) as url,
        httpx.Client(base_url=url, timeout=90, headers={"Origin": url}) as client,
    ):
        yield Api(client)


def _newest(api: Api, number: int) -> list[tuple[str, str, str, int]]:
    acts = api.get(f"/v1/acts?limit={number}", key=OPERATOR)["acts"]
    return [(act["party"], act["method"], act["path"], act["status"]) for act in acts]


def test_every_endpoint_that_wants_the_operator_is_noted(
    logged: Api, changing: list[tuple[str, str]]
) -> None:
    operated = [each for each in changing if logged.ask(*each, json={}).status_code == 401]
    assert ("POST", "/v1/runs") in operated
    assert len(operated) > 4
    for method, path in operated:
        status = logged.ask(method, path, key=OPERATOR, json={}).status_code
        assert _newest(logged, 1) == [("controller", method, path, status)]


def test_only_the_operator_reads_it(logged: Api) -> None:
    problem(logged.ask("GET", "/v1/acts"), 401, "unauthenticated")
    problem(logged.ask("GET", "/v1/acts", key="x" * 20), 403, "forbidden")


def test_what_is_done_at_a_page_is_noted_here_and_at_the_proxy(logged: Api) -> None:
    entered = logged.ask("POST", "/login", data={"key": OPERATOR})
    assert entered.status_code == 303
    root = entered.headers["Location"].rstrip("/")
    token = re.search(r'name="csrf" value="([^"]+)"', logged.ask("GET", f"{root}/keys").text)
    assert token is not None
    form = {"csrf": token[1], "name": "a partner", "budget": "12"}
    assert logged.ask("POST", f"{root}/keys", data=form).status_code == 201
    *_, login, made, _ = acts = logged.get("/v1/acts?limit=3", key=OPERATOR)["acts"]
    assert [(act["party"], act["path"], act["by"][:5]) for act in (login, made)] == [
        ("controller", "/login", "login"),
        ("controller", "/keys", "login"),
    ]
    assert acts[-1]["path"] == "/admin/keys"
    assert acts[-1]["change"]["budget"] == 12
    shown = logged.ask("GET", f"{root}/acts").text
    assert "POST /admin/keys" in shown
    assert "follow from itself" not in shown
    assert logged.ask("GET", "/acts").status_code == 401
    assert root not in orjson.dumps(acts).decode()


def test_the_command_shows_the_newest_and_prints_the_whole_log(logged: Api) -> None:
    logged.ask("DELETE", "/v1/runs/20260101-120000-a1b2c3", key=OPERATOR)

    url = str(logged.client.base_url)

    def run(*words: str) -> str:
        done = leakrange("acts", *words, LEAKRANGE_URL=url, LEAKRANGE_OPERATOR_KEY=OPERATOR, COLUMNS="200")
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "DELETE /v1/runs/20260101-120000-a1b2c3" in run("--newest", "1")
    acts = [orjson.loads(line) for line in run("--json").splitlines()]
    assert [act["number"] for act in acts] == list(range(1, len(acts) + 1))
    assert acts[-1]["status"] == 404
