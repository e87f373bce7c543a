"""Every document that any server shows: what its browser may do with it, and whose scripts it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect
from starlette.routing import Route

from leakrange.clients.edge.main import create_edge
from leakrange.clients.edge.settings import EdgeSettings
from leakrange.services.controller.main import controller
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.provider.main import create_provider
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from tests.controller.conftest import OPERATOR
from tests.pages.conftest import opened
from tests.pages.furnished import RECIPE, Place
from tests.pages.logins import login
from tests.pages.test_login import routes_of
from tests.serving import serving

HTML = {"Accept": "text/html"}
SHOWN = ("text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/xml")
"""What browsers show as documents, which may hold scripts."""
SOURCE = re.compile(r"'none'|'self'|data:|blob:|'sha256-[A-Za-z0-9+/]{43}='")
LOADS = re.compile(
    r"<(?:script|link|img|iframe|object|embed|image|use)\b[^>]*?(?:src|href|data)=.?(?:https?:)?//"
)


def faults(answer: httpx.Response) -> Iterator[str]:
    """What lets a document run, load or be framed by what is not of its server."""
    parts = answer.headers.get("content-security-policy", "").split(";")
    policy = {name: sources for name, *sources in (part.split() for part in parts if part.strip())}
    for name in ("default-src", "base-uri", "frame-ancestors"):
        if policy.get(name) != ["'none'"]:
            yield f"{name} {policy.get(name)}"
    for name, sources in policy.items():
        inline = ["'unsafe-inline'"] if name.startswith("style-src") else []
        yield from (f"{name} {each}" for each in sources if not SOURCE.fullmatch(each) and each not in inline)
    if not {"data:", "blob:"}.isdisjoint(policy.get("script-src", [])):
        yield "scripts of no address"
    if answer.headers.get("x-content-type-options") != "nosniff":
        yield "sniffed"
    if answer.headers.get("referrer-policy") != "same-origin":
        yield "told to others"
    if answer.url.path.startswith("/in/") and answer.headers.get("cache-control") != "no-store":
        yield "stored"
    yield from (found[0] for found in LOADS.finditer(answer.text))


def looked(client: httpx.Client, app: Any, values: dict[str, str]) -> dict[str, list[str]]:
    """The faults of each document that ``app`` shows, by the routes; also of errors in its place."""
    shown = {}
    gets = {
        route.path for route in routes_of(app) if isinstance(route, Route) and "GET" in (route.methods or ())
    }
    streams = {path for path in gets if path.endswith(("/live", "/events"))}
    for path in {*gets, "/nowhere"} - streams:
        address = re.sub(r"{(\w+)}", lambda name: values.get(name[1], "x"), path)
        for headers in (HTML, {"Accept": "*/*", "HX-Request": "true"}):
            answer = client.get(address.removeprefix("/"), headers=headers)
            if answer.headers.get("content-type", "").partition(";")[0] in SHOWN:
                shown[f"{path} {answer.status_code}"] = list(faults(answer))
    return shown


def test_no_document_of_the_controller_runs_or_loads_what_is_not_its_own(
    place: Place, settings: Callable[..., ControllerSettings]
) -> None:
    app = controller(settings())
    run, _ = place.runs
    views = httpx.get(f"{place.url}/v1/runs/{run}/views").json()
    drawn = re.search(r'"name": ?"((?:plane|budget)-[^"]+)"', str(views).replace("'", '"'))
    assert drawn is not None
    values = {
        **{
            "run": run,
            "audit": place.passed,
            "assessment": place.leaky,
            "digest": RECIPE.digest(),
            "view": drawn[1],
        },
        **{"name": "icon.svg", "number": "0", "id": "x"},
    }
    pages = {
        "/",
        "/runs/{run}",
        "/runs/{run}/board",
        "/keys",
        "/models",
        "/audits/{audit}",
        "/audits/endpoint",
        "/audits/endpoint/{assessment}",
        "/docs",
        "/login",
    }
    parts = {"/runs/list", "/keys/list", "/runs/{run}/board/parts", "/runs/{run}/board/{view}/table"}
    files = {"/v1/runs/{run}/report", "/v1/audits/{audit}/report", "/v1/runs/{run}/views/{view}/picture"}
    with httpx.Client(base_url=place.url + "/", timeout=60) as stranger, login(place.url) as operator:
        for client in (stranger, operator):
            shown = looked(client, app, values)
            assert {path: each for path, each in shown.items() if each} == {}
            assert {f"{path} 200" for path in pages | parts | files} <= set(shown)
            assert "/nowhere 404" in shown


@contextmanager
def others(folder: Path, redis_url: str) -> Iterator[dict[str, tuple[str, Any]]]:
    """The other servers: where each is, and its application."""
    own = redis_url.rpartition("/")[0] + "/6"
    provider = create_provider(ProviderSettings(operator_key=OPERATOR, models_dir=folder, state_dir=folder))
    forwarding = proxy(ProxySettings(redis_url=own, operator_key=OPERATOR))
    device = create_edge(EdgeSettings(operator_key=OPERATOR))
    with ExitStack() as stack:
        yield {
            "provider": (stack.enter_context(serving(provider)), provider.app),
            "proxy": (stack.enter_context(serving(forwarding)), forwarding.app),
            "edge": (stack.enter_context(serving(device)), device),
        }


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[dict[str, tuple[str, Any]]]:
    with others(tmp_path_factory.mktemp("servers"), redis_url) as found:
        yield found


def test_nor_does_one_of_another_server(servers: dict[str, tuple[str, Any]]) -> None:
    for name, (url, app) in servers.items():
        with httpx.Client(base_url=url + "/", timeout=60) as client:
            shown = looked(client, app, {"name": "begin.js"})
        assert shown == {"/docs 200": []}, name


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("controller", "/v1/runs/{run}"),
        ("provider", "/v1/models/{model}/logits"),
        ("proxy", "/admin/keys"),
        ("edge", "/v1/sessions"),
    ],
)
def test_a_server_describes_itself_without_any_network(
    browser: Browser, place: Place, servers: dict[str, tuple[str, Any]], name: str, path: str
) -> None:
    """Any message of the browser, and any file that it does not get, fails this."""
    url = place.url if name == "controller" else servers[name][0]
    with opened(browser, url if name == "controller" else f"{url}/docs") as tab:
        if name == "controller":
            tab.get_by_role("contentinfo").get_by_role("link", name="API").click()
        operation = tab.locator(".opblock").filter(has_text=path.replace("/", "/\N{ZERO WIDTH SPACE}")).first
        expect(operation).to_be_visible()
        operation.get_by_role("button").first.click()
        expect(operation.locator(".responses-wrapper")).to_be_visible()
        asked = tab.evaluate("performance.getEntriesByType('resource').map(it => it.name)")
    assert f"{url}/openapi.json" in asked
    assert [each for each in asked if not each.startswith((url, "data:"))] == []


def test_a_report_that_is_served_sorts_and_filters_as_the_file_does(browser: Browser, place: Place) -> None:
    run, _ = place.runs
    with opened(browser, f"{place.url}/v1/runs/{run}/report") as tab:
        tab.get_by_role("heading", name="All results").click()
        table = tab.locator("#all-results")
        expect(table.get_by_role("button", name="budget")).to_be_visible()  # made by its script
        tab.get_by_label("Show rows with").fill("no such row")
        expect(tab.locator(".filter output")).to_contain_text("0 of")
        with tab.expect_download():
            tab.get_by_label("as CSV").first.click()
