"""Roles: who may look, who may act, and that no other site acts in somebody's name."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import APIRouter
from playwright.sync_api import Browser, expect
from pydantic import ValidationError
from starlette.routing import Route
from structlog.testing import capture_logs

from leakrange.client import Range
from leakrange.services.controller.main import controller
from leakrange.services.controller.pages.login import LoginGuesses
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.controller.visitors import Operating
from leakrange.wire.errors import Unauthenticated
from tests.controller.conftest import OPERATOR, SCENARIO, serve
from tests.pages.conftest import opened
from tests.pages.furnished import Place
from tests.pages.logins import login, plain, token
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

    @router.get("/bug")
    async def bug() -> None:
        raise ZeroDivisionError("nobody foresaw it")

    app.include_router(router)
    with serving(app) as url:
        yield url


def cookie_of(client: httpx.Client) -> str:
    """What the client's browser would send."""
    [cookie] = client.cookies.jar
    return f"{cookie.name}={cookie.value}"


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
    *("/login", "/login/once/{secret}", "/logout", "/static/{digest}/{name}"),
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
    settings: Callable[..., ControllerSettings], hours: int, status: int
) -> None:
    """However long a browser keeps its cookie."""
    app = controller(settings(viewer_key=VIEWER))
    with serving(app) as url, login(url, VIEWER) as client:
        app.state.logins.clock = lambda: time.time() + 3600 * hours
        assert client.get("/v1/runs").status_code == status


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
    for readers_may in ("/scenarios/check", "/scenarios/form", "/victim/{run}/try"):
        del answered[readers_may]
    assert set(answered.values()) == {403}, answered


def test_a_link_logs_one_browser_in_for_ten_minutes(settings: Callable[..., ControllerSettings]) -> None:
    """By the operator's key alone, and never to a page of another host."""
    app = controller(settings(viewer_key=VIEWER))
    with serving(app) as url, Range(url, operator_key=OPERATOR) as place, httpx.Client() as client:
        link = place.login_link("/audits")
        assert client.get(link.replace("once/", "once/x"), headers=HTML).status_code == 403
        first = client.get(link, headers=HTML)
        assert (first.status_code, plain(first.headers["location"])) == (303, "/audits")
        page = client.get(url + first.headers["location"], headers=HTML)
        assert page.status_code == 200
        assert "X-CSRF-Token" in page.text  # which the forms of a login carry
        again = httpx.get(link, headers=HTML)
        assert again.status_code == 403
        assert "'leakrange open' makes another" in html.unescape(again.text)
        elsewhere = httpx.get(place.login_link("//example.com/"), headers=HTML).headers["location"]
        assert plain(elsewhere) == "/"
        late = place.login_link()
        app.state.logins.clock = lambda: time.time() + 601
        assert httpx.get(late, headers=HTML).status_code == 403
        for key in (None, VIEWER):
            refused = httpx.post(
                f"{url}/v1/logins", headers={"Authorization": f"Bearer {key}"} if key else {}
            )
            assert refused.status_code in (401, 403)


