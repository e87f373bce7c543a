"""Roles: who may look, who may act, and that no other site acts in somebody's name."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import APIRouter
from itsdangerous import TimestampSigner
from playwright.sync_api import Browser, expect
from pydantic import ValidationError
from starlette.routing import Route

from leakrange.client import Range
from leakrange.wire.errors import Unauthenticated
from services.controller.main import controller
from services.controller.pages.visitors import COOKIE, Operating
from services.controller.settings import ControllerSettings
from tests.controller.conftest import OPERATOR, SCENARIO, serve
from tests.pages.conftest import opened
from tests.pages.logins import login, token
from tests.serving import serving

VIEWER = "0123456789abcdef-viewer-of-the-tests"
METRICS = "0123456789abcdef-scraper-of-the-tests"
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def guarded(settings: Callable[..., ControllerSettings]) -> Iterator[str]:
    """A controller at which viewers need a key, with a form of the operator's."""
    app = controller(settings(viewer_key=VIEWER, metrics_key=METRICS))
    router = APIRouter(include_in_schema=False)

    @router.post("/act")
    async def act(visitor: Operating) -> str:
        return visitor.role

    app.include_router(router)
    with serving(app) as url:
        yield url


def test_strangers_are_sent_to_the_login_and_programs_are_told(guarded: str) -> None:
    page = httpx.get(f"{guarded}/?after=x", headers=HTML)
    assert (page.status_code, page.headers["location"]) == (303, "/login?after=%2F%3Fafter%3Dx")
    for path in ("/v1/runs", "/v1/runs/x/report", "/v1/models", "/v1/audits", "/v1/scenario/schema"):
        assert httpx.get(f"{guarded}{path}").status_code == 401, path
        wrong = {"Authorization": "Bearer not-the-key-of-anybody"}
        assert httpx.get(f"{guarded}{path}", headers=wrong).status_code == 403, path


def test_whom_a_login_cannot_help_is_not_sent_there_again(guarded: str) -> None:
    with login(guarded, OPERATOR) as client:
        page = client.get("/metrics", headers=HTML)
    assert page.status_code == 401
    assert "API key" in page.text


OPEN = {
    *("/docs", "/docs/{name}", "/openapi.json"),
    *("/healthz", "/readyz", "/metrics"),
    *("/login", "/logout", "/static/{digest}/{name}"),
}


def routes_of(router: Any) -> Iterator[Route]:
    """All routes, those of included routers as well."""
    for route in router.routes:
        if isinstance(route, Route):
            yield route
        else:
            yield from routes_of(route.original_router)


def test_nothing_else_is_open_to_strangers(settings: Callable[..., ControllerSettings]) -> None:
    app = controller(settings(viewer_key=VIEWER))
    routes = [
        (method, route.path)
        for route in routes_of(app)
        if route.path not in OPEN
        for method in (route.methods or set()) - {"HEAD", "OPTIONS"}
    ]
    assert len(routes) > 40
    answered = {}
    with serving(app) as url, httpx.Client(base_url=url) as client:
        for method, path in routes:
            answer = client.request(method, re.sub(r"{\w+}", "0" * 64, path))
            answered[f"{method} {path}"] = answer.status_code
    assert {each: status for each, status in answered.items() if status != 401} == {}


@pytest.mark.parametrize(("hours", "status"), [(11, 200), (13, 401)])
def test_a_login_lasts_half_a_day(
    guarded: str, monkeypatch: pytest.MonkeyPatch, hours: int, status: int
) -> None:
    """However long a browser keeps its cookie."""
    then = int(time.time()) - 3600 * hours
    with monkeypatch.context() as patch:
        patch.setattr(TimestampSigner, "get_timestamp", lambda _: then)
        with login(guarded, VIEWER) as client:
            cookie = client.cookies[COOKIE]
    kept = httpx.get(f"{guarded}/v1/runs", headers={"Cookie": f"{COOKIE}={cookie}"})
    assert kept.status_code == status


def test_no_form_works_without_its_token(settings: Callable[..., ControllerSettings]) -> None:
    app = controller(settings())
    forms = [
        route.path
        for route in routes_of(app)
        if "POST" in (route.methods or ()) and not route.path.startswith("/v1/") and route.path not in OPEN
    ]
    assert {"/keys", "/audits", "/tour"} < set(forms)
    with serving(app) as url, login(url, OPERATOR) as client:
        answered = {path: client.post(re.sub(r"{\w+}", "0" * 64, path)).status_code for path in forms}
    for readers_may in ("/scenarios/check", "/victim/{run}/try"):
        del answered[readers_may]
    assert set(answered.values()) == {403}, answered


