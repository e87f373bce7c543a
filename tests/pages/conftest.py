"""A controller and a browser for the tests of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from redis import Redis

from leakrange.services.controller.settings import ControllerSettings
from tests.browsers import chromium
from tests.controller.conftest import OPERATOR, Api, serve, settings, using
from tests.pages.furnished import Place, furnished

__all__ = ["below_login", "opened", "settings"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a file. Its event loop runs in this thread as long as it stands, so that
    asynchronous tests cannot: they have files of their own."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def site(settings: Callable[..., ControllerSettings]) -> Iterator[str]:
    """The URL of a controller whose parties are not there."""
    with serve(settings()) as url:
        yield url


@pytest.fixture(scope="module")
def place(settings: Callable[..., ControllerSettings], redis_url: str) -> Iterator[Place]:
    """A controller with something on every page, and a real proxy, which has no keys of other tests."""
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
    with furnished(settings, redis_url) as found:
        yield found


@pytest.fixture
def api(site: str) -> Iterator[Api]:
    """That controller; what a test starts is cancelled at its end."""
    with using(site) as made:
        yield made


def below_login(tab: Page, url: str) -> str:
    """The address of that page below the address of the login that the tab shows."""
    plain = httpx.URL(url)
    root = "/".join(httpx.URL(tab.url).path.split("/")[:3])
    return str(plain.copy_with(raw_path=root.encode() + plain.raw_path))


@contextmanager
def opened(
    browser: Browser, url: str, *, width: int = 1280, scheme: str = "light", operator: bool = False
) -> Iterator[Page]:
    """The page in a window of its own; fails on any message, error and failed request.

    ``operator``: after a login by the operator key.
    """
    heard: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    tab = context.new_page()
    tab.set_default_timeout(30_000)
    if operator:
        tab.goto(str(httpx.URL(url).join("/login")))
        tab.get_by_label("Key").fill(OPERATOR)
        tab.get_by_role("main").get_by_role("button", name="Log in").click()
        expect(tab.get_by_role("button", name="Log out")).to_be_visible()
        url = below_login(tab, url)
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    # A page that is left breaks off its own stream of events.
    tab.on("requestfailed", lambda it: heard.append(it.url) if it.failure != "net::ERR_ABORTED" else None)
    tab.goto(url)
    yield tab
    context.close()
    assert heard == []