@pytest.mark.parametrize("key", [VIEWER, OPERATOR])
def test_either_key_reads_by_header_and_by_login(guarded: str, key: str) -> None:
    assert httpx.get(f"{guarded}/v1/runs", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    with login(guarded, key) as client:
        assert client.get("/v1/runs").status_code == 200
        assert client.get("/", headers=HTML).status_code == 200
        kept = {"Cookie": cookie_of(client)}
        client.post("/logout")
        assert client.get("/v1/runs", headers=kept).status_code == 401


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
        assert client.post("/act", data={"csrf": cookie_of(client).partition("=")[2]}).status_code == 403
        own = token(client)
        assert client.post("/act", data={"csrf": own}).text == '"operator"'
        assert client.post("/act", headers={"X-CSRF-Token": own}).status_code == 200


def test_a_cookie_is_worth_nothing_without_the_address_and_the_address_nothing_without_it(
    guarded: str, settings: Callable[..., ControllerSettings]
) -> None:
    with login(guarded, OPERATOR) as client, login(guarded, OPERATOR) as other:
        assert client.get("/v1/runs").status_code == 200
        cookie, theirs, root = cookie_of(client), cookie_of(other), str(client.base_url)
        name, _, value = cookie.partition("=")
        for address, shown in (
            *((f"{guarded}/", each) for each in (cookie, theirs)),
            *(
                (root, each)
                for each in ("", theirs, f"{name}=x", f"{name}=", f"x={value}", f"{name}=\N{SNOWMAN}")
            ),
            (f"{guarded}/in/{'x' * 24}/", cookie),
            (f"{guarded}/in//", cookie),
        ):
            headers = {"Cookie": shown.encode()}
            assert httpx.get(f"{address}v1/runs", headers=headers).status_code == 401, (address, shown)
        # Somebody else's cookie of any other name beside it does no harm.
        both = {"Cookie": f'x; leakrange="; {cookie}; {theirs}'}
        assert httpx.get(f"{root}v1/runs", headers=both).status_code == 200
        with serve(settings(viewer_key=VIEWER)) as elsewhere:
            moved = root.replace(guarded, elsewhere)
            assert httpx.get(f"{moved}v1/runs", headers={"Cookie": cookie}).status_code == 401


@pytest.mark.parametrize(
    "after", ["//elsewhere.example", "https://elsewhere.example/", "/\\elsewhere.example"]
)
def test_a_login_leads_nowhere_else(guarded: str, after: str) -> None:
    answer = httpx.post(f"{guarded}/login", data={"key": OPERATOR, "after": after})
    assert plain(answer.headers["location"]) == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert f"path={answer.headers['location'][:-1].lower()};" in cookie
    assert "secure" not in cookie
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


@contextmanager
def neighbour() -> Iterator[tuple[str, list[str]]]:
    """Somebody else's server at another port of the host; all headers that browsers send it."""
    sent: list[str] = []

    async def listens(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        sent.extend(f"{name.decode()}: {value.decode()}" for name, value in scope["headers"])
        headers = [(b"content-type", b"text/html")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"<link rel=icon href=/icon><p>an API"})

    with serving(listens) as url:
        yield url, sent


def test_a_neighbouring_port_makes_no_key_of_what_a_browser_sends_it(browser: Browser, place: Place) -> None:
    """Browsers send cookies to every port of a host; whoever listens there can replay them."""
    with neighbour() as (theirs, sent), opened(browser, place.url, operator=True) as tab:
        home = tab.url
        for path in ("/", "/docs", "/login", "/keys", "/in/", "/v1/runs"):
            tab.goto(theirs + path)
        tab.goto(home)
        with tab.expect_navigation(url=f"{theirs}/from-here"):
            tab.evaluate(f"location = '{theirs}/from-here'")
        tab.goto(home)
        tab.get_by_role("link", name="Keys").click()
        expect(tab.get_by_role("button", name="Make the key")).to_be_visible()  # the login still stands
    cookies = [each.partition(": ")[2] for each in sent if each.startswith("cookie: ")]
    for cookie in {"", *cookies}:
        with httpx.Client(base_url=place.url, headers=HTML | {"Cookie": cookie}) as client:
            written = re.findall(r'name="csrf" value="([^"]+)"', client.get("/keys").text)
            form = {"name": "of the neighbour", "csrf": (written or [""])[0]}
            assert client.post("/keys", data=form).status_code == 401
    keys = httpx.get(f"{place.proxy}/admin/keys", headers={"Authorization": f"Bearer {OPERATOR}"}).json()
    assert "of the neighbour" not in {key["name"] for key in keys["keys"]}
    assert cookies == []
    assert sent
    assert [each for each in sent if httpx.URL(home).path.strip("/") in each] == []


def test_the_plain_address_of_a_page_leads_to_that_of_the_login(browser: Browser, guarded: str) -> None:
    """For bookmarks, and for what the command line prints."""
    wanted = f"{guarded}/runs/20260101-120000-a1b2c3?x=y"
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(wanted)
    expect(tab.get_by_label("Key")).to_be_visible()
    tab.get_by_label("Key").fill(OPERATOR)
    tab.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(tab.get_by_role("button", name="Log out")).to_be_visible()
    inside = re.compile(r"/in/[\w-]+/runs/20260101-120000-a1b2c3\?x=y$")
    expect(tab).to_have_url(inside)
    ended = tab.url
    other = context.new_page()
    other.evaluate(f"location = {wanted!r}")
    expect(other).to_have_url(ended)
    tab.get_by_role("button", name="Log out").click()
    expect(tab.get_by_role("alert")).to_have_text("You are not logged in any more.")
    assert tab.evaluate("localStorage.length") == 0
    other.evaluate(f"location = {ended!r}")  # it leads to the plain page, and not in a circle
    expect(other.get_by_label("Key")).to_be_visible()
    expect(other).to_have_url(f"{guarded}/login?after=%2Fruns%2F20260101-120000-a1b2c3%3Fx%3Dy")
    context.close()


def test_a_login_that_is_over_leads_people_to_the_page_and_refuses_programs_and_forms(site: str) -> None:
    with login(site) as client:
        client.post("/logout")
        gone = client.get("/keys/list?seen=x", headers=HTML)
        assert (gone.status_code, gone.headers["location"]) == (303, "/keys/list?seen=x#over")
        form = client.post("/keys", headers=HTML)
        assert (form.status_code, form.headers["location"]) == (303, "/login#over")
        for headers in ({}, HTML | {"HX-Request": "true"}):
            refused = client.get("/v1/runs", headers=headers)
            assert (refused.status_code, refused.json()["instance"]) == (401, "/v1/runs")
        away = httpx.get(f"{client.base_url}//elsewhere.example/%0d%0ax: y", headers=HTML)
        assert away.headers["location"] == "/elsewhere.example/%0D%0Ax:%20y#over"


def test_nothing_that_a_login_reads_is_stored_by_its_browser(guarded: str) -> None:
    with login(guarded, OPERATOR) as client:
        for path in ("/", "/runs/list", "/v1/runs", "/nowhere"):
            assert client.get(path, headers=HTML).headers["cache-control"] == "no-store", path


def test_no_log_and_no_error_tells_the_address_of_a_login(guarded: str) -> None:
    # A connection on which a bug showed is closed by the server, so each request has one of its own.
    once = {"Connection": "close"}
    with login(guarded, OPERATOR) as client, capture_logs() as logs:
        name = client.base_url.path.split("/")[2]
        accepts = (once, once | HTML)
        answers = [client.get(path, headers=each) for path in ("/nowhere", "/bug") for each in accepts]
    assert [answer.status_code for answer in answers] == [404, 404, 500, 500]
    assert {each["path"] for each in logs if "path" in each} == {"/nowhere", "/bug"}
    assert name not in str(logs)
    assert [answer.json()["instance"] for answer in answers[::2]] == ["/nowhere", "/bug"]


def test_pages_of_a_neighbouring_port_may_ask_nothing(site: str) -> None:
    theirs = {"Origin": "http://127.0.0.1:18797"}
    for method, path in (("POST", "/v1/try"), ("POST", "/login"), ("GET", "/v1/runs")):
        refused = httpx.request(method, site + path, headers=theirs)
        assert (refused.status_code, refused.json()["title"]) == (403, "Foreign origin"), path
    assert httpx.post(f"{site}/v1/try", headers={"Origin": site}).status_code == 422


@pytest.mark.parametrize("origin", ["https://{host}", None])
def test_a_browser_that_uses_tls_keeps_the_cookie_to_it(guarded: str, origin: str | None) -> None:
    """Also where a gateway ends TLS, and asks this server in plain HTTP."""
    host = guarded.removeprefix("http://")
    headers = {"Origin": origin.format(host=host)} if origin else {}
    answer = httpx.post(f"{guarded}/login", data={"key": OPERATOR}, headers=headers)
    assert ("; secure" in answer.headers["set-cookie"].lower()) == (origin is not None)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_few_wrong_keys_are_looked_at_and_a_right_one_soon_again(
    settings: Callable[..., ControllerSettings],
) -> None:
    clock = Clock()
    app = controller(settings())
    app.state.guesses = LoginGuesses(clock)
    with serving(app) as url:

        def tried(key: str) -> httpx.Response:
            return httpx.post(f"{url}/login", data={"key": key})

        assert [tried(f"guess {number}").status_code for number in range(20)] == [403] * 5 + [429] * 15
        refused = tried(OPERATOR)  # or a guesser would learn that it is right
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
        assert "try again in 2 s" in refused.text
        clock.now += 2.0
        assert tried(OPERATOR).status_code == 303
        assert [tried(f"guess {number}").status_code for number in range(3)] == [403, 429, 429]


def test_wrong_keys_of_many_addresses_delay_strangers_and_nobody_who_was_here() -> None:
    clock = Clock()
    guesses = LoginGuesses(clock)
    guesses.right("10.0.0.1")
    for number in range(29):
        guesses.wrong(f"10.1.0.{number}")
    assert guesses.wait("10.2.0.1") == 0
    guesses.wrong("10.1.0.29")
    assert 0 < guesses.wait("10.2.0.1") <= 0.5
    assert guesses.wait("10.0.0.1") == 0
    clock.now += 0.5
    assert guesses.wait("10.2.0.1") == 0
    for _ in range(5):
        guesses.wrong("10.0.0.1")
    assert guesses.wait("10.0.0.1") == 2


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
    assert "GET /" not in mistaken.text  # which is for programs
    assert (
        "'leakrange runs' lists the runs"
        in httpx.get(f"{site}/v1/runs/20260101-120000-a1b2c3").json()["hint"]
    )