@pytest.mark.parametrize("key", [VIEWER, OPERATOR])
def test_either_key_reads_by_header_and_by_login(guarded: str, key: str) -> None:
    assert httpx.get(f"{guarded}/v1/runs", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    with login(guarded, key) as client:
        assert client.get("/v1/runs").status_code == 200
        assert client.get("/", headers=HTML).status_code == 200
        client.post("/logout")
        assert client.get("/v1/runs").status_code == 401


def test_the_python_client_reads_where_readers_need_a_key(guarded: str) -> None:
    with Range(guarded, operator_key=OPERATOR) as known, Range(guarded) as stranger:
        assert known.runs.latest() == []
        with pytest.raises(Unauthenticated):
            stranger.runs.latest()


def test_an_empty_key_in_the_environment_is_none(settings: Callable[..., ControllerSettings]) -> None:
    assert settings(viewer_key="").viewer_key is None
    with pytest.raises(ValidationError, match="viewer key"):
        settings(viewer_key="short")


def test_a_viewer_changes_nothing(guarded: str) -> None:
    with login(guarded, VIEWER) as client:
        assert client.post("/act", data={"csrf": token(client)}).status_code == 403
        start = {"Authorization": f"Bearer {VIEWER}"}
        assert client.post("/v1/runs", content=SCENARIO, headers=start).status_code == 403
        assert client.post("/v1/runs", content=SCENARIO).status_code == 401  # a cookie starts nothing


def test_a_form_wants_the_token_of_its_own_login(guarded: str) -> None:
    with login(guarded, OPERATOR) as client, login(guarded, OPERATOR) as other:
        assert client.post("/act").status_code == 403
        assert client.post("/act", data={"csrf": "made-up"}).status_code == 403
        assert client.post("/act", data={"csrf": token(other)}).status_code == 403
        assert client.post("/act", data={"csrf": client.cookies[COOKIE]}).status_code == 403
        own = token(client)
        assert client.post("/act", data={"csrf": own}).text == '"operator"'
        assert client.post("/act", headers={"X-CSRF-Token": own}).status_code == 200


def test_a_forged_or_foreign_cookie_is_no_login(
    guarded: str, settings: Callable[..., ControllerSettings]
) -> None:
    with login(guarded, VIEWER) as client:
        cookie = client.cookies[COOKIE]
    # Of the right form, by a controller with another viewer's key.
    with serve(settings(viewer_key=VIEWER + "-new")) as elsewhere:
        for forged in (cookie, "x" + cookie[1:], ""):
            answer = httpx.get(f"{elsewhere}/v1/runs", cookies={COOKIE: forged})
            assert answer.status_code == 401


@pytest.mark.parametrize(
    "after", ["//elsewhere.example", "https://elsewhere.example/", "/\\elsewhere.example"]
)
def test_a_login_leads_nowhere_else(guarded: str, after: str) -> None:
    answer = httpx.post(f"{guarded}/login", data={"key": OPERATOR, "after": after})
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert OPERATOR not in cookie


def test_logging_in_and_out_in_the_page(browser: Browser, guarded: str) -> None:
    with opened(browser, f"{guarded}/login", width=320) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") <= 320
        tab.keyboard.type(VIEWER)  # the field has the focus
        tab.keyboard.press("Enter")
        expect(tab.get_by_text("viewer", exact=True)).to_be_visible()
        assert VIEWER not in tab.content()
        tab.get_by_role("button", name="Log out").click()
        expect(tab.get_by_label("Key")).to_be_visible()


def test_pages_of_a_neighbouring_port_may_ask_nothing(site: str) -> None:
    theirs = {"Origin": "http://127.0.0.1:18797"}
    for method, path in (("POST", "/v1/try"), ("POST", "/login"), ("GET", "/v1/runs")):
        refused = httpx.request(method, site + path, headers=theirs)
        assert (refused.status_code, refused.json()["title"]) == (403, "Foreign origin"), path
    assert httpx.post(f"{site}/v1/try", headers={"Origin": site}).status_code == 422


def test_a_wrong_key_is_told_as_such(guarded: str) -> None:
    answer = httpx.post(f"{guarded}/login", data={"key": "wrong", "after": "/models"})
    assert answer.status_code == 403
    assert "not known here" in answer.text
    assert 'value="/models"' in answer.text


def test_errors_are_pages_for_people_and_problems_for_programs(site: str) -> None:
    page = httpx.get(f"{site}/nowhere", headers=HTML)
    assert page.status_code == 404
    assert "there is no page /nowhere" in page.text
    assert httpx.get(f"{site}/nowhere").headers["content-type"] == "application/problem+json"
    mistaken = httpx.get(f"{site}/v1/runs/20260101-120000-a1b2c3", headers=HTML)
    assert (mistaken.status_code, "<h1>" in mistaken.text) == (404, True)
